"""What a heading and a line of a form say: a day, a name, or nothing. Pure functions, light to import."""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from typing import Final

RULE: Final = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*")
EMPHASIS: Final = re.compile(r"[*_~`]+")
LABEL: Final = re.compile(r"[^:：]{1,60}[:：](?!/)")
_BRACKETS: Final = (("(", ")"), ("[", "]"), ("<", ">"), ("{", "}"), ("（", "）"), ("【", "】"))
ITALIC: Final = re.compile(r"([*_])(?![*_\s])[^*_]+\1")
_DAYS: Final = (
    re.compile(r"(?<!\d)(?P<y>\d{4})(?:[-/._](?P<m>\d{1,2})[-/._](?P<d>\d{1,2})(?!\d)|(?P<md>\d{4})(?!\d))"),
    re.compile(r"(?<!\d)(?P<y>\d{4}) ?年 ?(?P<m>\d{1,2}) ?月 ?(?P<d>\d{1,2}) ?[日号]?"),
    re.compile(r"(?<!\d)(?P<d>\d{1,2})\. ?(?P<m>\d{1,2})\. ?(?P<y>\d{4})(?!\d)"),
)
_YEAR: Final = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_CLOCK: Final = re.compile(r"^[T ]?\d{1,2}:\d\d(?::\d\d)?(?: ?(?:[AaPp]\.?[Mm]\.?|UTC|GMT))?(?![\w:])")
_WEEKDAY_LEFT: Final = re.compile(
    r"(?:[A-Za-z]{2,9}day|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,2}\.?|(?:星期|周|週)[一二三四五六日天])", re.IGNORECASE
)
_AROUND: Final = " \t-–—:：,，|·/()[]（）"


def days_of(path: Sequence[str]) -> tuple[str, list[str]]:
    """Return the day that headings name, the innermost one, and the headings without their days and times."""
    day, rest = "", list[str]()
    for heading in reversed(path):
        named, left = _named_day(heading)
        day = day or named
        text = _CLOCK.sub("", left).strip(_AROUND) if named or _CLOCK.match(left) else left
        rest.insert(0, "" if named and _WEEKDAY_LEFT.fullmatch(text) else text)
    return day, rest


def _named_day(heading: str) -> tuple[str, str]:
    """Return the day that a heading names with its year, and what else it says."""
    for match in (found for pattern in _DAYS if (found := pattern.search(heading))):
        parts = match.groupdict()
        month, number = (parts["m"], parts["d"]) if parts["m"] else (parts["md"][:2], parts["md"][2:])
        with suppress(ValueError):
            return date(int(parts["y"]), int(month), int(number)).isoformat(), _without(heading, *match.span())
    if _YEAR.search(heading):
        from gateway_memory.ground.dates import mentions  # most headings name no day in words

        for each in mentions(heading, date(2000, 1, 1)):
            if each.exact and len(each.spans) == 1 and each.spans[0].first == each.spans[0].last:
                return each.spans[0].first.isoformat(), _without(heading, each.start, each.end)
    return "", heading


def _without(text: str, start: int, end: int) -> str:
    return f"{text[:start].rstrip(_AROUND)} {text[end:].lstrip(_AROUND)}".strip()


def day_named(name: str) -> str:
    """Return the day, YYYY-MM-DD, that the name of a file or a heading names with its year; "" if it names none."""
    return _named_day(name)[0]


def day_of_file(file: str) -> str:
    """Return the day that a file's name says, else the innermost folder of it; "" if none does."""
    return next(filter(None, (day_named(part) for part in reversed(file.removesuffix(".md").split("/")))), "")


def is_form(text: str) -> bool:
    """Return whether a text is a form's own: a field that is not filled in, or words for who fills it in."""
    if RULE.fullmatch(text):
        return True
    plain = EMPHASIS.sub("", text).strip()
    label = LABEL.match(plain)
    value = plain[label.end() :].strip() if label else plain
    return not value.strip("-–—_.…?？") or any(
        value.startswith(opens) and value.find(closes) == len(value) - 1 for opens, closes in _BRACKETS
    )
