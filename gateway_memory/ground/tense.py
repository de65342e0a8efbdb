"""What the words around a day say of it: that it is past, a habit, from then on, or at an hour."""

import re
from collections.abc import Iterable
from typing import Final, Literal

from gateway_memory.ground.calendar import A_WEEK, DECEMBER, Span, day_span, days_on, month_of, months_on, week_of
from gateway_memory.ground.dates import Mention
from gateway_memory.ground.expressions import PATTERNS, TABLE, WEEKDAYS, number_of

_CLAUSE_END: Final = re.compile(r"[.!?;,\n。！？；，](?!\d)")


def is_past(text: str, mention: Mention) -> bool:
    """Return whether the nearest verb in front of a mention, else behind it, tells of what is behind."""
    if mention.bound or not mention.spans:
        return mention.bound == "since"
    front, back = _clause(text, mention)
    told = is_surely_past(text, mention) or _is_past(front, first=False)
    return bool(_is_past(back, first=True) if told is None else told)


def is_surely_past(text: str, mention: Mention) -> bool:
    """Return whether a mention is a clause of its own before one of the past: "At the New Year's Eve party, we baked".

    In "we were thinking of Easter", it may be the coming one.
    """
    front, back = _clause(text, mention)
    alone = PATTERNS["alone"].match(front) and PATTERNS["alone behind"].match(back) and not mention.bound
    return bool(alone and _is_past(_clause_behind(text, mention), first=True))


def _is_past(text: str, *, first: bool) -> bool | None:
    """Return whether the first verb of a text, else the last one, tells of what is behind; None: it has none."""
    ahead, past = _matches("ahead", text), _matches("past", text)
    if not (ahead or past):
        return None
    if first:
        return min(past, default=(len(text), 0)) < min(ahead, default=(len(text), 0))
    past = [each for each in past if not any(one[0] <= each[0] < one[1] for one in ahead)]
    return max(past, default=(-1, -1)) > max(ahead, default=(-1, -1))


def _clause_behind(text: str, mention: Mention) -> str:
    """Return the clause behind that of a mention; "" where its sentence ends before."""
    end = _CLAUSE_END.search(text, mention.end)
    if end is None or end[0] not in ",，":
        return ""
    following = _CLAUSE_END.search(text, end.end())
    return text[end.end() : following.start() if following else len(text)].lower()


def _clause(text: str, mention: Mention) -> tuple[str, str]:
    """Return the words of a mention's clause in front of it, and those behind it, in lower case."""
    start, end = _bounds(text, mention)
    return text[start : mention.start].lower(), text[mention.end : end].lower()


def clause_of(text: str, mention: Mention) -> str:
    """Return the clause in which a mention stands."""
    start, end = _bounds(text, mention)
    return text[start:end].strip()


def _bounds(text: str, mention: Mention) -> tuple[int, int]:
    start = max((match.end() for match in _CLAUSE_END.finditer(text, 0, mention.start)), default=0)
    end = _CLAUSE_END.search(text, mention.end)
    return start, end.start() if end else len(text)


def _matches(name: str, text: str) -> list[tuple[int, int]]:
    return [match.span() for match in PATTERNS[name].finditer(text)]


def is_told_today(text: str) -> bool:
    """Return whether a text of today tells of what was done already: "we got a dog today"."""
    return bool(PATTERNS["past today"].search(text))


def following(span: Span, unit: str) -> Span:
    """Return the weekday, or the day, week, weekend or month, behind a span: "the Sunday after"."""
    if unit == "week":
        return week_of(span.last, 1)
    if unit == "month":
        first = months_on(span.last.replace(day=1), 1)
        return month_of(first.year, first.month)
    if unit == "day":
        return day_span(days_on(span.last, 1))
    weekday = WEEKDAYS.index("sat" if unit == "weekend" else unit[:3].lower())
    first = days_on(span.last, (weekday - span.last.weekday() - 1) % A_WEEK + 1)
    return Span(first, days_on(first, unit == "weekend"))


def is_habit(text: str, mention: Mention) -> bool:
    """Return whether the clause of a mention tells of a habit, so that its weekday is that of every week."""
    return any(PATTERNS["habit"].search(part) for part in _clause(text, mention))


def begins(text: str, named: Iterable[Mention] = ()) -> bool:
    """Return whether a text tells of something that begins, and holds from its day on.

    named: its times. What only moves to one of them does not begin ("moved to Wednesday"), and what comes again does so
    from its start on ("I start Pilates this week, every Wednesday").
    """
    times = list(named)
    if any(each.every for each in times) and PATTERNS["starts"].search(text):
        return True
    return any(
        not any(match.end() <= each.start and text[match.end() : each.start] in ("", " ", " the ") for each in times)
        for match in PATTERNS["begins"].finditer(text)
    )


def is_from(text: str, mention: Mention) -> Literal["", "starting", "from"]:
    """Return whether something is so from a mention on: "starting" tomorrow, or perhaps: "from" next week."""
    before, behind = text[: mention.start].lower(), text[mention.end :].lower()
    if PATTERNS["starting"].search(before) or PATTERNS["starting behind"].match(behind):
        return "starting"
    return "from" if PATTERNS["from"].search(before) else ""


def returns(text: str, mention: Mention) -> bool:
    """Return whether somebody comes back then, from where the words before it have told of."""
    before, behind = text[: mention.start].lower(), text[mention.end :]
    return bool(mention.weekday and (PATTERNS["returns"].search(before) or PATTERNS["returns behind"].match(behind)))


def time_of(text: str) -> str:
    """Return the time of day that a text tells, "15:00"; "" if it tells none, or several, or nobody could say which."""
    read: list[re.Match[str]] = []
    for _, pattern in TABLE.compiled("times"):
        read += [
            each
            for each in pattern.finditer(text)
            if not any(each.start() < one.end() and one.start() < each.end() for one in read)
        ]
    times = set(map(_clock, read))
    return times.pop() if len(times) == 1 else ""


_HALVES: Final = dict(TABLE.compiled("halves"))
_SECOND_HALF: Final = {"中": (1, 5), "下": (1, 11), "傍": (4, 11), "晚": (6, 11), "夜": (6, 11)}
"""The hours that are those of the second half of the day behind such a word: 晚上一点 is one in the night."""
_SMALL_HOURS, _LAST_OPEN_HOUR = 5, 7
"""Without a half of the day, an hour up to the first is of the afternoon, and one up to the second is left open."""


def _clock(match: re.Match[str]) -> str:
    parts = match.groupdict()
    hour, half = number_of(parts["hour"]), (parts.get("half") or "").lower().replace(".", "")
    minute = 30 if parts.get("thirty") else int(parts.get("minute") or 0)
    if half == "am":
        hour %= DECEMBER
    elif half == "pm":
        hour = hour % DECEMBER + DECEMBER
    elif half:
        first, last = _SECOND_HALF.get(half[0], (DECEMBER, 0))
        hour += DECEMBER * (first <= hour <= last)
    elif hour < DECEMBER and parts["hour"][0] != "0":
        is_second = _is_in_second_half(match, hour)
        if is_second is None:
            return ""
        hour += DECEMBER * is_second
    return f"{hour % 24:02}:{minute:02}"


def _is_in_second_half(match: re.Match[str], hour: int) -> bool | None:
    """Return whether an hour is one of the second half of the day, by what stands around it; None: nobody could say."""
    nearest = {
        name: max((found.end() for found in pattern.finditer(match.string.lower(), 0, match.start())), default=-1)
        for name, pattern in _HALVES.items()
    }
    if max(nearest.values()) >= 0:
        return nearest["second"] > nearest["first"]
    if _HALVES["second"].search(match.string.lower(), match.end()):
        return True
    return None if _SMALL_HOURS < hour <= _LAST_OPEN_HOUR else hour <= _SMALL_HOURS
