"""The days that a message names, such as "last Tuesday" and 上周五, and questions about what was said on them."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from recall.tables import table


class Span(NamedTuple):
    """Epoch seconds, start <= t < end, and a weight: 1 for a day, less for a month, little for a year."""

    start: float
    end: float
    weight: float


_TABLE = table("dates")
((_, _CUE),) = _TABLE.compiled("cues", flags=0)
_PATTERNS = _TABLE.compiled("spans", flags=0)
_NAMED = {name: (unit, int(count)) for (unit, count), names in _TABLE.rows("named") for name in names}
_UNITS = {name: unit for (unit,), names in _TABLE.rows("units") for name in names}
_NUMBERS = {word: int(number) for (number,), words in _TABLE.rows("numbers") for word in words}
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_WEEKDAYS = "mon tue wed thu fri sat sun".split()
_YEARS = ("今年", "去年", "前年")
_LONGEST = 500
_DAY, _WEEK, _MONTH, _YEAR = 1.0, 0.8, 0.7, 0.2


def spans_of(text: str, now: float, zone: tzinfo | None) -> tuple[Span, ...]:
    """Return the spans of time that a text names, seen from `now` (epoch seconds); `zone` None is the machine's own."""
    text = text[:_LONGEST].lower()
    if not _CUE.search(text):  # as in most messages
        return ()
    today = datetime.fromtimestamp(now, UTC).astimezone(zone).date()
    spans: list[Span] = []
    taken: list[tuple[int, int]] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            days = list(_days(kind, match, today))
            if days:
                taken.append(match.span())
            spans.extend(
                Span(_epoch(first, zone), _epoch(last + timedelta(days=1), zone), weight)
                for first, last, weight in days
            )
    return tuple(spans[:8])


def _days(kind: str, match: re.Match[str], today: date) -> Iterator[tuple[date, date, float]]:
    read = {"date": _dates, "ago": _ago, "named": _named, "weekday": _weekday}[kind]
    # 31 February and the like name no day.
    with suppress(ValueError, OverflowError):
        yield from read(match, today)


def _dates(match: re.Match[str], today: date) -> Iterator[tuple[date, date, float]]:
    groups = match.groupdict()
    year, month, day = (groups.get(name) for name in ("year", "month", "day"))
    number = None if not year else today.year - _YEARS.index(year) if year in _YEARS else int(year)
    if month is None:
        assert number is not None
        yield date(number, 1, 1), date(number, 12, 31), _YEAR
        return
    of_year = _MONTHS.index(month[:3]) + 1 if month[0].isascii() and month[0].isalpha() else _number(month)
    # Without a year: this year, unless that is in the future, and the two years before.
    for possible in (number,) if number else (today.year, today.year - 1, today.year - 2):
        first = date(possible, of_year, _number(day) if day else 1)
        if number is None and first > today:
            continue
        yield (first, first, _DAY) if day else (first, _month_end(first), _MONTH)


def _ago(match: re.Match[str], today: date) -> Iterator[tuple[date, date, float]]:
    number = _number(match["count"])
    unit = _UNITS.get(match["unit"], match["unit"])
    if unit == "year":
        yield date(today.year - number, 1, 1), date(today.year - number, 12, 31), _YEAR
        return
    days, slack, weight = {
        "day": (number, number // 4, _DAY),
        "week": (7 * number, 4, _WEEK),
        "month": (30 * number, 16, _MONTH),
    }[unit]
    day = today - timedelta(days=days)
    yield day - timedelta(days=slack), day + timedelta(days=slack), weight


def _named(match: re.Match[str], today: date) -> Iterator[tuple[date, date, float]]:
    unit, count = _NAMED[match["name"]]
    first = today + timedelta(days=count)
    monday = today - timedelta(days=today.weekday())
    if unit == "day":
        yield first, first, _DAY
    elif unit == "today":  # messages often say it without asking for a memory of today
        yield first, first, _YEAR
    elif unit == "weekend":
        yield monday - timedelta(days=2), monday - timedelta(days=1), _DAY
    elif unit == "week":
        first = monday + timedelta(weeks=count)
        yield first, first + timedelta(days=6), _WEEK
    elif unit == "month":
        first = today.replace(day=1)
        if count:
            first = (first - timedelta(days=1)).replace(day=1)
        yield first, _month_end(first), _MONTH
    else:
        yield date(today.year + count, 1, 1), date(today.year + count, 12, 31), _YEAR


def _weekday(match: re.Match[str], today: date) -> Iterator[tuple[date, date, float]]:
    name = match["weekday"]
    wanted = _WEEKDAYS.index(name[:3]) if name.isascii() else min(6, "一二三四五六日天".index(name))
    if match.groupdict().get("last") == "上":
        # 上周五 is the Friday of last week; "last Friday" the one before today.
        day = today - timedelta(days=today.weekday() + 7 - wanted)
    else:
        day = today - timedelta(days=(today.weekday() - wanted) % 7 or 7)
    yield day, day, _DAY


def _number(text: str) -> int:
    text = text.removeprefix("a ")
    if text.isdigit():
        return int(text)
    if text in _NUMBERS:
        return _NUMBERS[text]
    tens, ten, ones = text.rpartition("十")
    if not ten or {tens, ones} - {"", *_NUMBERS}:
        raise ValueError(text)
    return (_NUMBERS[tens] if tens else 1) * 10 + (_NUMBERS[ones] if ones else 0)


def _month_end(first: date) -> date:
    return (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


def _epoch(day: date, zone: tzinfo | None) -> float:
    """Return when a day begins. A time without a zone is the machine's own."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()


_MESSAGES: Final = table("messages")
_ASKED: Final = _MESSAGES.patterns()
_TALKED: Final = _MESSAGES.patterns("exact", flags=0)
_LONGEST_QUESTION_OF_PAST = 120


def looks_back(text: str) -> bool:
    """Return whether a message is a short question about the past, for which recency says nothing."""
    return _is_question(text, "past")


def asks_what_was(text: str) -> bool:
    """Return whether a message is a short question about what was, so that what is over answers it too."""
    return _is_question(text, "over")


def _is_question(text: str, of: str) -> bool:
    text = text.strip()
    return len(text) <= _LONGEST_QUESTION_OF_PAST and text.endswith(("?", "？")) and bool(_ASKED[of].search(text))


# Questions about what was said at a time: "What did we talk about last Tuesday?", "上周三我们聊了什么".

_LONGEST_QUESTION_OF_TALK: Final = 160
_LONGEST_SECONDS: Final = 32 * 86400
_SENTENCE: Final = re.compile(r"[^.!?。！？]+[.!?。！？]*")


def talk_of(text: str, now: float, zone: tzinfo | None) -> Span | None:
    """Return the past time whose talk a message asks for, None where it asks for none.

    The time is a day, a week or a month; a date without a year is the last one. `now`: epoch seconds.
    """
    text = text.strip().lower()
    if len(text) > _LONGEST_QUESTION_OF_TALK:
        return None
    for sentence in filter(_asks, _SENTENCE.findall(text)):
        spans = [span for span in spans_of(sentence, now, zone) if span.end - span.start <= _LONGEST_SECONDS]
        if spans:
            return next((span for span in spans if span.start <= now), None)
    return None


def _asks(sentence: str) -> bool:
    if _TALKED["talked"].search(sentence):
        return bool(_TALKED["talk asked"].search(sentence))
    asks = _TALKED["talked Chinese"].search(sentence) and _TALKED["talk asked Chinese"].search(sentence)
    return bool(asks) and not _TALKED["with others"].search(sentence)
