"""What an expression of time means, by the pattern that found it: its days, or how it comes again.

The patterns and words are those of `dates.txt` and `feasts.txt`. Each function below reads one kind of expression, seen
from the day on which it was said, and raises ValueError, KeyError or OverflowError where there is no such day.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Final

from gateway_memory.ground.calendar import (
    A_MONTH,
    A_WEEK,
    DECEMBER,
    Every,
    Span,
    day_span,
    days_on,
    feast,
    lunar,
    month_of,
    months_on,
    nth_weekday,
    part_of,
    season_of,
    week_of,
    year_of,
)
from gateway_memory.ground.tables import Table, has_han

_FEASTS: Final = Table(Path(__file__).with_name("feasts.txt").read_text("utf-8"))
_NAMES: Final = [(rule, name.strip()) for rule, names in _FEASTS.texts("feasts") for name in names.split(" | ")]
TABLE: Final = Table(
    Path(__file__).with_name("dates.txt").read_text("utf-8"),
    FEAST="|".join(name for _, name in _NAMES if not has_han(name)),
    HAN_FEAST="|".join(name for _, name in _NAMES if has_han(name)),
)
PATTERNS: Final = TABLE.patterns()
_NUMBERS: Final = {word: int(number) for (number,), words in TABLE.rows("numbers") for word in words}
_WHICH: Final = {word: int(number) for (number,), words in TABLE.rows("which") for word in words}
_PARTS: Final = {word: " ".join(part) for part, words in TABLE.rows("parts") for word in words}
_SEASONS: Final = {word: int(month) for (month,), words in TABLE.rows("seasons") for word in words}
_UNITS: Final = {word: unit for (unit,), words in TABLE.rows("units") for word in words}
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HAN_WEEKDAYS: Final = {name: min(6, number) for number, name in enumerate("一二三四五六日天")} | {
    str(number + 1): number for number in range(A_WEEK)
}
_LUNAR_MONTHS: Final = {"正": 1, "冬": 11, "腊": 12}
_IS_WEEKEND: Final = 5
_HALF_A_MONTH: Final = 15


Read = Callable[..., "Sequence[Span]"]


class UnsureError(ValueError):
    """Nobody could say which day is meant. spans: those that may be."""

    def __init__(self, *spans: Span) -> None:
        super().__init__()
        self.spans = spans


def number_of(text: str) -> int:
    """Return the number that digits, an English word or Chinese numerals below a hundred tell."""
    text = text.strip().lower()
    if text.isdecimal():
        return int(text)
    if text in _NUMBERS:
        return _NUMBERS[text]
    if match := re.fullmatch(r"(twenty|thirty)[- ](\w+)", text):
        return _NUMBERS[match[1]] + _NUMBERS[match[2]]
    text = text.replace("廿", "二十")
    tens, ten, ones = text.rpartition("十")
    if not ten or max(len(tens), len(ones)) > 1:
        raise ValueError("no number below a hundred")
    return (_NUMBERS[tens] if tens else 1) * 10 + (_NUMBERS[ones] if ones else 0)


def _month(text: str) -> int:
    short = text[:3].lower()
    return _MONTHS.index(short) + 1 if short in _MONTHS else number_of(text)


def _weekday_of(match: re.Match[str]) -> int:
    return _weekday(match["weekday"])


def _weekday(text: str) -> int:
    short = text[:3].lower()
    return WEEKDAYS.index(short) if short in WEEKDAYS else _HAN_WEEKDAYS[text]


def _years(parts: dict[str, str | None], day: date) -> Sequence[int]:
    if year := parts.get("year"):
        return [int(year)]
    if which := parts.get("of_year"):
        return [day.year + _WHICH[which]]
    return (
        [day.year + count for count in range(-4, 5)]
        if _is_leap_day(parts)
        else [day.year + count for count in (-1, 0, 1)]
    )


def _is_leap_day(parts: dict[str, str | None]) -> bool:
    return (parts.get("month") or "")[:3] in ("feb", "2", "02", "二") and parts.get("day") in ("29", "二十九")


def _by_which(spans: Iterable[Span], which: str | None, day: date) -> list[Span]:
    """Return those of the same thing in several years that "next", "last" or "this" names."""
    spans = sorted(spans)
    if which == "next":
        return [span for span in spans if span.first > day][:1]
    behind = [span for span in spans if span.last < day]
    if which == "last":
        return behind[-1:]
    past = [span for span in behind if span.last.year == day.year]  # "he did it this February"
    return past + [span for span in spans if span.last >= day][:1] if which == "this" else spans


def _dates(match: re.Match[str], day: date) -> list[Span]:
    parts = match.groupdict()
    month = _month(parts["month"] or "")
    spans = []
    for year in _years(parts, day):
        if part := parts.get("part"):
            spans.append(part_of(month_of(year, month), _PARTS[part]))
        elif number := parts.get("day"):
            try:
                first = date(year, month, number_of(number))
                last = date(year, month, number_of(parts["to"])) if parts.get("to") else first
            except ValueError:  # 29 February of another year
                continue
            spans.append(Span(first, max(first, last)))
        else:
            spans.append(month_of(year, month))
    if (name := parts.get("weekday")) and parts.get("day"):
        nearest = min(spans, key=lambda span: abs((span.first - day).days))
        if nearest.first.weekday() != _weekday(name):
            raise UnsureError(*spans)
        return [nearest]
    if has_han(parts.get("day") or "") and match[0][-1] not in "日号":  # 六月十二: of the sun or of the moon
        raise UnsureError(*spans)
    return _by_which(spans, parts.get("which"), day)


def _moon_days(match: re.Match[str], day: date) -> list[Span]:
    month, number = moon_day(match)
    years = [day.year - 1, day.year, day.year + 1]
    if match["of_year"]:  # of the moon's years: 今年腊月 is in the January after
        began = day.year if lunar(day.year, 1, 1) <= day else day.year - 1
        years = [began + year - day.year for year in _years(match.groupdict(), day)]
    return [day_span(lunar(year, month, number)) for year in years]


def _new_year_days(match: re.Match[str], day: date) -> list[Span]:
    """A day of the first month of the Chinese calendar; said about New Year alone."""
    number = number_of(match["day"].removeprefix("初"))
    new_years = (lunar(year, 1, 1) for year in (day.year, day.year + 1))
    return [day_span(days_on(first, number - 1)) for first in new_years if abs((first - day).days) <= A_MONTH]


def moon_day(match: re.Match[str]) -> tuple[int, int]:
    """Return the month and the day of the Chinese calendar that a match names."""
    parts = match.groupdict()
    name = parts.get("month") or "正"
    month = _LUNAR_MONTHS.get(name) or number_of(name)
    return month, number_of((parts["day"] or "").removeprefix("初"))


def _nth_weekdays(match: re.Match[str], day: date) -> list[Span]:
    parts = match.groupdict()
    name = parts.get("nth") or parts.get("nth2") or ""
    number = -1 if name == "last" else _NUMBERS[name]
    if parts.get("month"):
        months = [month_of(year, _month(parts["month"] or "")) for year in _years(parts, day)]
    else:
        first = months_on(day.replace(day=1), _WHICH[parts.get("which") or "this"])
        months = [month_of(first.year, first.month)]
    if parts.get("unit"):
        if _UNITS.get(parts["unit"] or "") == "week":  # its first whole week from Monday on
            mondays = [nth_weekday(month, 0, number) for month in months]
            return [Span(monday, days_on(monday, 6)) for monday in mondays]
        saturdays = [nth_weekday(month, _IS_WEEKEND, number) for month in months]
        return [Span(saturday, days_on(saturday, 1)) for saturday in saturdays]
    return [day_span(nth_weekday(month, _weekday_of(match), number)) for month in months]


def _part(match: re.Match[str], day: date) -> list[Span]:
    parts = match.groupdict()
    part = _PARTS.get(parts["part"] or "") or parts["part"]
    if parts.get("month") and part not in ("first", "second", "last"):
        return [part_of(month_of(year, _month(parts["month"] or "")), part) for year in _years(parts, day)]
    if parts.get("year"):
        return [part_of(year_of(int(parts["year"] or 0)), part)]
    if part in ("first", "second", "last") and parts.get("month"):
        months = [month_of(year, _month(parts["month"] or "")) for year in _years(parts, day)]
        first = part == "first"
        return [
            Span(span.first if first else days_on(span.first, 14), days_on(span.first, 13) if first else span.last)
            for span in months
        ]
    if part in ("first", "1st"):
        month = _of_months(day, _WHICH[(parts["whole"] or "").split()[0]])
        return [day_span(month.first), day_span(_of_months(month.first, 1).first)]
    which, unit = parts.get("which") or "this", _UNITS.get(parts.get("unit") or "")
    if whole := parts.get("whole"):
        which, unit = whole.split()
    count = _WHICH[which]
    whole_span = {
        "week": lambda: week_of(day, count),
        "month": lambda: _of_months(day, count),
        "year": lambda: year_of(day.year + count),
    }[str(unit)]()
    return [part_of(whole_span, part)]


def _of_months(day: date, count: int) -> Span:
    first = months_on(day.replace(day=1), count)
    return month_of(first.year, first.month)


def _anchor(text: str, day: date) -> date:
    """Return the day from which weeks are counted: "a week on Tuesday", "a fortnight tomorrow"."""
    if text in ("today", "tonight", "this day", "this time"):
        return day
    if text.startswith(("tm", "tom")) or "after" in text:
        return days_on(day, 2 if "after" in text else 1)
    if text == "yesterday":
        return days_on(day, -1)
    return _coming(day, _weekday(text))


def _coming(day: date, weekday: int) -> date:
    """Return the first such weekday behind a day."""
    return days_on(day, (weekday - day.weekday() - 1) % A_WEEK + 1)


def _before(day: date, weekday: int) -> date:
    """Return the last such weekday in front of a day."""
    return days_on(day, -((day.weekday() - weekday - 1) % A_WEEK + 1))


def _so_far(day: date, count: float, unit: str) -> list[Span]:
    """Return the time so many units later, or earlier. What is counted in years is no less than a year."""
    if unit == "year":
        if count % 1:
            return [day_span(months_on(day, round(DECEMBER * count)))]
        return [year_of(day.year + int(count))]
    if unit == "month":
        exact = days_on(day, round(2 * count) * _HALF_A_MONTH) if count % 1 else months_on(day, int(count))
        return [day_span(exact)]
    return [day_span(days_on(day, round(count * {"day": 1, "week": A_WEEK, "fortnight": 2 * A_WEEK}[unit])))]


def _count(match: re.Match[str]) -> float:
    text = match.groupdict().get("count")
    return 0.5 if text == "半" else number_of(text) if text else 1


def _unit(match: re.Match[str]) -> str:
    return _UNITS[match["unit"].removeprefix("个").rstrip("'")]


def _ahead(match: re.Match[str], day: date) -> list[Span]:
    if match["of"] == "yesterday":  # "a week yesterday" is behind
        return _so_far(days_on(day, -1), -_count(match), _unit(match))
    return _so_far(_anchor(match["of"], day), _count(match), _unit(match))


def slack_of(match: re.Match[str]) -> int:
    """Return by how many days a counted time may be off: people round weeks and months, and many days."""
    count, unit = _count(match), _unit(match)
    return {"day": int(count) // 4, "week": 3, "fortnight": 3, "month": 16, "year": 0}[unit]


def _behind(match: re.Match[str], day: date) -> list[Span]:
    of = match.groupdict().get("of")
    start = days_on(day, -(of == "yesterday"))
    if of not in (None, "today", "yesterday"):
        start = _before(day, _weekday(of))
    return _so_far(start, -_count(match), _unit(match))


def _counted(match: re.Match[str], day: date) -> list[Span]:
    return _so_far(day, -_count(match) if match.groupdict().get("ago") else _count(match), _unit(match))


def following(span: Span, unit: str) -> Span:
    """Return the weekday, or the day, week, weekend or month, behind a span: "the Sunday after"."""
    if unit in ("week", "month"):
        return week_of(span.last, 1) if unit == "week" else _of_months(span.last, 1)
    if unit == "weekend":
        return Span(saturday := _coming(span.last, _IS_WEEKEND), days_on(saturday, 1))
    return day_span(days_on(span.last, 1) if unit == "day" else _coming(span.last, _weekday(unit)))


def _beside(match: re.Match[str], day: date) -> list[Span]:
    """A day or a week before or after a feast: "the Saturday before Christmas", 元旦后第一个周一."""
    parts, spans = match.groupdict(), []
    for span in _feasts(match, day, "of"):
        side = -1 if parts["side"] in ("before", "前") else 1
        edge = span.first if side < 0 else span.last
        name = parts.get("weekday")
        if name in (None, "day"):
            spans.append(day_span(days_on(edge, side * int(_count(match)))))
        elif name == "week":
            spans.append(week_of(edge, side))
        elif name == "weekend":
            saturday = _before(edge, 6) if side < 0 else _coming(edge, _IS_WEEKEND)
            spans.append(Span(days_on(saturday, -1), saturday) if side < 0 else Span(saturday, days_on(saturday, 1)))
        else:
            weekday = _weekday(name or "")
            spans.append(day_span(_before(edge, weekday) if side < 0 else _coming(edge, weekday)))
    return spans


def _days(_: re.Match[str], day: date, count: int) -> list[Span]:
    return [day_span(days_on(day, count))]


def _weekday_past(match: re.Match[str], day: date) -> list[Span]:
    return [day_span(_before(day, _weekday_of(match)))]


def _weekdays_ago(match: re.Match[str], day: date) -> list[Span]:
    return [day_span(days_on(_before(day, _weekday_of(match)), A_WEEK * (1 - int(_count(match)))))]


def _weekday_coming(match: re.Match[str], day: date) -> list[Span]:
    return [day_span(_coming(day, _weekday_of(match)))]


def _weekday_after_next(match: re.Match[str], day: date) -> list[Span]:
    return [day_span(days_on(_coming(day, _weekday_of(match)), A_WEEK))]


def _weekday_last(match: re.Match[str], day: date) -> list[Span]:
    """On a Wednesday, "last Tuesday" is the day before to some, and that of the last week to others."""
    last = _before(day, _weekday_of(match))
    if last >= week_of(day).first:
        raise UnsureError(day_span(days_on(last, -A_WEEK)), day_span(last))
    return [day_span(last)]


def _weekday_next(match: re.Match[str], day: date) -> list[Span]:
    """On a Wednesday, "next Friday" is that of this week to some, and that of the next one to others."""
    coming = _coming(day, _weekday_of(match))
    if coming <= week_of(day).last:
        raise UnsureError(day_span(coming), day_span(days_on(coming, A_WEEK)))
    return [day_span(coming)]


def _weekday_this(match: re.Match[str], day: date) -> list[Span]:
    return [day_span(_coming(days_on(day, -1), _weekday_of(match)))]


def _weekday_and_day(match: re.Match[str], day: date) -> list[Span]:
    """Of "Friday the 11th", the day must be a Friday."""
    spans = [span for span in _days_of_month(match, day) if span.first.weekday() == _weekday_of(match)]
    near = [span for span in spans if abs((span.first - day).days) <= 2 * A_MONTH]
    if not near:
        raise UnsureError(*_days_of_month(match, day))
    return near


def _weekday_before_last(match: re.Match[str], day: date) -> list[Span]:
    return [day_span(days_on(_before(day, _weekday_of(match)), -A_WEEK))]


def _stretch_after(match: re.Match[str], day: date) -> list[Span]:
    return [week_of(day, 1) if match["unit"] == "week" else _of_months(day, 1)]


def _weekday_bare(match: re.Match[str], day: date) -> list[Span]:
    weekday = _weekday_of(match)
    if weekday == day.weekday():  # today to some, in a week to others
        raise UnsureError(*(day_span(days_on(day, A_WEEK * weeks)) for weeks in (-1, 0, 1)))
    return [day_span(_before(day, weekday)), day_span(_coming(day, weekday))]


def _han_weekday(match: re.Match[str], day: date) -> list[Span]:
    which = match["which"]
    if not which:
        return _weekday_bare(match, day)
    return [day_span(days_on(week_of(day, _WHICH[which]).first, _weekday_of(match)))]


def _week_of_day(match: re.Match[str], day: date) -> list[Span]:
    days = _dates(match, day) if match.groupdict().get("month") else _days_of_month(match, day)
    return [week_of(span.first) for span in days]


def _stretch(match: re.Match[str], day: date) -> list[Span]:
    """A week, a weekend, a month or a year, before or after this one."""
    parts = match.groupdict()
    which, unit = parts.get("which") or "", parts["unit"]
    count = _WHICH.get(which, 0)
    if unit in ("weekend", "周末", "礼拜天"):
        return _weekends(day, which, count, chinese=unit != "weekend")
    spans = {
        "week": lambda: week_of(day, count),
        "month": lambda: _of_months(day, count),
        "year": lambda: year_of(day.year + count),
    }
    return [spans[_UNITS[unit or ""]]()]


def _weekends(day: date, which: str, count: int, *, chinese: bool) -> list[Span]:
    def weekend(weeks: int) -> Span:
        saturday = days_on(week_of(day, weeks).first, _IS_WEEKEND)
        return Span(saturday, days_on(saturday, 1))

    is_now = day.weekday() >= _IS_WEEKEND
    if which in ("", "the", "coming"):
        if is_now and which != "coming":
            raise UnsureError(weekend(0), weekend(1))
        return [weekend(1)] if is_now else [weekend(-1), weekend(0)] if which != "coming" else [weekend(0)]
    if which == "next" and not is_now and not chinese:
        raise UnsureError(weekend(0), weekend(1))
    return [weekend(count)]


def _stretch_after_next(match: re.Match[str], day: date) -> list[Span]:
    unit = match["unit"]
    if unit == "weekend":  # the next one is that of this week, or behind it
        saturday = days_on(_coming(day, _IS_WEEKEND), A_WEEK)
        return [Span(saturday, days_on(saturday, 1))]
    return [{"week": week_of(day, 2), "month": _of_months(day, 2), "year": year_of(day.year + 2)}[unit]]


def _stretch_before_last(match: re.Match[str], day: date) -> list[Span]:
    if match["unit"] == "week":
        return [week_of(day, -2)]
    sunday = days_on(_before(day, 6), -A_WEEK)
    return [Span(days_on(sunday, -1), sunday)]


def _seasons(match: re.Match[str], day: date) -> list[Span]:
    parts = match.groupdict()
    name = parts["season"] or ""
    month = _SEASONS.get(name) or _SEASONS[f"{name}天"]
    which = parts["which"] or ""
    years = [day.year + _WHICH[which]] if has_han(which) else [day.year - 1, day.year, day.year + 1]
    spans = [season_of(year, month) for year in years]
    return _by_which(spans, None if has_han(which) else which, day)


def _vague(_: re.Match[str], __: date) -> list[Span]:
    raise UnsureError


def _figures(match: re.Match[str], day: date) -> list[Span]:
    """A day and a month, "18/12": in either order in English, the month first in Chinese."""
    one, two, year = int(match["one"]), int(match["two"]), match.groupdict().get("year")
    years = [int(year) if len(year) > 2 else 2000 + int(year)] if year else [day.year - 1, day.year, day.year + 1]  # noqa: PLR2004
    pairs = {(one, two), (two, one)} if not has_han(match.string) else {(one, two)}
    pairs = {(month, number) for month, number in pairs if 1 <= month <= DECEMBER and 1 <= number <= 31}  # noqa: PLR2004
    spans = []
    for month, number in sorted(pairs):
        for of in years:
            try:
                spans.append(day_span(date(of, month, number)))
            except ValueError:
                continue
    if len(pairs) > 1:
        raise UnsureError(*sorted(spans))
    return spans


def _feasts(match: re.Match[str], day: date, group: str = "feast") -> list[Span]:
    parts = match.groupdict()
    rule = rule_at(match.string, *match.span(group))
    spans = []
    for year in _years(parts, day):
        try:
            span = feast(rule, year)
        except ValueError:
            continue
        if parts.get("weekend"):
            span = _long_weekend(span.first)
        spans.append(day_span(span.first) if parts.get("itself") else span)
        if parts.get("of_year") == "今" and rule.startswith("lunar") and span.first.month <= 2:  # noqa: PLR2004 - New Year's months
            spans.append(feast(rule, year + 1))  # in autumn 今年春节 is the one ahead
    return _by_which(spans, parts.get("which"), day)


def _long_weekend(day: date) -> Span:
    """Return the weekend beside a feast, with the feast."""
    saturday = days_on(day, _IS_WEEKEND - day.weekday() - (A_WEEK if day.weekday() < 3 else 0))  # noqa: PLR2004
    return Span(min(day, saturday), max(day, days_on(saturday, 1)))


def rule_at(text: str, start: int, end: int) -> str:
    """Return the rule of the feast that stands there; "" if none does."""
    return next((rule for rule, name in _feast_patterns() if (at := name.match(text, start)) and at.end() == end), "")


@cache
def _feast_patterns() -> list[tuple[str, re.Pattern[str]]]:
    return [(rule, re.compile(name, re.ASCII)) for rule, name in _NAMES]


def _days_of_month(match: re.Match[str], day: date) -> list[Span]:
    which = match.groupdict().get("which")
    number, spans = number_of(match["day"]), []
    for count in [_WHICH[which]] if which else (-2, -1, 0, 1, 2):
        month = months_on(day.replace(day=1), count)
        try:
            spans.append(day_span(month.replace(day=number)))
        except ValueError:  # a shorter month
            continue
    return spans


def _quarters(match: re.Match[str], day: date) -> list[Span]:
    first = 3 * int(match["quarter"]) - 2
    years = _years(match.groupdict(), day)
    return [Span(date(year, first, 1), month_of(year, first + 2).last) for year in years]


def _calendar_weeks(match: re.Match[str], day: date) -> list[Span]:
    return [
        week_of(date.fromisocalendar(year, int(match["number"]), 1)) for year in (day.year - 1, day.year, day.year + 1)
    ]


def _years_on(match: re.Match[str], day: date) -> list[Span]:
    return [day_span(months_on(day, DECEMBER * _WHICH[match["of_year"]]))]


def _year(match: re.Match[str], _: date) -> list[Span]:
    return [year_of(int(match["year"]))]


WRITTEN: Final = frozenset({"date", "month", "year", "span", "lunar"})
"""The patterns whose dates are written out."""
READERS: Final[dict[str, Read]] = {
    "date": _dates,
    "month": _dates,
    "lunar": _moon_days,
    "new year": _new_year_days,
    "nth weekday": _nth_weekdays,
    "part": _part,
    "ahead": _ahead,
    "behind": _behind,
    "beside": _beside,
    "after date": _counted,
    "day": _days,
    "weekday past": _weekday_past,
    "weekday coming": _weekday_coming,
    "weekday after next": _weekday_after_next,
    "weekday last": _weekday_last,
    "weekday next": _weekday_next,
    "weekday this": _weekday_this,
    "weekday date": _weekday_and_day,
    "weekday before last": _weekday_before_last,
    "stretch after": _stretch_after,
    "weekday bare": _weekday_bare,
    "week day": _han_weekday,
    "week of": _week_of_day,
    "stretch": _stretch,
    "stretch after next": _stretch_after_next,
    "stretch before last": _stretch_before_last,
    "quarter": _quarters,
    "calendar week": _calendar_weeks,
    "weekdays ago": _weekdays_ago,
    "season": _seasons,
    "counted": _counted,
    "vague": _vague,
    "following": _vague,
    "figures": _figures,
    "feast": _feasts,
    "day of month": _days_of_month,
    "years on": _years_on,
    "year": _year,
    "span": _year,
}


def _each_nth(match: re.Match[str]) -> Every:
    parts = match.groupdict()
    number = -1 if parts.get("last") or parts.get("nth") == "last" else _NUMBERS[parts.get("nth") or ""]
    return Every(weekdays=frozenset({_weekday_of(match)}), number=number)


def _each_day_of_month(match: re.Match[str]) -> Every:
    return Every(day=number_of(match["day"]))


def _each_day_of_year(match: re.Match[str]) -> Every:
    return Every(day=number_of(match["day"]), month=_month(match["month"]))


def _on_weekdays(match: re.Match[str]) -> Every:
    names = re.findall(r"mon|tue|wed|thu|fri|sat|sun|[一二三四五六日天1-7]", match["weekdays"])
    return Every(weekdays=frozenset(map(_weekday, names)))


EVERY: Final[dict[str, Callable[[re.Match[str]], Every]]] = {
    "nth of months": _each_nth,
    "day of months": _each_day_of_month,
    "years": _each_day_of_year,
    "days": lambda _: Every(),
    "workdays": lambda _: Every(weekdays=frozenset(range(_IS_WEEKEND))),
    "weekends": lambda _: Every(weekdays=frozenset({5, 6})),
    "some weeks": lambda _: Every(known=False),
    "weekdays": _on_weekdays,
}
