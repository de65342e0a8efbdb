"""The pages of a wiki, from what is known."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from typing import Any, Final

from extractor import clean, is_mostly_chinese, without_holes
from gateway_memory.browsing.sections import Line, Sections, Topic
from gateway_memory.edge.phrases import Language, say, texts

MANIFEST: Final = ".gateway-memory-wiki.json"
"""The file of a wiki's folder that lists its pages, so that the next run replaces them and nothing else."""
_LISTED: Final = 100
"""Lines of a section of the portrait's page. The pages of months have all."""
_LONGEST_NAME: Final = 80  # bytes of a file's name
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices."""
_NO_FILE: Final = re.compile(r'[<>:"/\\|?*#^\[\]%]')
_MARKS: Final = re.compile(r"([\\`*_\[\]<>#|!~=$%^&@{}])")
_ADDRESS: Final = re.compile(r":(?=//)|(?<=\bwww)\.", re.IGNORECASE)
_LIST_MARK: Final = re.compile(r"([-+](?=\s|-|$)|\d+(?=[.)]\s)|:(?=\s))")
_JOINERS: Final = "\u200d\u200c"


def escaped(text: str) -> str:
    """Return text of a memory as one line of Markdown that shows it as it is."""
    line = " ".join("".join(each if each.isprintable() or each in _JOINERS else " " for each in text).split())
    line = _ADDRESS.sub(lambda match: f"\\{match[0]}", _MARKS.sub(r"\\\1", line))
    mark = _LIST_MARK.match(line)
    if mark is None:
        return line
    return f"{mark[0]}\\{line[mark.end() :]}" if mark[0].isdigit() else f"\\{line}"


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Return a file's name without its ending for each name: one that every system takes, and no two the same.

    Systems that ignore upper and lower case see no two the same either.
    """
    files: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(set(names)):
        safe = unicodedata.normalize("NFC", "".join(each if each.isprintable() else " " for each in name))
        safe = " ".join(_NO_FILE.sub(" ", safe).split()).strip(". ")
        safe = safe.encode()[:_LONGEST_NAME].decode("utf-8", "ignore").strip(". ") or "_"
        safe = f"_{safe}" if _RESERVED.fullmatch(safe) else safe
        own, number = safe, 1
        while folded(own) in taken:
            number += 1
            own = f"{safe} ({number})"
        taken.add(folded(own))
        files[name] = own
    return files


def folded(name: str) -> str:
    """Return a name as file systems compare it that know no case."""
    return unicodedata.normalize("NFKC", name).casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wiki:
    """What all pages need. files: the file of each name. names: those that each memory tells, by its id."""

    language: Language
    files: Mapping[str, str]
    names: Mapping[str, Sequence[str]]
    day_of: Callable[[float], date]

    def word(self, name: str, **values: Any) -> str:
        """Return a text of the page in the wiki's language."""
        text = texts("page")[name][self.language]
        if not isinstance(text, str):
            text = text["one" if values["number"] == 1 else "other"]
        return str(text).format(**values)

    @property
    def names_folder(self) -> str:
        """The folder of the pages of names."""
        return say(self.language, "wiki_names")

    def link(self, name: str) -> str:
        """Return a link to the page of a name."""
        return f"[[{self.names_folder}/{self.files[name]}|{_alias(name)}]]"

    def month(self, day: date) -> str:
        """Return the file of a month's page."""
        return f"{say(self.language, 'wiki_months')}/{day:%Y-%m}"

    def bullet(self, line: Line, *, besides: str = "", anchored: bool = False) -> str:
        """Return a memory as a line of a list. besides: the name whose page it is. anchored: others link to it here."""
        written = self.day_of(line.at)
        source = f"^{line.id}" if anchored else f"([[{self.month(written)}#^{line.id}|{written.isoformat()}]])"
        return f"- {self._linked(line, besides)} {source}"

    def _linked(self, line: Line, besides: str) -> str:
        """Return the text of a memory in which each name that it tells is a link, where it is told first."""
        found = sorted(
            (line.text.find(name), -len(name), name)
            for name in self.names.get(line.id, ())
            if name != besides and name in line.text
        )
        parts, end = [], 0
        for start, _, name in found:
            if start >= end:
                parts += [line.text[end:start], name]
                end = start + len(name)
        parts.append(line.text[end:])
        text = escaped(line.text) if len(parts) == 1 else ""
        if not text:
            text = "".join(
                self.link(part) if index % 2 else _inner(part, first=index == 0) for index, part in enumerate(parts)
            )
        return text


def _inner(text: str, *, first: bool) -> str:
    """Return a part of a line, escaped, with the blanks at its ends."""
    if not text.strip():
        return text
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{'' if first else before}{escaped(text)}{after}"


def _alias(name: str) -> str:
    """Return a name as the text of a link."""
    return " ".join(re.sub(r"[\[\]|#^\\]", " ", "".join(each if each.isprintable() else " " for each in name)).split())


def pages_of(
    sections: Sections, lines: Sequence[Line], *, language: Language | None, day_of: Callable[[float], date]
) -> dict[str, str]:
    """Return the pages of a wiki by their paths, with "/".

    lines: all memories. language: of the headings, None for that of most memories. day_of: epoch seconds → a day.
    """
    if language is None:
        language = "zh" if 2 * sum(is_mostly_chinese(line.text) for line in lines) > len(lines) else "en"
    topics = [*sections.people, *sections.projects, *sections.topics]
    names: dict[str, list[str]] = defaultdict(list)
    for topic in topics:
        for line in topic.lines:
            names[line.id].append(topic.name)
    wiki = _Wiki(language=language, files=file_names(topic.name for topic in topics), names=names, day_of=day_of)
    pages = {f"{wiki.word('portrait')}.md": _portrait(wiki, sections)}
    for topic in topics:
        pages[f"{wiki.names_folder}/{wiki.files[topic.name]}.md"] = _about(wiki, topic, names)
    months: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        months[wiki.month(day_of(line.at))].append(line)
    for month, said in months.items():
        head = f"# {month.rpartition('/')[2]}"
        pages[f"{month}.md"] = _page(head, [wiki.bullet(line, anchored=True) for line in said])
    return pages


def _page(*blocks: str | Sequence[str]) -> str:
    """Return a page of blocks, parted by empty lines; a list is one block."""
    return "\n\n".join(each if isinstance(each, str) else "\n".join(each) for each in blocks if each) + "\n"


def _portrait(wiki: _Wiki, sections: Sections) -> str:
    blocks: list[str | Sequence[str]] = [f"# {escaped(sections.name) or wiki.word('portrait')}"]
    for name in ("ahead", "about_them", "people_around", "wishes", "likes", "projects", "topics", "other_facts"):
        listed = _list_lines(wiki, sections, name)
        if listed:
            blocks += [f"## {wiki.word(name)}", listed]
    return _page(*blocks)


def _list_lines(wiki: _Wiki, sections: Sections, name: str) -> list[str]:
    topics = {"people_around": sections.people, "projects": sections.projects, "topics": sections.topics}
    if name in topics:
        return [_entry(wiki, topic) for topic in topics[name]]
    lines = {
        "ahead": sections.ahead,
        "about_them": sections.about,
        "wishes": sections.wishes,
        "likes": sections.likes,
        "other_facts": sections.others,
    }
    bullets = [wiki.bullet(line) for line in lines[name][:_LISTED]]
    if name == "ahead":
        return [
            f"- {line.days.iso if line.days else ''}: {bullet[2:]}"
            for line, bullet in zip(sections.ahead, bullets, strict=False)
        ]
    return bullets


def _entry(wiki: _Wiki, topic: Topic) -> str:
    relation = f" · {escaped(topic.relation)}" if topic.relation not in ("", topic.name) else ""
    return f"- {wiki.link(topic.name)}{relation} · {wiki.word('facts_of', number=len(topic.lines))}"


def _about(wiki: _Wiki, topic: Topic, names: Mapping[str, Sequence[str]]) -> str:
    kind = wiki.word(f"kind_{topic.kind}")
    relation = f" · {escaped(topic.relation)}" if topic.relation not in ("", topic.name) else ""
    others = dict.fromkeys(chain.from_iterable(names[line.id] for line in topic.lines))
    beside = [wiki.link(name) for name in others if name != topic.name]
    return _page(
        f"# {escaped(topic.name)}",
        f"{kind}{relation}",
        [wiki.bullet(line, besides=topic.name) for line in topic.lines],
        f"{wiki.word('occurs_with')}: {' · '.join(beside)}" if beside else "",
    )


def without_secrets(text: str) -> str:
    """Return the text of a memory as it may leave the workspace; "" if nothing is left of it."""
    return without_holes(clean(text).text).strip()
