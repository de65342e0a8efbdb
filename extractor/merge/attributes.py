"""What statements are about: everyday relations, words of change, and attributes with one value at a time."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final, Literal, cast

from extractor.language.vocabulary import names_of_kind, stem
from extractor.tables import table

_TABLE: Final = table("merging")


@dataclass(frozen=True, slots=True)
class Cue:
    """What a word tells of a statement: its relation, and whether it is also a value of that."""

    relation: str
    value: bool


Mark = Literal["add", "muse", "back", "change", "begin"]


def _cues() -> dict[str, tuple[Cue, ...]]:
    cues: dict[str, tuple[Cue, ...]] = {}
    for (relation, *values), words in _TABLE.rows("relations"):
        for word in words:
            cues[stem(word)] = (*cues.get(stem(word), ()), Cue(relation, bool(values)))
    return cues


@cache
def marks() -> Mapping[Mark, re.Pattern[str]]:
    """Return the words of each kind of change, the kinds in the order in which they are looked for."""
    gaps = {"English": r"(?:[\w'-]+ ){0,3}?[\w'-]+", "Chinese": "[^，。,；]{1,8}?"}
    sources: dict[str, list[str]] = {}
    for (kind, language), words in _TABLE.rows("changes"):
        source = "|".join(
            re.escape(word).replace("\\~", gaps[language]).replace("\\$", "$").replace("\\^", "^")
            for word in sorted(words, key=len)[::-1]
        )
        sources.setdefault(kind, []).append(rf"\b(?:{source})\b" if language == "English" else source)
    return {cast("Mark", kind): re.compile("|".join(parts), re.IGNORECASE) for kind, parts in sources.items()}


CUES: Final[Mapping[str, tuple[Cue, ...]]] = _cues()
ONE_AT_A_TIME: Final = _TABLE.words("one at a time")
_PERSONS: Final = _TABLE.sets("persons")
ROLES: Final = frozenset(map(stem, _PERSONS["roles"]))
PEOPLE: Final = ROLES | frozenset(map(stem, _PERSONS["people"]))


@lru_cache(maxsize=512)  # a statement is compared with several others
def slots(text: str) -> Mapping[str, str]:
    """Return the attributes that a statement tells, with values in lower case: {"home": "berlin"}."""
    text = text.strip().replace("’", "'")
    values: dict[str, str] = {}
    for name, pattern in _TABLE.compiled("attributes"):
        if match := pattern.match(text):
            key = _key(match["k"]) if name == "by its name" else name
            value = " ".join(match["v"].lower().split()).strip(" .'")
            if key != "home" or not names_of_kind(value):  # "I moved to Linux"
                values.setdefault(key, value)
    return {key: value for key, value in values.items() if value}


def _key(name: str) -> str:
    """Return the canonical name of an attribute: "email address" and "e-mail", "手机号" and "新手机"."""
    name = " ".join(name.lower().split()).replace("e-mail", "email").removeprefix("新的").removeprefix("新")
    if name in ("email address", "phone number"):
        name = name.split()[0]
    return {"手机": "手机号", "微信": "微信号"}.get(name, name)
