"""The note at the end of a line that says its days, in the words' own language."""

from typing import Final

from gateway_memory.ground.calendar import Every, Span, month_of, season_of, year_of

MONTHS: Final = "January February March April May June July August September October November December".split()
WEEKDAY_NAMES: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
HAN_WEEKDAYS: Final = "一二三四五六日"
SEASONS: Final = (("spring", "春天"), ("summer", "夏天"), ("autumn", "秋天"), ("winter", "冬天"))


def note_of(span: Span, *, chinese: bool) -> str:
    """Return a span in words: "Sunday 29 November 2026", "3–12 April 2027", 2026年11月29日星期日."""
    first = span.first
    if span == year_of(first.year):
        return f"{first.year}年" if chinese else str(first.year)
    if span == month_of(first.year, first.month):
        return f"{first.year}年{first.month}月" if chinese else f"{MONTHS[first.month - 1]} {first.year}"
    if span == season_of(first.year, first.month):
        season = SEASONS[first.month // 3 - 1]
        return f"{first.year}年{season[1]}" if chinese else f"{season[0]} {first.year}"
    return _chinese(span) if chinese else _english(span)


def _chinese(span: Span) -> str:
    first, last = span.first, span.last
    start = f"{first.year}年{first.month}月{first.day}日"
    if first == last:
        return f"{start}星期{HAN_WEEKDAYS[first.weekday()]}"
    year = f"{last.year}年" if last.year != first.year else ""
    month = f"{last.month}月" if year or last.month != first.month else ""
    return f"{start}至{year}{month}{last.day}日"


def _english(span: Span) -> str:
    first, last = span.first, span.last
    end = f"{last.day} {MONTHS[last.month - 1]} {last.year}"
    if first == last:
        return f"{WEEKDAY_NAMES[first.weekday()]} {end}"
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}–{end}"
    year = f" {first.year}" if first.year != last.year else ""
    return f"{first.day} {MONTHS[first.month - 1]}{year} – {end}"


def every_of(every: Every, *, chinese: bool) -> str:
    """Return what recurs in words: "every Tuesday", 每月5日; "" where they say no more than that it does."""
    if every.lunar or not every.known or every.rule:
        return ""
    if every.day and every.month:
        return f"每年{every.month}月{every.day}日" if chinese else f"every {every.day} {MONTHS[every.month - 1]}"
    if every.day:
        return f"每月{every.day}日" if chinese else f"on the {_ordinal(every.day)} of every month"
    if not every.weekdays:
        return "每天" if chinese else "every day"
    days = sorted(every.weekdays)
    if chinese:
        return "每周" + "、".join(HAN_WEEKDAYS[day] for day in days)
    return "every " + " and ".join(WEEKDAY_NAMES[day] for day in days)


def _ordinal(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")  # noqa: PLR2004
    return f"{number}{suffix}"
