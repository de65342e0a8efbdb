"""Days by the rules of calendars: months and their parts, weekdays, feasts of the sun and of the moon, what recurs."""

from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

ONE_DAY: Final = timedelta(days=1)
A_WEEK: Final = 7
DECEMBER: Final = 12
A_MONTH: Final = 31
_DAYS: Final = {
    "start": (1, 5), "early": (1, 10), "mid": (10, 20), "late": (20, 31), "end": (25, 31),
    "first third": (1, 10), "second third": (11, 20), "last third": (21, 31),
}  # fmt: skip
_FEW_DAYS: Final = 3
_YEARS_AHEAD: Final = 9
"""In so many years each day of a month comes at least once: 29 February too."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The days from the first to the last, which belongs to it."""

    first: date
    last: date

    @property
    def days(self) -> int:
        """How many days it has."""
        return (self.last - self.first).days + 1

    @property
    def is_month(self) -> bool:
        """Whether it is a whole month, of which nobody told the day."""
        return self == month_of(self.first.year, self.first.month)

    @property
    def iso(self) -> str:
        """Its first day as YYYY-MM-DD, and a whole month as YYYY-MM."""
        return self.first.isoformat()[: 7 if self.is_month else None]

    def tells(self, other: "Span") -> bool:
        """Return whether somebody who said this may be quoted with the other span.

        The other is less exact, or it is a part of this one where this is a week at most ("this weekend").
        """
        if other.first <= self.first and self.last <= other.last:
            return True
        return self.first <= other.first and other.last <= self.last and self.days <= A_WEEK


def day_span(day: date) -> Span:
    """Return one day."""
    return Span(day, day)


def days_on(day: date, count: int) -> date:
    """Return the day so many days later."""
    return day + timedelta(days=count)


def week_of(day: date, weeks: int = 0) -> Span:
    """Return the week of a day from Monday to Sunday, or one so many weeks later."""
    monday = days_on(day, A_WEEK * weeks - day.weekday())
    return Span(monday, days_on(monday, 6))


def month_of(year: int, month: int) -> Span:
    """Return a month. Raises ValueError where there is none."""
    return Span(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def months_on(day: date, count: int) -> date:
    """Return the day so many months later, or the last one of a month that is too short."""
    years, month = divmod(day.month - 1 + count, DECEMBER)
    year = day.year + years
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def season_of(year: int, month: int) -> Span:
    """Return the three months from one on: March for the spring, as the north counts."""
    last = months_on(date(year, month, 1), 2)
    return Span(date(year, month, 1), month_of(last.year, last.month).last)


def year_of(year: int) -> Span:
    """Return a year."""
    return Span(date(year, 1, 1), date(year, DECEMBER, 31))


def part_of(span: Span, part: str) -> Span:
    """Return a part of a month, a year or a week: "early", "mid" or "late" (its thirds), "start", "end" or "last day".

    The end of a month is what is left from the 25th on, that of a year its December, and that of a week its weekend.
    """
    first, last = span.first, span.last
    if part == "last day":
        return day_span(last)
    if span.days <= A_WEEK:
        if part == "mid":
            return day_span(days_on(first, 3))
        return Span(days_on(last, -2), last) if part in ("end", "late") else Span(first, days_on(first, 1))
    if span.days > A_MONTH:
        months = {"start": (1, 2), "early": (1, 3), "mid": (5, 8), "late": (10, 12), "end": (12, 12)}[part]
        return Span(date(first.year, months[0], 1), month_of(first.year, months[1]).last)
    begin, end = _DAYS[part]
    return Span(first.replace(day=begin), last.replace(day=min(end, last.day)))


def nth_weekday(within: Span, weekday: int, number: int) -> date:
    """Return the nth weekday within a span, -1 for the last one. weekday: 0 for Monday. Raises ValueError: none."""
    if number < 0:
        return days_on(within.last, -((within.last.weekday() - weekday) % A_WEEK))
    day = days_on(within.first, (weekday - within.first.weekday()) % A_WEEK + A_WEEK * (number - 1))
    if day > within.last:
        raise ValueError("no such weekday")
    return day


def easter(year: int) -> date:
    """Return Easter Sunday of the western churches, by the algorithm of Meeus, Jones and Butcher."""
    golden, (century, rest) = year % 19, divmod(year, 100)
    skipped = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + century - century // 4 - skipped + 15) % 30
    shift = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    late = (golden + 11 * epact + 22 * shift) // 451
    month, day = divmod(epact + shift - 7 * late + 114, 31)
    return date(year, month, day + 1)


def lunar(year: int, month: int, day: int) -> date:
    """Return a day of the Chinese calendar; one past the end of its month is its last. Raises ValueError: none."""
    from borax.calendars.lunardate import InvalidLunarDateError, LCalendars, LunarDate  # it takes long to import

    try:
        found: date = LunarDate(year, month, min(day, LCalendars.ndays(year, month))).to_solar_date()
    except InvalidLunarDateError as error:
        raise ValueError("no such day of the moon") from error
    return found


def solar_term(year: int, name: str) -> date:
    """Return the day of one of the 24 terms of the Chinese year. Raises ValueError: none."""
    from borax.calendars.lunardate import TermUtils

    found: date = TermUtils.day_start_from_term(year, name)
    return found


def feast(rule: str, year: int) -> Span:
    """Return a feast of a year by its rule. Raises ValueError where it has none.

    "12-24 12-26" is a day or days of the year, "easter -47" counts from Easter, "5 6 2" is the second Sunday (6) of
    May, "5 0 -1" its last Monday, "lunar 8-15" a day of the moon (12-99: the last one), "term 清明" a solar term.
    """
    kind, *rest = rule.split()
    if kind == "easter":
        days = [days_on(easter(year), int(count)) for count in rest or ["0"]]
        return Span(days[0], days[-1])
    if kind == "lunar":
        days = [lunar(year - (each == "12-99"), *map(int, each.split("-"))) for each in rest]
        return Span(days[0], days[-1])
    if kind == "term":
        return day_span(solar_term(year, rest[0]))
    if "-" in kind:
        days = [date(year, *map(int, each.split("-"))) for each in (kind, *rest)]
        return Span(days[0], days[-1])
    month, weekday, number = int(kind), int(rest[0]), int(rest[1])
    return day_span(days_on(nth_weekday(month_of(year, month), weekday, number), int(rest[2]) if rest[2:] else 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """What comes again and again: on weekdays (0 for Monday), on a day of the month or of the year, or each day.

    number: of the weekday in its month, -1 for the last one; 0 for each week. day, month: 0 for any. lunar: whether the
    day and the month are those of the Chinese calendar. phase: a day from which every second week is counted.
    known: whether the words say when it comes; "every three weeks" does not.
    """

    weekdays: frozenset[int] = frozenset()
    number: int = 0
    day: int = 0
    month: int = 0
    lunar: bool = False
    known: bool = True
    rule: str = ""

    @property
    def is_rare(self) -> bool:
        """Whether it comes on few days of a week, so that the next one is news."""
        return bool(self.day or self.rule) or 0 < len(self.weekdays) <= _FEW_DAYS

    def after(self, day: date) -> date | None:
        """Return the first time behind a day; None where it is unknown."""
        return next((each for each in self._from(day) if each > day), None) if self.known else None

    def _from(self, day: date) -> Iterator[date]:
        if self.rule:
            yield from (feast(self.rule, year).first for year in range(day.year, day.year + 2))
        elif self.lunar:
            for year in range(day.year - 1, day.year + 2):
                yield lunar(year, self.month, self.day)
        elif self.weekdays and self.number:
            for count in range(2 * DECEMBER):
                month = months_on(day.replace(day=1), count)
                if self.month in (0, month.month):
                    span = month_of(month.year, month.month)
                    yield min(nth_weekday(span, weekday, self.number) for weekday in self.weekdays)
        elif self.day:
            for count in range(_YEARS_AHEAD * DECEMBER):
                month = months_on(day.replace(day=1), count)
                if self.month in (0, month.month) and self.day <= monthrange(month.year, month.month)[1]:
                    yield month.replace(day=self.day)
        else:
            days = (days_on(day, count) for count in range(1, A_WEEK + 1))
            yield from (each for each in days if not self.weekdays or each.weekday() in self.weekdays)
