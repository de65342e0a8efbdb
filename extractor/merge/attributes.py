"""What a statement is about: the attributes that it tells, and the days, hours, dates and counts in it, by unit."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final, Literal, cast

from extractor.language.values import numbers_of
from extractor.language.vocabulary import names_of_kind, stem
from extractor.tables import table

_TABLE: Final = table("merging")
_WORDS: Final = _TABLE.sets("words")
Mark = Literal["add", "muse", "back", "change", "begin"]


@cache
def marks_of_change() -> Mapping[Mark, re.Pattern[str]]:
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


PERSONS: Final = _TABLE.words("persons")
"""Words for people: "sister", "boss", 妹妹."""
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


@lru_cache(maxsize=512)  # a statement is compared with several others
def quantities(text: str) -> Mapping[str, frozenset[str]]:
    """Return what a statement tells of each unit: {"day": {"mon"}, "mg": {"5.0"}}."""
    values: dict[str, set[str]] = {}
    rest = text.lower()
    for unit, pattern in _TABLE.compiled("units"):
        for match in pattern.finditer(rest):
            name = stem(match["unit"] or "") if unit == "counted" else unit
            if name not in _WORDS["numbers of things"]:
                value = match[0][-1] if match[0] > "\u3400" else match[0][:3]
                numbers = sorted(numbers_of(match[0]))
                values.setdefault(name, set()).add(value if name == "day" else str(numbers))
        rest = pattern.sub(" ", rest)
    return {unit: frozenset(of_unit) for unit, of_unit in values.items()}


def exclude_each_other(new: Mapping[str, frozenset[str]], old: Mapping[str, frozenset[str]]) -> bool:
    """Return whether two statements tell different values of one unit."""
    return any(new[unit].isdisjoint(old[unit]) for unit in new.keys() & old.keys() - _WORDS["alone"])
