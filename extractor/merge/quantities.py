"""Reads the days, hours, dates and counts of a statement, by unit: two values of one unit exclude each other."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from extractor.language.numbers import numbers_of
from extractor.language.vocabulary import stem

__all__ = ["exclude_each_other", "quantities"]

_MONTHS: Final = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_WORDS: Final = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen"
    "|nineteen|twenty|thirty|forty|fifty|sixty"
)
_HAN: Final = "[零〇一二两三四五六七八九十百千万\\d]+"
# Unit: how a value of it is written; a unit without a name is the word that follows. What one reads, a later one skips.
_UNITS: Final = tuple(
    (unit, re.compile(pattern, re.IGNORECASE))
    for unit, pattern in (
        ("day", r"\b(?:mon|tues?|wed|wednes|thurs?|fri|satur|sat|sun)(?:days?)?\b|(?:周|星期|礼拜)[一二三四五六日天]"),
        (
            "date",
            (
                rf"\b{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTHS}\b"
                rf"|\b\d{{1,2}}(?:st|nd|rd|th)\b(?! floor)|{_HAN}月{_HAN}[号日]"
            ),
        ),
        ("year", r"\b(?:19|20)\d\d\b|(?:19|20)\d\d(?=年)"),
        (
            "hour",
            (
                r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm)\b"
                rf"|\b(?:at|by|before|after|until|till) (?:\d{{1,2}}|one|{_WORDS})\b(?! [a-z]+s\b)|{_HAN}[点时]半?"
            ),
        ),
        ("", r"\d[\d,.]*(?:k\b|万|千)? ?(?P<unit>[a-z]+\b|[\u4e00-\u9fff])?"),
        ("", rf"\b(?:{_WORDS})\b ?(?P<unit>[a-z]+)?"),
        ("share", rf"{_HAN}分之{_HAN}"),
        ("", r"[零〇一二两三四五六七八九十百千万]+(?P<unit>[\u4e00-\u9fff])"),
    )
)
_ALONE: Final = frozenset({"year"})
"""Units of which a statement may tell another value of another event."""
_NUMBERS_OF_THINGS: Final = frozenset("号路线栋室座起样直定些点切家")
"""Characters behind a number that belongs to a name, or that is none."""


@lru_cache(maxsize=512)  # a statement is compared with several others
def quantities(text: str) -> Mapping[str, frozenset[str]]:
    """Return what a statement tells of each unit: {"day": {"mon"}, "mg": {"5.0"}}."""
    found: dict[str, set[str]] = {}
    rest = text.lower()
    for unit, pattern in _UNITS:
        for match in pattern.finditer(rest):
            name = unit or stem(match["unit"] or "")
            if name not in _NUMBERS_OF_THINGS:
                value = match[0][-1] if match[0] > "\u3400" else match[0][:3]
                numbers = sorted(numbers_of(match[0]))
                found.setdefault(name, set()).add(value if name == "day" else str(numbers))
        rest = pattern.sub(" ", rest)
    return {unit: frozenset(values) for unit, values in found.items()}


def exclude_each_other(told: Mapping[str, frozenset[str]], before: Mapping[str, frozenset[str]]) -> bool:
    """Return whether two statements tell different values of one unit."""
    return any(told[unit].isdisjoint(before[unit]) for unit in told.keys() & before.keys() - _ALONE)
