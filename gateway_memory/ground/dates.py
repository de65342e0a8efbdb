"""Read the days that a text names, in English and Chinese, as a careful listener does who knows the day it was said.

The only reader of dates: what a memory holds for, what a question asks about, and what a model may date are all read
here. A mention keeps every span that it may mean; who says "on Monday" means the coming one, unless the words tell of
what is behind. Where a listener would have to ask, it is unsure, and no day is told.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from typing import Any, Final, Literal

from gateway_memory.ground.calendar import A_MONTH, A_WEEK, Every, Span, day_span, days_on
from gateway_memory.ground.expressions import (
    EVERY,
    PATTERNS,
    READERS,
    TABLE,
    WEEKDAYS,
    WRITTEN,
    UnsureError,
    moon_day,
    rule_at,
    slack_of,
)
from gateway_memory.ground.tables import has_han, simplified

Bound = Literal["", "until", "by", "since"]
_LONGEST: Final = 2000
_TITLE: Final = re.compile(r"《[^》]*》")
_SECTIONS: Final = ("recurring", "english", "chinese")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A time that a text names.

    start, end: where it stands. spans: what it may mean, the earliest first; none where it recurs. written: whether it
    names a month or a year. exact: whether it names the year. weekday: whether it is a weekday alone: "on Friday".
    unsure: whether a listener would have to ask. slack: by how many days it may be off, as "three weeks ago" may.
    bound: "until", "by" or "since" such a day. every: what comes again and again. after: the weekday or the unit of
    what is counted from the day that was named before ("the Sunday after").
    """

    start: int
    end: int
    spans: tuple[Span, ...] = ()
    written: bool = False
    exact: bool = False
    weekday: bool = False
    unsure: bool = False
    slack: int = 0
    bound: Bound = ""
    every: Every | None = None
    after: str = ""

    def meant(self, day: date, *, past: bool, surely: bool = False) -> Span | None:
        """Return the span that is meant on a day: the next one, or the last one for what is behind. None: unsure.

        surely: however far it is behind.
        """
        if self.unsure or not self.spans:
            return None
        if len(self.spans) == 1:
            return self.spans[0]
        if past:
            behind = max((span for span in self.spans if span.first <= day), default=None)
            near = min((span for span in self.spans if span.first > day), default=None)
            # "We were thinking of Easter" in March is the coming one, a year after the last.
            if (
                not surely
                and behind
                and near
                and (day - behind.last).days > max(2 * A_MONTH, 3 * (near.first - day).days)
            ):
                return near
            return behind
        ahead = [span for span in self.spans if span.last >= day]
        begun = [span for span in ahead if span.first < day and span.days <= A_WEEK]
        return min([span for span in ahead if span not in begun] or begun, default=None)


def mentions(text: str, day: date) -> list[Mention]:
    """Return the times that a text of a day names, in their order. What two patterns could read, the first one has."""
    text = _TITLE.sub(lambda title: "_" * len(title[0]), text[:_LONGEST].replace("’", "'"))
    lowered = text.lower()
    plain = simplified(lowered if len(lowered) == len(text) else text)
    if not PATTERNS["cue"].search(plain):  # as in most messages
        return []
    found: list[Mention] = []
    for section in _SECTIONS if has_han(plain) else _SECTIONS[:2]:
        for head, match in _matches_of(section, plain):
            if any(match.start() < other.end and other.start < match.end() for other in found):
                continue
            if (mention := _read(head, match, day, text)) is not None:
                found.append(mention)
    found.sort(key=lambda mention: mention.start)
    return [_recurring(plain, mention) for mention in _bounded(plain, _joined(plain, found), day)]


def _matches_of(section: str, text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield the matches of a section's patterns, each with its pattern's head, in the order of the patterns.

    A pattern is tried, and compiled at first, only where the text has what it needs: most texts have next to nothing.
    """
    present: dict[str, bool] = {}
    for head, need, source in _expressions(section):
        if need not in present:
            present[need] = _compiled(need).search(text) is not None
        if present[need]:
            yield from ((head, match) for match in _compiled(source).finditer(text))


@cache
def _expressions(section: str) -> list[tuple[str, str, str]]:
    """Return the head of each pattern of a section, what it needs, and the pattern."""
    needs = dict(TABLE.sources("needs"))
    names = ((head, re.sub(r"( -?\d+)+$", "", head), source) for head, source in TABLE.sources(section))
    return [(head, needs[f"{section} {name}"], source) for head, name, source in names]


@cache
def _compiled(source: str) -> re.Pattern[str]:
    """Compile a pattern. With ASCII alone, a word ends where a Han character begins: "我Tuesday下午"."""
    return re.compile(source, re.ASCII)


def dates_of(text: str, day: date) -> list[frozenset[Span]]:
    """Return the dates that are written out in a text of a day: for each, the spans that it may mean."""
    return [frozenset(mention.spans) for mention in mentions(text, day) if mention.written]


def without_dates(text: str, day: date) -> str:
    """Return a text without its written dates."""
    for mention in reversed(mentions(text, day)):
        if mention.written:
            text = f"{text[: mention.start]} {text[mention.end :]}"
    return text


def relative_dates_of(text: str, day: date) -> frozenset[Span]:
    """Return the spans that the relative dates in a text of a day may mean: "tomorrow", "in two weeks", 下周五."""
    return frozenset(
        Span(days_on(span.first, -mention.slack), days_on(span.last, mention.slack))
        for mention in mentions(text, day)
        if not mention.written
        for span in mention.spans
    )


def _read(head: str, match: re.Match[str], day: date, text: str) -> Mention | None:
    """Return what a match of a pattern names; None where it only looks like a time."""
    name, *numbers = re.split(r" (?=-?\d)", head)
    start, end = match.span()
    parts = match.groupdict()
    plain = Mention(
        start=start,
        end=end,
        written=name in WRITTEN or bool(parts.get("month")),
        exact=bool(parts.get("year")),
        weekday=name in ("weekday bare", "week day") and not parts.get("which"),
        slack=slack_of(match) if name in ("ahead", "behind", "counted", "after date") else 0,
        after=parts.get("after") or parts.get("after2") or "",
    )
    try:
        if name in EVERY:
            return replace(plain, every=EVERY[name](match))
        if _is_talked_about(name, text[:start], text[end:]):
            return None
        if name in _COMPOUNDS and not (parts.get("which") or has_han(match[0])) and _is_compound(text, match, name):
            return None
        spans = tuple(sorted(set(READERS[name](match, day, *map(int, numbers)))))
    except UnsureError as error:
        return replace(plain, spans=error.spans, unsure=True)
    except (ValueError, KeyError, OverflowError):
        spans = ()
    return replace(plain, spans=spans) if spans else None


def _is_talked_about(kind: str, before: str, behind: str) -> bool:
    """Return whether a day is a name, or what a question is about: "called Friday", “星期五”, 端午节的由来."""
    if _QUOTES.get(before[-1:], "") == behind[:1] != "":  # nothing else stands in the quotation
        return True
    if kind in ("week day", "feast") and PATTERNS["named"].search(before):
        return True
    if PATTERNS["called"].search(before) and PATTERNS["called behind"].match(behind):  # 网名叫九月
        return True
    if re.match(r"'s [A-Z]", behind) and before[-2:-1].islower():  # "a horse called Tomorrow's Hope"
        return True
    if kind == "month" and PATTERNS["lives"].search(before.lower()):
        return True
    asked = PATTERNS["asked about"].search(before.lower()) or PATTERNS["asked about behind"].match(simplified(behind))
    return asked is not None


_QUOTES: Final = {'"': '"', "'": "'", "“": "”", "‘": "'", "「": "」", "『": "』"}
"""The ends of quotations by their beginnings; "’" is read as "'"."""
_COMPOUNDS: Final = frozenset({"weekday bare", "feast", "day of month", "figures"})
"""The patterns whose English may be a part of a longer name: "Easter egg"."""


def _is_compound(text: str, match: re.Match[str], kind: str) -> bool:
    """Return whether a day is a part of a name or of a compound: "Blue Monday", "a Saturday job", "Easter egg"."""
    before = text[: match.start()]
    word = re.search(r"([^\W_]+|[+&,/–-])\s*\Z", before)
    left = word[1] if word else ""
    tells = kind == "weekday bare" and PATTERNS["opens"].search(before.lower())  # "On Saturday Ella comes"
    is_named = not tells and re.match(r"(?:'s)?\s+(?!I\b)[A-Z][a-z]", text[match.end() :])
    if is_named or PATTERNS["named"].search(before):
        return True
    after = text[match.end() :].lower()
    opens = not before.strip() or before.rstrip()[-1] in ".,;:!?-–—"
    continues = not (PATTERNS["compound"].match(after) or (opens and PATTERNS["clause"].match(after)))
    if kind == "figures" or (kind == "day of month" and match[0].startswith("the")):
        # "a 9/16 spanner" and "the 2nd percentile" are no days; "30/6" is no fraction.
        is_day = kind == "figures" and int(match["one"]) > int(match["two"])
        return continues and not (is_day or PATTERNS["clause"].match(after))
    if left.lower() in ("a", "an", "any", "one", "some"):
        return not PATTERNS["one of them"].search(before.lower())  # "new one Tuesday at 5"
    if left.lower() in _BEFORE_A_DAY or kind == "day of month":
        return continues and left.lower() not in _BEFORE_A_DAY
    if kind == "feast":
        return left.lower() == "in" or (continues and match[0] in _ONE_WORD)
    name, is_capital = match["weekday"], text[match.start("weekday")].isupper()
    in_a_name = is_capital and left[:1].isupper() and len(left) > 1 and before.strip() != left
    # "Tuesday night's quiz" is on Tuesday.
    return (continues and name == match[0].rstrip()) or in_a_name or (name in WEEKDAYS and not is_capital)


_BEFORE_A_DAY: Final = frozenset(
    "on by til till until from for this next last before after since to or due over at + & , / – -".split()
)
"""A word before a day with which it is a day, whatever stands behind it."""
_ONE_WORD: Final = frozenset({"christmas", "xmas", "easter", "halloween", "thanksgiving"})


def _joined(text: str, found: Sequence[Mention]) -> list[Mention]:
    """Return mentions, two of one span as one: "from Monday to Friday", 周三到周五, "tomorrow, 29 February"."""
    joined: list[Mention] = []
    for mention in found:
        before = joined[-1] if joined else None
        between = text[before.end : mention.start] if before else ""
        both = None
        if before and before.spans and mention.spans and not (before.unsure or mention.unsure):
            if _is_moved(text[: before.start], between):  # "bumped from Wed to Thurs" is on Thursday
                both = mention
            elif PATTERNS["joint"].match(between):
                both = _stretch(before, mention)
            elif PATTERNS["and"].match(between):
                both = _stretch(before, mention, most_days=2)
            elif not between.strip(" ,，的就是'sthe"):
                both = _same(before, mention)
        if before and both:
            joined[-1] = both
        else:
            joined.append(mention)
    return joined


def _is_moved(before: str, between: str) -> bool:
    """Return whether something is moved from one day to another, between which a text stands."""
    return any(
        PATTERNS[name].search(before) and PATTERNS[f"{name} to"].match(between)
        for name in ("moved from", "moved from Chinese")
    )


def _stretch(one: Mention, other: Mention, *, most_days: int = 366) -> Mention | None:
    """Return the shortest spans from the first to the second, by each that the first may mean."""
    pairs = [(first, last) for first in one.spans for last in other.spans if first.first < last.last]
    if not pairs:
        return None
    shortest = min((last.last - first.first).days for first, last in pairs)
    spans = {Span(first.first, last.last) for first, last in pairs if (last.last - first.first).days == shortest}
    if shortest >= most_days:
        return None
    return replace(
        one,
        end=other.end,
        spans=tuple(sorted(spans)),
        written=one.written or other.written,
        exact=one.exact or other.exact,
    )


def _same(one: Mention, other: Mention) -> Mention | None:
    """Return the mention of a day that two beside each other name, if they may mean the same."""
    both = [
        small
        for first in one.spans
        for second in other.spans
        for small, large in [sorted((first, second), key=lambda span: span.days)]
        if large.first <= small.first and small.last <= large.last
    ]
    written, exact = one.written or other.written, one.exact or other.exact
    spans = tuple(sorted(set(both)))
    return replace(one, end=other.end, spans=spans, written=written, exact=exact, weekday=False) if both else None


def _bounded(text: str, found: Sequence[Mention], day: date) -> list[Mention]:
    """Return mentions with what the words around them say: until, or by, or that nobody can tell."""
    return [replace(mention, **_bound(text, mention, day)) for mention in found]


def _bound(text: str, mention: Mention, day: date) -> dict[str, Any]:
    before, behind, named = text[: mention.start], text[mention.end :], text[mention.start : mention.end]
    unsure = mention.unsure or PATTERNS["hedged"].search(before) or PATTERNS["hedged behind"].match(behind)
    if unsure or not mention.spans:
        return {"unsure": bool(unsure)}
    is_end = PATTERNS["until"].search(before) or PATTERNS["until Chinese"].search(before)
    if is_end or PATTERNS["until behind"].match(behind) or re.match(r"(?:un)?till?\b", named):
        return {"bound": "until"} if mention.spans[-1].last >= day else {}
    is_start = PATTERNS["since"].search(before) or PATTERNS["since behind"].match(behind)
    if is_start or re.match(r"since\b", named, re.IGNORECASE):
        return {"bound": "since"}
    if not (PATTERNS["by"].search(before) or PATTERNS["by behind"].match(behind)):
        return {}
    if PATTERNS["ends"].search(named):
        return {"bound": "by", "spans": tuple(day_span(span.last) for span in mention.spans)}
    return {"bound": "by"}


def _recurring(text: str, mention: Mention) -> Mention:
    """Return a mention of a day of the year in a sentence about a birthday as one that comes each year."""
    span = mention.spans[-1] if mention.spans else None
    if span is None or mention.weekday or mention.unsure or not PATTERNS["yearly"].search(text):
        return mention
    named = text[mention.start : mention.end]
    for head, match in _matches_of("chinese", named):
        if head == "lunar" and match[0] == named:
            month, number = moon_day(match)
            return replace(mention, spans=(), every=Every(month=month, day=number, lunar=True))
    if rule := rule_at(text, mention.start, mention.end):
        return replace(mention, spans=(), every=Every(rule=rule))
    if span.days == 1 and mention.written:
        return replace(mention, spans=(), every=Every(month=span.first.month, day=span.first.day))
    return mention


def read_every(text: str) -> Every | None:
    """Return what recurs, if a text says nothing else: "every Tuesday", 每月5日; else None."""
    plain = simplified(text.lower().strip())
    whole = ((head, match) for head, match in _matches_of("recurring", plain) if match[0] == plain)
    for head, match in whole:
        with suppress(ValueError, KeyError):
            return EVERY[head](match)
    return None
