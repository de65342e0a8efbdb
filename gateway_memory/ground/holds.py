"""When a line holds: on a day, until a day, or again and again; and the day that is written at its end.

A line says itself when it holds, so that its file is true for whoever reads it: "I have a dentist appointment tomorrow
at 3pm (Sunday 29 November 2026)". The words stay as they were said; the note at the end is read before them, and
whoever changes it by hand changes when the line holds.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Final

from gateway_memory.ground.calendar import DECEMBER, Every, Span, day_span, month_of, season_of, year_of
from gateway_memory.ground.dates import Mention, mentions, read_every
from gateway_memory.ground.expressions import WEEKDAYS
from gateway_memory.ground.notes import MONTHS, SEASONS, WEEKDAY_NAMES, every_of, note_of
from gateway_memory.ground.tables import has_han
from gateway_memory.ground.tense import (
    begins,
    clause_of,
    following,
    is_from,
    is_habit,
    is_past,
    is_surely_past,
    is_told_today,
    returns,
    time_of,
)

_NOTE: Final = re.compile(r"\s*(?:[(]([^()（）]{4,160})[)]|（([^()（）]{4,160})）)\s*\Z")
_ANY_WEEKDAY: Final = rf"(?:(?:{'|'.join(WEEKDAY_NAMES)}) )?"
_ANY_MONTH: Final = "|".join(MONTHS)
_SPAN: Final = re.compile(
    rf"(?P<until>until )?{_ANY_WEEKDAY}(?:(?P<day>\d{{1,2}})(?: (?P<month>{_ANY_MONTH}))?(?: (?P<year>\d{{4}}))? ?– ?)?"
    rf"{_ANY_WEEKDAY}(?:(?P<last_day>\d{{1,2}}) )?(?:(?P<last_month>{_ANY_MONTH}) )?(?P<last_year>\d{{4}})"
    r"(?:, (?P<time>\d\d:\d\d))?"
)
_HAN_SPAN: Final = re.compile(
    r"(?P<until>至)?(?P<year>\d{4})年(?:(?P<month>\d{1,2})月(?:(?P<day>\d{1,2})日(?:星期[一二三四五六日])?"
    r"(?:至(?:(?P<last_year>\d{4})年)?(?:(?P<last_month>\d{1,2})月)?(?P<last_day>\d{1,2})日)?)?)?"
    r"(?: (?P<time>\d\d:\d\d))?"
)
_MOST_NOTED: Final = 3
_TWO_MONTHS: Final = 62
_REMEMBERED: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds:
    """When something holds; with nothing set, always.

    on: the days on which it happens, the earliest first. until: the last day of what is so for a time. every: when it
    comes again; if it begins, from the first day of `on`. time: of the day, "15:00", or "". begins: whether it begins
    on its day and goes on. behind: whether it is told as past, so that it stays true. unsure: whether it names a day
    that nobody could tell. exact: whether its words give the day and the year.
    """

    on: tuple[Span, ...] = ()
    until: date | None = None
    every: Every | None = None
    time: str = ""
    begins: bool = False
    behind: bool = False
    unsure: bool = False
    exact: bool = False

    @property
    def last(self) -> date | None:
        """The last day on which it holds; None where it has none."""
        if self.until is not None:
            return self.until
        if not self.on or self.behind or self.begins or self.every:
            return None
        return max(span.last for span in self.on)

    @property
    def passes(self) -> bool:
        """Whether it belongs to the log of a day: it happens on a day, ends on one, or on one that nobody can tell."""
        return bool(self.until or (self.on and not self.begins) or self.unsure) and self.every is None

    def is_over(self, today: date) -> bool:
        """Return whether it held, and holds no more."""
        return self.last is not None and self.last < today

    def coming(self, today: date) -> Span | None:
        """Return when it happens next, today or later; None where nothing is ahead."""
        if self.every is not None:
            first = max([today, *(span.first for span in self.on[:1] if self.begins)])
            found = self.every.after(date.fromordinal(first.toordinal() - 1))
            return day_span(found) if found else None
        if self.behind:
            return None
        ahead = [span for span in self.on if span.last >= today]
        return ahead[0] if ahead else None


def holds_of(text: str, day: date, *, standing: bool = False) -> Holds:
    """Return when a line of a day holds: by the note at its end, else by its words.

    standing: whether it is a standing wish, whose weekday is that of every week.
    """
    return _holds_of(text, day, standing)


def event_in(text: str, day: date) -> str:
    """Return the clause of a line of a day that names the one day of which it tells, beside others; else ""."""
    words = plain_of(text)
    named = mentions(words, day)
    clause = clause_of(words, named[0]) if len(named) == 1 else ""
    is_one_day = clause and named[0].spans and not (named[0].unsure or named[0].bound or is_habit(words, named[0]))
    return clause if is_one_day and clause != words.strip(" .。!！") else ""


def is_over(text: str, stated: date, today: date) -> bool:
    """Return whether a text of a day tells of a time from that day on which is over today: "my flight is on Friday"."""
    return holds_of(text, stated).is_over(today)


def is_over_whenever_said(text: str, today: date) -> bool:
    """Return whether a line of which nobody knows when it was said tells of a time that is over: it names its days.

    What it tells as past stays true.
    """
    holds = holds_of(text, today)
    if not holds.exact:
        return False
    if holds.until is not None:
        return holds.until < today
    return holds.behind and not holds.begins and not any(is_past(text, each) for each in mentions(text, today))


def is_history(text: str, stated: date, today: date) -> bool:
    """Return whether a text of a day tells of what was on a day: it is over, or was behind when it was told."""
    holds = holds_of(text, stated)
    return holds.is_over(today) or (holds.behind and not holds.begins)


def coming(text: str, stated: date, today: date) -> Span | None:
    """Return the days, today or later, of which a text of a day tells as what is ahead; None where it tells of none.

    What comes again and again is not ahead, nor is a stretch of more than two months.
    """
    holds = holds_of(text, stated)
    if holds.every is not None:
        return None
    span = holds.coming(today)
    if span is None or span.days > _TWO_MONTHS:
        return None
    return span if span.is_month else Span(max(span.first, today), span.last)


@lru_cache(maxsize=_REMEMBERED)  # openings and reply blocks ask it of the same lines
def _holds_of(text: str, day: date, standing: bool) -> Holds:  # noqa: FBT001 - a key of the cache
    words = plain_of(text)
    note = text[len(words) :]
    said = _said(words, day, standing=standing)
    if not note:
        return said
    return _noted(note, replace(said, exact=True), day)


def _said(words: str, day: date, *, standing: bool) -> Holds:
    named = mentions(words, day)
    every = next((each for mention in named if (each := mention.every) and each != Every()), None)
    on: list[tuple[Span, bool]] = []
    until: date | None = None
    unsure, exact, began = False, True, False
    before: Span | None = None
    for mention in named:
        if mention.every:
            continue
        past = is_past(words, mention)
        span = _meant(words, mention, day, past=past, before=before)
        past = past or (span == day_span(day) and is_told_today(words))
        start = is_from(words, mention)
        if span is None:
            unsure = True
        elif mention.weekday and not (mention.bound or past) and (standing or is_habit(words, mention)):
            every = every or Every(weekdays=frozenset({span.first.weekday()}))
        elif mention.bound == "until":
            until, exact = max(span.last, until or span.last), exact and mention.exact
        else:
            on.append((span, past))
            exact = exact and mention.exact
            began = began or mention.bound == "since" or start == "starting" or (start == "from" and every is not None)
            before = span
    spans = _closest(span for span, _ in on)
    behind = bool(spans) and all(span.last < day or (past and span.first <= day) for span, past in on)
    begins_then = bool(spans) and until is None and (began or begins(words, named))
    if every is not None:
        return Holds(
            on=() if exact else spans,
            every=every,
            until=until,
            exact=exact,
            time=time_of(words),
            begins=begins_then and not behind,
        )
    return Holds(
        on=spans,
        until=until,
        time=time_of(words) if spans and spans[0].days == 1 else "",
        begins=begins_then,
        behind=behind and until is None,
        unsure=unsure and not (spans or until),
        exact=exact,
    )


def _meant(words: str, mention: Mention, day: date, *, past: bool, before: Span | None) -> Span | None:
    """Return the span that a mention means; None: unsure. before: the one that was named in front of it."""
    if mention.after:
        return following(before, mention.after) if before else None
    this = words[mention.start : mention.end].lower().startswith("this ")  # "this February", of a past verb
    surely = this or mention.bound == "since" or is_surely_past(words, mention)
    span = mention.meant(day, past=past, surely=surely)
    if span and before and span.last < before.first and not past and returns(words, mention):
        return following(before, WEEKDAYS[span.first.weekday()])
    return span


def _closest(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return spans in order, without those in which another one lies: "tomorrow" tells more than "this week"."""
    known = sorted(set(spans))
    return tuple(
        span
        for span in known
        if not any(other != span and span.first <= other.first and other.last <= span.last for other in known)
    )


def _noted(note: str, said: Holds, day: date) -> Holds:
    """Return when a line with a note holds; the words tell what the note leaves open."""
    spans, until, time, every = [], None, said.time, None
    for part in re.split(r"[;；]\s*", _inner(note)):
        if (again := read_every(part)) is not None:
            every = again
            continue
        span, is_end, at = _span_of(part)
        time = at or time
        if is_end:
            until = span.last
        else:
            spans.append(span)
    on = tuple(sorted(spans))
    if every is not None:
        return replace(said, every=every, on=on, until=until, time=time, unsure=False)
    behind = (bool(on) and on[-1].last < day) or (said.behind and bool(on) and on[-1].first <= day)
    return replace(said, on=on, until=until, time=time, behind=behind, begins=said.begins and bool(on), unsure=False)


def _inner(note: str) -> str:
    return note.strip().strip("()（）").strip()


@lru_cache(maxsize=_REMEMBERED)
def plain_of(text: str) -> str:
    """Return a line without the note at its end."""
    match = _NOTE.search(text)
    if match is None or not match.start():
        return text
    try:
        for part in re.split(r"[;；]\s*", (match[1] or match[2]).strip()):
            if read_every(part) is None:
                _span_of(part)
    except ValueError:
        return text
    return text[: match.start()]


def noted_days(text: str) -> tuple[Span, ...]:
    """Return the days that the note at the end of a line tells, until which it holds or on which it happens."""
    note = text[len(plain_of(text)) :]
    parts = re.split(r"[;；]\s*", _inner(note)) if note else []
    return tuple(_span_of(part)[0] for part in parts if read_every(part) is None)


def _span_of(text: str) -> tuple[Span, bool, str]:
    """Return the span that a note tells, whether it is an end, and the time. Raises ValueError: it tells none."""
    for number, (english, chinese) in enumerate(SEASONS):
        if match := re.fullmatch(rf"{english} (\d{{4}})|(\d{{4}})年{chinese}", text):
            return season_of(int(match[1] or match[2]), 3 * number + 3), False, ""
    match = _SPAN.fullmatch(text) or _HAN_SPAN.fullmatch(text)
    if match is None:
        raise ValueError("no day")
    parts = match.groupdict()
    if match.re is _HAN_SPAN:
        year, month, day = int(parts["year"]), parts["month"], parts["day"]
        span = _whole(year, month, day)
        if parts["last_day"]:
            last = date(int(parts["last_year"] or year), int(parts["last_month"] or month), int(parts["last_day"]))
            span = Span(span.first, last)
    else:
        year = int(parts["last_year"])
        month = str(MONTHS.index(parts["last_month"]) + 1) if parts["last_month"] else None
        span = _whole(year, month, parts["last_day"])
        if parts["day"]:
            first_month = MONTHS.index(parts["month"]) + 1 if parts["month"] else int(month or 1)
            span = Span(date(int(parts["year"] or year), first_month, int(parts["day"])), span.last)
    return span, bool(parts["until"]), parts["time"] or ""


def _whole(year: int, month: str | None, day: str | None) -> Span:
    if month is None:
        return year_of(year)
    return day_span(date(year, int(month), int(day))) if day else month_of(year, int(month))


def dated(text: str, day: date, *, standing: bool = False) -> str:
    """Return a line of a day with the days that it tells at its end, unless its words or a note give them."""
    holds = holds_of(text, day, standing=standing)
    if holds.exact or plain_of(text) != text:
        return text
    line = with_note(text, holds)
    return text if _inner(line[len(text.rstrip()) :]) in text else line


def with_note(text: str, holds: Holds) -> str:
    """Return a line with when it holds at its end, in its own language, in the place of another note."""
    chinese = is_chinese(text)
    notes = [note_of(span, chinese=chinese) for span in holds.on[:_MOST_NOTED]]
    if holds.time and len(notes) == 1 and not time_of(plain_of(text)):
        notes[0] += f" {holds.time}" if chinese else f", {holds.time}"
    if holds.until is not None:
        end = note_of(day_span(holds.until), chinese=chinese)
        notes.append(f"至{end}" if chinese else f"until {end}")
    if holds.every is not None and read_every(text) is None:
        notes += filter(None, [every_of(holds.every, chinese=chinese)])
    if not any(notes):
        return text
    words = plain_of(text).rstrip()
    return f"{words}（{'；'.join(notes)}）" if chinese else f"{words} ({'; '.join(notes)})"


def is_chinese(text: str) -> bool:
    """Return whether a note to a text is written in Chinese."""
    return 2 * sum(map(has_han, text)) > len(re.findall(r"[A-Za-z]+", text))


def given(*, on: str = "", until: str = "", every: str = "") -> Holds:
    """Return when something holds as a caller gives it.

    on: a day, a day and a time, or a span: "2026-11-29", "2026-11-29 15:00", "2026-11-29/2026-12-03". until: a day.
    every: "tuesday", "monday and thursday", "day", "5" of each month, "14 March" or "03-14" of each year.

    Raises:
        ValueError: one of them says no such thing; the message says which, and what is expected.
    """
    spans, time = _given_days(on) if on else ((), "")
    ends: date | None = None
    if until:
        try:
            ends = date.fromisoformat(until)
        except ValueError as error:
            raise ValueError("until: expected a day as YYYY-MM-DD") from error
    again = _given_every(every) if every else None
    return Holds(on=spans, until=ends, every=again, time=time, exact=not (on or until or every))


def _given_days(on: str) -> tuple[tuple[Span, ...], str]:
    first, _, last = on.partition("/")
    day, _, time = first.strip().replace("T", " ").partition(" ")
    try:
        start = date.fromisoformat(day)
        end = date.fromisoformat(last.strip()) if last else start
    except ValueError:
        start, end = date.max, date.min
    if end < start or (time and not re.fullmatch(r"(?:[01]\d|2[0-3]):[0-5]\d", time)):
        raise ValueError("on: expected YYYY-MM-DD, YYYY-MM-DD HH:MM, or YYYY-MM-DD/YYYY-MM-DD for several days")
    return (Span(start, end),), time


def _given_every(text: str) -> Every:
    plain = text.strip().lower()
    if match := re.fullmatch(r"(?:(\d{1,2})-)?(\d{1,2})", plain):
        every = Every(month=int(match[1] or 0), day=int(match[2]))
        if every.month <= DECEMBER and 1 <= every.day <= 31 and every.after(date(2026, 1, 1)):  # noqa: PLR2004
            return every
    elif found := read_every(plain) or read_every(f"every {plain}") or read_every(f"每{plain}"):
        return found
    raise ValueError('every: expected weekdays ("tuesday"), "day", a day of the month ("5") or of the year ("03-14")')
