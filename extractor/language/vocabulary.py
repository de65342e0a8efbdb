"""The vocabulary of merging in English and Chinese: kinds of things, negation, and words of change."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from extractor.tables import table
from gateway_memory.ground.emoji import signs_in

_TABLE: Final = table("things")
_PATTERNS: Final = _TABLE.patterns()
_FORM: Final = _TABLE.words("words")
"""Function words: they carry the form of a statement, not its content."""
CHANGE: Final = _PATTERNS["change"]
"""Tells that one thing has replaced another."""


_THINGS: Final = {
    name: (" ".join(kind), thing.split("/")[0])
    for kind, things in _TABLE.rows("kinds")
    for thing in things
    for name in thing.split("/")
}
"""The kind of each thing, and the first of its names."""


_LONGEST_FIRST: Final = sorted(map(re.escape, _THINGS), key=len, reverse=True)
_OF_HAN: Final = "|".join(name for name in _LONGEST_FIRST if name[0] >= "\u3400")
_OF_LATIN: Final = "|".join(name for name in _LONGEST_FIRST if name[0] < "\u3400")
_THING: Final = re.compile(rf"{_OF_HAN}|(?<![a-z0-9.])(?:{_OF_LATIN})(?![a-z0-9+#])")


@lru_cache(maxsize=512)  # a statement is compared with several others
def names_of_kind(text: str) -> Mapping[str, frozenset[str]]:
    """Return the things that a text names, by kind: {"language": {"python"}}."""
    things: dict[str, set[str]] = {}
    for match in _THING.finditer(text.lower()):
        kind, thing = _THINGS[match[0]]
        things.setdefault(kind, set()).add(thing)
    return {kind: frozenset(names) for kind, names in things.items()}


def without_kind(text: str, kind: str) -> str:
    """Return a text in lower case with "#" for each thing of a kind: equal for "Kafka for …" and "NATS for …"."""
    return _THING.sub(lambda match: "#" if _THINGS[match[0]][0] == kind else match[0], text.lower())


@lru_cache(maxsize=2048)
def polarity(text: str) -> bool | None:
    """Return False for a negated statement, None for one with two sides ("coffee, not tea") or several sentences."""
    if _PATTERNS["contrast"].search(text) or _PATTERNS["several"].search(text):
        return None
    return len(_PATTERNS["negative"].findall(text)) % 2 == 0


def left_behind(text: str) -> str:
    """Return what a change leaves behind: X of "from X to Y" and "no longer X"; "" when it is not said."""
    return " ".join(group for match in _PATTERNS["left behind"].finditer(text) for group in match.groups() if group)


@lru_cache(maxsize=2048)  # a statement is compared with several others
def statement_words(text: str) -> frozenset[str]:
    """Return the content words: lower case, English without common endings, Han as pairs of characters, emoji."""
    words: set[str] = set(signs_in(text))
    text = text.lower().replace("’", "'").replace(" after all", "")
    for token in re.findall(r"[a-zÀ-ɏ0-9](?:(?![\u3400-\u9fff])[\w.+#'-])*|[\u3400-\u9fff]+", text):
        if token[0] >= "\u3400":
            for piece in _PATTERNS["form"].split(token):
                words.update(piece[i : i + 2] for i in range(max(1, len(piece) - 1)) if piece)
        elif (word := token.strip(".'-")) and word not in _FORM:
            words.add(stem(word))
    return frozenset(words)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return an English word without common endings."""
    word = word.removesuffix("'s")
    for ending, least in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word
