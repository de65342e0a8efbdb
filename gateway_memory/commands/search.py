"""A search that was asked for: its filters as a person types them, and its answer with what made each score."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final, Literal

from gateway_memory.clock import day_of
from gateway_memory.edge.content import well_formed
from gateway_memory.errors import UsageError
from gateway_memory.phrases import Language, say
from recall import Filter, Hit

__all__ = ["OPTIONS", "Asked", "as_filter", "parse_search", "search_answer"]

Option = Literal["type", "category", "since", "until", "session", "limit"]

OPTIONS: Final[tuple[Option, ...]] = ("type", "category", "since", "until", "session", "limit")
"""`--type O --category preference --since 2026-10-01 --until 2026-10-31 --session KEY --limit 10`, and `--explain`."""

_FOUND: Final = 5
_MOST: Final = 50
_LONGEST_NUMBER: Final = 9
_DASHES: Final = ("--", "—", "–")  # telephones write the first as one of the others
_TERMS: Final = ("words", "meaning", "recency", "importance", "form", "speaker", "date", "task", "version")
_SHOWN_FROM: Final = 0.005
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A search as it was typed. problem: what of it is not understood, "" where all is."""

    query: str = ""
    given: dict[str, str] = field(default_factory=dict)
    limit: int = _FOUND
    explain: bool = False
    problem: str = ""


def parse_search(text: str) -> Asked:
    """Return what is asked for: options in any place, `--name value` or `--name=value`; all else is the query."""
    words = iter(text.split())
    query: list[str] = []
    given: dict[str, str] = {}
    explain = False
    for word in words:
        dashes = next((dashes for dashes in _DASHES if word.startswith(dashes)), "")
        name, equals, value = word.removeprefix(dashes).partition("=")
        if not dashes or not name:
            query.append(word)
        elif name.lower() == "explain":
            explain = True
        elif name.lower() not in OPTIONS:
            return Asked(problem=word)
        else:
            given[name.lower()] = value if equals else next(words, "")
            if not given[name.lower()]:
                return Asked(problem=word)
    limit = given.pop("limit", str(_FOUND))
    if not (limit.isascii() and limit.isdigit() and len(limit) <= _LONGEST_NUMBER and 0 < int(limit) <= _MOST):
        return Asked(problem=f"--limit {limit}")
    return Asked(query=" ".join(query), given=given, limit=int(limit), explain=explain)


def as_filter(
    *,
    type: str | None = None,  # noqa: A002 - W, B, O, as the files call it
    category: str | None = None,
    since: date | str | None = None,
    until: date | str | None = None,
    session_key: str | None = None,
    zone: tzinfo | None,
) -> Filter | None:
    """Return the filter of a search, None where nothing is given.

    A day (a date, or YYYY-MM-DD) counts in the configured zone, and `until` takes in the whole of it; so does a time
    without a zone.

    Raises:
        UsageError: there is no such type or day.
    """
    if not (type or category or since or until or session_key):
        return None
    for name, value in (("type", type), ("category", category), ("session_key", session_key)):
        if not isinstance(value, str | None):
            raise UsageError(f"{name} is of type {value.__class__.__name__}: expected a string")
    kind = (type or "").upper()
    if kind not in ("", "W", "B", "O"):
        raise UsageError(f"type={kind[:_SHOWN]!r}: expected W, B or O; stage summaries (S) are kept and never found")
    return Filter(
        type=kind,
        category=well_formed(category or "").lower(),
        session=well_formed(session_key or ""),
        since=None if since is None else _instant(since, zone, end=False),
        until=None if until is None else _instant(until, zone, end=True),
    )


def _instant(day: object, zone: tzinfo | None, *, end: bool) -> float:
    if isinstance(day, str):
        typed = day[:_SHOWN]
        try:
            day = date.fromisoformat(day)
        except ValueError:
            raise UsageError(f"{typed!r}: expected a day such as 2026-10-01") from None
    if not isinstance(day, date):
        raise UsageError(f"a day of type {type(day).__name__}: expected a date, or a day such as 2026-10-01")
    try:
        if not isinstance(day, datetime):
            day = datetime.combine(day + timedelta(days=1) if end else day, time.min)
        return (day if day.tzinfo or zone is None else day.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError):  # the calendar's first or last day: nothing lies beyond it
        return -math.inf if day.year == date.min.year else math.inf


def search_answer(
    hits: Sequence[Hit], *, min_score: float, explain: bool, language: Language, zone: tzinfo | None
) -> str:
    """Return what a person reads: what is found for sure, then what is weak."""
    if not hits:
        return say(language, "search_empty")
    sure = [hit for hit in hits if hit.score >= min_score]
    weak = [hit for hit in hits if hit.score < min_score]
    lines: list[str] = []
    for title, found in (("search_title", sure), ("search_weak", weak)):
        if found:
            lines.append(say(language, title, count=len(found)))
        for hit in found:
            lines.append(f"- {hit.id} · {hit.score:.2f} · {day_of(hit.at, zone)} · {hit.text}")
            if explain:
                lines.append(_explained(hit, language))
    return "\n".join(lines)


def _explained(hit: Hit, language: Language) -> str:
    """Return the terms of a hit's rank, the largest first, and what its score rests on."""
    parts = hit.parts
    if not parts:
        return say(language, "explain_listed")
    terms = sorted((name for name in _TERMS if name in parts), key=lambda name: -abs(parts[name]))
    said = [f"{say(language, f'term_{name}')} {parts[name]:+.2f}" for name in terms if abs(parts[name]) >= _SHOWN_FROM]
    return say(
        language,
        "explain",
        rank=f"{parts['rank']:.2f}",
        terms=" ".join(said),
        evidence=f"{parts['evidence']:+.2f}",
        coverage=f"{parts['coverage']:.0%}",
        cosine=f"{parts['cosine']:.2f}" if "cosine" in parts else say(language, "none"),
    )
