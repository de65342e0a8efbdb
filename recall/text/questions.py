"""Questions about the past: the days that a message asks about, and what was said on them."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, NamedTuple

from gateway_memory.ground.calendar import A_WEEK
from gateway_memory.ground.calendar import Span as Days
from gateway_memory.ground.dates import Mention, mentions
from recall.tables import table


class Span(NamedTuple):
    """Epoch seconds, start <= t < end, and a weight: 1 for a day, less for a month, little for a year."""

    start: float
    end: float
    weight: float


_LONGEST = 500
_DAY, _WEEK, _MONTH, _YEAR, _TODAY = 1.0, 0.8, 0.7, 0.2, 0.2
_MOST = 8


def spans_of(text: str, now: float, zone: tzinfo | None) -> tuple[Span, ...]:
    """Return the spans of time that a text names, seen from `now` (epoch seconds); `zone` None is the machine's own.

    A question looks back: of what may mean several days, those that have come count.
    """
    today = datetime.fromtimestamp(now, UTC).astimezone(zone).date()
    spans = (_span(days, mention.slack, today, zone) for mention, days in _looking_back(text[:_LONGEST], today))
    return tuple(dict.fromkeys(spans))[:_MOST]


def _looking_back(text: str, today: date) -> Iterator[tuple[Mention, Days]]:
    for mention in mentions(text, today):
        if mention.weekday:  # "on Friday" is the last one
            yield mention, mention.spans[0]
            continue
        begun = [days for days in mention.spans if days.first <= today]
        for days in reversed(begun if len(mention.spans) > 1 else mention.spans):
            yield mention, days


def _span(days: Days, slack: int, today: date, zone: tzinfo | None) -> Span:
    first, last = days.first - timedelta(days=slack), days.last + timedelta(days=slack)
    weight = (
        _YEAR if days.days > _LONGEST_MONTH else _MONTH if days.days > A_WEEK else _WEEK if days.days > _FEW else _DAY
    )
    if days == Days(today, today):  # messages often say it without asking for a memory of today
        weight = _TODAY
    return Span(_epoch(first, zone), _epoch(last + timedelta(days=1), zone), weight)


def _epoch(day: date, zone: tzinfo | None) -> float:
    """Return when a day begins. A time without a zone is the machine's own."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()


_LONGEST_MONTH, _FEW = 62, 3
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
