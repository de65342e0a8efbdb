"""Reads the numbers and the dates in a text by their value, in English and Chinese, written out or relative."""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Final

from extractor.tables import table

_TABLE: Final = table("values")
_PATTERNS: Final = _TABLE.patterns()
_ENGLISH: Final = {word: int(number) for (number,), words in _TABLE.rows("numbers") for word in words}
_COUNTS: Final = {word: int(number) for (number,), words in _TABLE.rows("counts") for word in words}
_SCALES: Final = {name: int(number) for name, number in _TABLE.numbers("scales").items()}
_WHICH: Final = {"": 0, **{name: int(number) for name, number in _TABLE.numbers("which").items()}}


# Reads the numbers in a text by their value: "12,000", "12k", "twelve thousand", 一万二千 and "1.2万" are the same.

_HAN: Final = (
    {numeral: value for value, numeral in enumerate("零一二三四五六七八九")}
    | dict.fromkeys("两俩", 2)
    | {"〇": 0, "仨": 3}
)

_HALF_A_DAY: Final = 12


def numbers_of(text: str) -> frozenset[float]:
    """Return every number that a text may be said to tell: also words such as "twice" and 俩, and hours after noon."""
    numbers = set(_in_digits(text))
    numbers |= {hour + _HALF_A_DAY for hour in map(float, _PATTERNS["after noon"].findall(text)) if hour < _HALF_A_DAY}
    for match in _PATTERNS["number word"].finditer(text):
        value = _ENGLISH[match["number"].lower()]
        numbers |= {float(value), _scaled(value + (_ENGLISH[match["unit"].lower()] if match["unit"] else 0), match)}
    for match in _PATTERNS["Chinese number"].finditer(text):
        numbers |= {_of_han(match[0]), *(float(_HAN[numeral]) for numeral in match[0] if numeral in _HAN)}
    for match in _PATTERNS["late"].finditer(text):
        hour = float(match[1]) if match[1].isdecimal() else _of_han(match[1])
        numbers.add(hour + _HALF_A_DAY)
    if re.search(r"\bhalf\b|半", text, re.IGNORECASE):
        numbers |= {0.5, 30.0}
    return frozenset(numbers)


def numbers_stated(text: str) -> frozenset[float]:
    """Return the numbers that a statement tells: in digits, as words from two on, and Chinese numerals that count."""
    numbers = set(_in_digits(_PATTERNS["item"].sub(" ", text)))
    numbers |= {float(_ENGLISH[match[0].lower()]) for match in _PATTERNS["stated number word"].finditer(text)}
    numbers |= {_of_han(match[0]) for match in _PATTERNS["stated Chinese number"].finditer(text)} - {1.0}
    return frozenset(numbers)


def _in_digits(text: str) -> set[float]:
    hours = _PATTERNS["full hour"].sub("", text)
    return {_scaled(float(match["number"].replace(",", "")), match) for match in _PATTERNS["digits"].finditer(hours)}


def _scaled(value: float, match: re.Match[str]) -> float:
    return float(value * _SCALES[match["scale"].lower()]) if match["scale"] else float(value)


def _of_han(text: str) -> float:
    """Return the value of Chinese numerals, as 一万二千 or, digit by digit, 二零二六."""
    if not set(text) & set("十百千万亿"):
        return float("".join(str(_HAN[numeral]) for numeral in text))
    whole, part, last = 0, 0, 0
    for numeral in text:
        if numeral in _HAN:
            last = _HAN[numeral]
        elif numeral in "万亿":
            whole, part, last = (whole + part + last or 1) * _SCALES[numeral], 0, 0
        else:
            part, last = part + (last or 1) * (_SCALES.get(numeral) or 10), 0
    return float(whole + part + last)


# Reads the dates in a text, in English and Chinese: written out, or relative to the day of the text.
#
# Each date is a span of days, since "in April" and "next week" are dates too. An expression that can mean several
# days ("Friday", "18 December" without a year) has several spans.

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The days from the first to the last, which belongs to it."""

    first: date
    last: date

    def tells(self, other: "Span") -> bool:
        """Return whether somebody who said this may be quoted with the other span.

        The other is less exact, or it is a part of this one where this is a week at most ("this weekend").
        """
        if other.first <= self.first and self.last <= other.last:
            return True
        return self.first <= other.first and other.last <= self.last and (self.last - self.first).days < _A_WEEK


_A_WEEK: Final = 7
_TWO_MONTHS: Final = 62
_MONTHS_A_YEAR: Final = 12


def dates_of(text: str, day: date) -> list[frozenset[Span]]:
    """Return the dates that are written out in a text of a day: for each, the spans that it may mean."""
    return [spans for _, spans in _written(text, day)]


def is_over(text: str, stated: date, today: date) -> bool:
    """Return whether a text of a day tells of a time from that day on which is over today: "my flight is on Friday"."""
    if not _PATTERNS["cue"].search(text) or _PATTERNS["yearly"].search(text):
        return False
    spans = [*relative_dates_of(text, stated), *(span for each in dates_of(text, stated) for span in each)]
    return any(span.first >= stated and span.last < today for span in spans)


def coming(text: str, stated: date, today: date) -> date | None:
    """Return the day, today or later, of which a text of a day tells as what is ahead; None where it tells of none.

    What has begun already and what comes again and again are not ahead, nor is a stretch of more than two months.
    """
    if not _PATTERNS["cue"].search(text) or _PATTERNS["yearly"].search(text):
        return None
    if _PATTERNS["again and again"].search(text):
        return None
    text = _PATTERNS["days of a month"].sub(r"\g<first> \g<month> to \g<last> \g<month>", text)
    text = _PATTERNS["days of a Chinese month"].sub(r"\g<month>月\g<first>日到\g<month>月\g<last>日", text)
    meant = [min(spans, key=lambda span: abs((span.first - stated).days)) for spans in dates_of(text, stated) if spans]
    if _PATTERNS["past"].search(text):  # a day with its month is told exactly, "in May" is the last one
        meant = [span for span in meant if span.first == span.last]
    else:  # "Friday" may be the one before; it is the first one from that day on
        meant += sorted(span for span in relative_dates_of(text, stated) if span.first >= stated)[:1]
    ahead = [span for span in meant if span.first >= stated and (span.last - span.first).days <= _TWO_MONTHS]
    first = min((span for span in ahead if span.last >= today), default=None)
    return max(first.first, today) if first else None


def without_dates(text: str, day: date) -> str:
    """Return a text without its written dates."""
    for (start, end), _ in reversed(_written(text, day)):
        text = f"{text[:start]} {text[end:]}"
    return text


def relative_dates_of(text: str, day: date) -> frozenset[Span]:
    """Return the spans that the relative dates in a text of a day may mean: "tomorrow", "in two weeks", 下周五."""
    return frozenset(
        span
        for pattern, read, numbers in _relative()
        for match in pattern.finditer(text)
        for span in _safely(read, match, day, numbers)
    )


def _written(text: str, day: date) -> list[tuple[tuple[int, int], frozenset[Span]]]:
    dates: list[tuple[tuple[int, int], frozenset[Span]]] = []
    for _, pattern in _TABLE.compiled("written"):
        for match in pattern.finditer(text):
            start, end = match.span()
            spans = frozenset(_spans(match, day))
            if spans and all(end <= taken[0] or taken[1] <= start for taken, _ in dates):
                dates.append(((start, end), spans))
    return sorted(dates, key=lambda each: each[0])


def _spans(match: re.Match[str], day: date) -> Iterator[Span]:
    parts = match.groupdict()
    years = [int(parts["year"])] if parts.get("year") else [day.year - 1, day.year, day.year + 1]
    named = match.start("month") if parts.get("month") else match.start()
    which = _PATTERNS["year before"].search(match.string, 0, named)
    if which and not parts.get("year"):  # "next September" is no September that has begun
        month = _month(parts["month"]) if parts.get("month") else day.month
        first = day.year + (month <= day.month)
        years = [first] if which[1].lower() == "next" else [first - 2, first - 1]
    for year in years:
        try:
            if not parts.get("month"):
                yield Span(date(year, 1, 1), date(year, 12, 31))
            elif parts.get("day"):
                the_day = date(year, _month(parts["month"]), _number(parts["day"]))
                yield Span(the_day, the_day)
            else:
                yield _month_of(date(year, _month(parts["month"]), 1))
        except ValueError:  # no such day
            continue


def _month(text: str) -> int:
    short = text[:3].lower()
    return _MONTHS.index(short) + 1 if short in _MONTHS else _number(text)


def _number(text: str) -> int:
    """Return the number that digits, an English word or Chinese numerals below a hundred tell."""
    text = text.strip().lower()
    if text.isdecimal():
        return int(text)
    if text in _COUNTS:
        return _COUNTS[text]
    tens, ten, units = text.rpartition("十")
    if set(text) - {"十", *_HAN} or max(len(tens), len(units)) > 1:
        raise ValueError("no number below a hundred")  # "二三月": February or March
    if ten:
        return 10 * (_HAN[tens] if tens else 1) + (_HAN[units] if units else 0)
    return _HAN[text]


Read = Callable[..., list[Span]]


def _safely(read: Read, match: re.Match[str], day: date, numbers: list[int]) -> list[Span]:
    try:
        return read(match, day, *numbers)
    except (OverflowError, ValueError, KeyError):  # before the first year, after the last one, no such day
        return []


def _month_of(day: date) -> Span:
    return Span(day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1]))


def _months_on(day: date, count: int) -> date:
    years, month = divmod(day.month - 1 + count, 12)
    return date(day.year + years, month + 1, min(day.day, monthrange(day.year + years, month + 1)[1]))


def _days_on(_: re.Match[str], day: date, count: int) -> list[Span]:
    the_day = day + timedelta(days=count)
    return [Span(the_day, the_day)]


def _which(match: re.Match[str]) -> str:
    return match["which"].lower().rstrip("一个")


def _week_day(match: re.Match[str], day: date) -> list[Span]:
    """A day of a week. English "next Friday" may be the coming one, "Friday" alone the last or the coming one."""
    which, name = _which(match) if match["which"] else "", match["name"].lower()
    number = _WEEKDAYS.index(name[:3]) if name[:3] in _WEEKDAYS else min(6, "一二三四五六日天".index(name))
    monday = day - timedelta(days=day.weekday())
    weeks = {"last": (-1, 0), "past": (-1, 0), "next": (0, 1)}.get(which) or (
        (_WHICH[which],) if which in _WHICH and which not in ("this", "coming") else (-1, 0, 1)
    )
    days = [monday + timedelta(weeks=week, days=number) for week in weeks]
    if which in ("last", "past", "next"):
        days = [each for each in days if (each > day) == (which == "next")]
    elif len(weeks) > 1:
        days = [each for each in days if abs((each - day).days) <= _A_WEEK]
    return [Span(each, each) for each in days]


def _stretch(match: re.Match[str], day: date) -> list[Span]:
    """A week, its end, a month or a year, before or after this one."""
    count, unit = _WHICH[_which(match)], match["unit"].lower()
    if unit in ("week", "周", "星期", "礼拜"):
        monday = day - timedelta(days=day.weekday()) + timedelta(weeks=count)
        return [Span(monday, monday + timedelta(days=6))]
    if unit in ("weekend", "周末"):
        # The coming weekend is "next weekend" to some.
        saturdays = [day + timedelta(days=5 - day.weekday(), weeks=week) for week in {count, min(count, 0)}]
        return [Span(each, each + timedelta(days=1)) for each in saturdays]
    if unit in ("month", "月"):
        return [_month_of(_months_on(day.replace(day=1), count))]
    return [Span(date(day.year + count, 1, 1), date(day.year + count, 12, 31))]


def _away(match: re.Match[str], day: date) -> list[Span]:
    """So many days, weeks, months or years from the day. What is counted in longer units is less exact."""
    parts = match.groupdict()
    count = _number(parts["count"])
    count = -count if parts.get("back") else count
    unit = parts["unit"].lower().removeprefix("个")
    if unit[0] in "d天":
        return [Span(day + timedelta(days=count), day + timedelta(days=count))]
    around = timedelta(days=3)
    if unit[0] in "w周星礼":
        about = day + timedelta(weeks=count)
        return [Span(about - around, about + around)]
    if unit[0] in "m月":
        about = _months_on(day, count)
        return [Span(about - around, about + around), _month_of(about)]
    about = _months_on(day, 12 * count)
    return [_month_of(about), Span(date(about.year, 1, 1), date(about.year, 12, 31))]


def _day_of_month(match: re.Match[str], day: date) -> list[Span]:
    spans = []
    for month in (_WHICH[_which(match)],) if match.groupdict().get("which") else (-1, 0, 1):
        the_day = _months_on(day.replace(day=1), month).replace(day=_number(match["day"]))
        spans.append(Span(the_day, the_day))
    return spans


def _in_figures(match: re.Match[str], day: date) -> list[Span]:
    """A day and a month such as "12/18", in either order."""
    one, two = int(match["one"]), int(match["two"])
    year = match["year"]
    years = [int(year) if len(year) == len("2026") else 2000 + int(year)] if year else range(day.year - 1, day.year + 2)
    pairs = [(month, number) for month, number in ((one, two), (two, one)) if 1 <= month <= _MONTHS_A_YEAR]
    days = [date(year, month, number) for year in years for month, number in pairs]
    return [Span(each, each) for each in days]


def _feast(_: re.Match[str], day: date, month: int, first: int, last: int) -> list[Span]:
    return [Span(date(year, month, first), date(year, month, last)) for year in range(day.year - 1, day.year + 2)]


_READERS: Final[dict[str, Read]] = {
    "day": _days_on,
    "week day": _week_day,
    "stretch": _stretch,
    "away": _away,
    "figures": _in_figures,
    "day of month": _day_of_month,
    "feast": _feast,
}


@cache
def _relative() -> list[tuple[re.Pattern[str], Read, list[int]]]:
    """Return how relative dates are written, and what reads them: its name in the table, and numbers that it takes."""
    entries = ((re.split(r" (?=-?\d)", head), pattern) for head, pattern in _TABLE.compiled("relative"))
    return [(pattern, _READERS[name], [*map(int, numbers)]) for (name, *numbers), pattern in entries]
