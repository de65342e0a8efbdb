"""English words that a Chinese reader meets: in what a command prints, in an answer, on a page."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_CODE = re.compile(r"^```.*?^```|<!--.*?-->|`[^`]*`|https?:\S+|^    .*$|<[^>]*>|\{[^}]*\}", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"“[^”]*”|\"[^\"\n]*\"")
_NAMED_BESIDE = re.compile(r"（[A-Za-z、 ]+）")
"""An English name behind the Chinese one, as 咨询锁（advisory lock）."""
_LINK = re.compile(r"\[[^\]]*\.\w+\]\([^)]*\)|\]\([^)]*\)")
_BETWEEN = re.compile(r"[\s、，。；：！？“”（）()【】|\[\]*\u4e00-\u9fff]+")


NO_CHINESE = {
    *("claude-code", "cursor", "gateway-memory", "Hermes", "nanobot", "Obsidian", "Ollama", "Open", "Python", "Unix"),
    *("Markdown", "markdown", "journal", "token"),
    *("jsonl", "stop", "user", "shell"),  # a layout, a hook's event, a field of a file, the session of a shell
}
"""Words that stay English in a Chinese sentence."""


def words_in(text: str) -> set[str]:
    """Return the words of Latin letters that stand alone in a Chinese text: no code, path, key or acronym."""
    words = (word.strip(".,;:'\"·→") for word in _BETWEEN.split(text))
    return {word for word in words if re.fullmatch("[A-Z]?[a-z]+(-[a-z]+)*", word)}


@cache
def translated() -> frozenset[str]:
    """Return the English words for which the glossary has a Chinese one."""
    rows = [
        line.split("|")[1:3] for line in (ROOT / "docs" / "glossary.md").read_text("utf-8").splitlines() if "|" in line
    ]
    found = set()
    for english, chinese in rows:
        words = re.split("[,:] ", english.strip())
        found |= {word for word in words if re.fullmatch("[a-z-]+", word) and word not in chinese}
    return frozenset(found)


def english_in_prose(markdown: str) -> set[str]:
    """Return the English words of a Chinese page that the glossary has in Chinese."""
    prose = markdown
    for left_out in (_CODE, _LINK, _QUOTED, _NAMED_BESIDE):
        prose = left_out.sub(" ", prose)
    lines = (line for line in prose.splitlines() if re.search("[一-鿿]", line))
    return {word for line in lines for word in words_in(line)} & translated()


def english(told: str) -> set[str]:
    """Return the words of an answer that a Chinese reader would need in Chinese: no code, path, option or acronym."""
    plain = re.sub(
        r"`[^`]*`|gateway-memory(?: [\w.:-]+)+|^  \S.* = .*$|^用法：(?:.*\n)(?: .*\n)*", " ", told, flags=re.MULTILINE
    )
    return words_in(plain) - NO_CHINESE
