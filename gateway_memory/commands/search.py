"""`/memory search`: filters as people type them, and the answer, with the terms of each score on request."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, Final

from extractor import CATEGORIES
from gateway_memory.commands.answers import NotDone, iso_time, phrase, shown
from gateway_memory.commands.command import CommandPorts, Option
from gateway_memory.context.blocks import nothing_remembered
from gateway_memory.context.finder import RECALLED, TERMS, Found
from gateway_memory.context.word_search import ARCHIVED
from gateway_memory.edge.content import well_formed
from gateway_memory.edge.phrases import Language, say, translated
from gateway_memory.errors import UsageError
from gateway_memory.ground.times import day_of
from gateway_memory.sessions.session import Session
from gateway_memory.store.markdown import one_line
from recall import Filter, Hit, talk_of

SEARCHED_KINDS: Final = (*sorted(RECALLED), *sorted(ARCHIVED))
OPTIONS: Final = tuple(
    Option(command="search", name=name, metavar=metavar, values=values)
    for name, metavar, values in (
        ("type", "W|B|O", ()),
        ("category", "NAME", tuple(CATEGORIES)),
        ("since", "DAY", ()),
        ("until", "DAY", ()),
        ("session", "KEY", ()),
        ("kind", "NAME", SEARCHED_KINDS),
        ("limit", "N", ()),
        ("explain", "", ()),
    )
)
"""Before or behind the query, as `--name value` or `--name=value`."""

_FOUND: Final = 5
_MOST: Final = 50
_LONGEST_NUMBER: Final = 9
"""Digits."""
_DASHES: Final = ("--", "—", "–")  # telephones turn two hyphens into a dash
_PARAMETERS: Final = {"session": "session_key", "kind": "kinds"}
"""The options that the call names otherwise."""
_SHOWN_FROM: Final = 0.005
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search as it was typed. problem: the part that is not understood, or ""."""

    query: str = ""
    given: dict[str, str] = field(default_factory=dict)
    limit: int = _FOUND
    explain: bool = False
    problem: str = ""


def parse_search(text: str) -> SearchRequest:
    """Read options, `--name value` or `--name=value` in any place, and the query, which is everything else."""
    words = iter(text.split())
    query: list[str] = []
    given: dict[str, str] = {}
    explain = False
    for word in words:
        dashes = next((dashes for dashes in _DASHES if word.startswith(dashes)), "")
        name, equals, value = word.removeprefix(dashes).partition("=")
        if not dashes or not name:
            query.append(word)
            continue
        option = next((option for option in OPTIONS if option.name == name.lower()), None)
        if option is None:
            return SearchRequest(problem=word)
        if not option.metavar:
            explain = True
            continue
        given[option.name] = value if equals else next(words, "")
        if not given[option.name]:
            return SearchRequest(problem=word)
    limit = given.pop("limit", str(_FOUND))
    if not (limit.isascii() and limit.isdigit() and len(limit) <= _LONGEST_NUMBER and 0 < int(limit) <= _MOST):
        return SearchRequest(problem=f"--limit {limit}: expected a number from 1 to {_MOST}")
    return SearchRequest(query=" ".join(query), given=given, limit=int(limit), explain=explain)


def as_filter(
    *,
    type: str | None = None,  # noqa: A002 - W, B, O, as the files call it
    category: str | None = None,
    since: date | str | None = None,
    until: date | str | None = None,
    session_key: str | None = None,
    zone: tzinfo | None,
) -> Filter | None:
    """Return the filter of a search, None if nothing is given.

    A day (a date, or YYYY-MM-DD) and a time without a zone are in the configured zone. `until` includes its whole day.

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


def as_kinds(kinds: Collection[str] | None) -> Collection[str]:
    """Return the kinds of hits that a search may find.

    Raises:
        UsageError: there is no such kind.
    """
    if kinds is None:
        return RECALLED
    unknown = [kind for kind in kinds if kind not in SEARCHED_KINDS] if not isinstance(kinds, str) else [kinds]
    if unknown or not kinds:
        raise UsageError(f"kinds={str(unknown)[:_SHOWN]}: expected some of {', '.join(SEARCHED_KINDS)}")
    return frozenset(kinds)


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
    except (ValueError, OverflowError):  # the calendar's first or last day: no bound is needed
        return -math.inf if day.year == date.min.year else math.inf


async def search(ports: CommandPorts, session: Session, typed: str) -> str:
    """Answer with the memories that a search finds, best first."""
    hits, request = await _find(ports, session, typed)
    if hits:
        answer = _answer(ports, session, hits, explain=request.explain)
    elif hits.late:
        return phrase(session, "search_late_empty")
    else:
        span = talk_of(request.query, ports.memory.now().timestamp(), ports.memory.zone)
        answer = nothing_remembered(request.query, span, ports.memory.zone) if span else phrase(session, "search_empty")
    notes = [phrase(session, "search_late")] if hits.late else []
    if not hits.semantic and (hits or hits.outcome == "partial"):
        notes.append(phrase(session, "search_words"))
    return "\n".join([answer, *notes])


def memory_row(ports: CommandPorts, memory: Hit) -> dict[str, Any]:
    """Return a memory as JSON values."""
    return {
        "id": memory.id,
        "text": memory.text,
        "state": memory.state,
        "at": iso_time(memory.at, ports.memory.zone),
        "type": memory.type,
        "category": memory.category,
        "file": memory.file,
    }


async def search_record(ports: CommandPorts, session: Session, typed: str) -> dict[str, Any]:
    """Return what a search finds as JSON values, best first."""
    hits, request = await _find(ports, session, typed)
    parts = [{"parts": dict(hit.parts)} if request.explain else {} for hit in hits]
    explained = zip(hits, parts, strict=True)
    rows = [memory_row(ports, hit) | {"kind": hit.kind, "score": hit.score} | each for hit, each in explained]
    return {"results": rows, "semantic": hits.semantic, "outcome": hits.outcome}


async def _find(ports: CommandPorts, session: Session, typed: str) -> tuple[Found, SearchRequest]:
    request, usage = parse_search(typed), phrase(session, "search_usage")
    if request.problem:
        raise NotDone(
            f"{phrase(session, 'search_option', problem=shown(translated(session.language, request.problem)))}\n{usage}"
        )
    if not request.query and not request.given:
        raise NotDone(usage)
    if session.incognito:
        raise NotDone(phrase(session, "incognito"))
    filters: dict[str, Any] = {_PARAMETERS.get(name, name): value for name, value in request.given.items()}
    if "kinds" in filters:
        filters["kinds"] = filters["kinds"].lower().split(",")
    try:
        hits = await ports.memory.search(
            session, request.query, limit=request.limit, explain=request.explain, **filters
        )
    except UsageError as error:
        raise NotDone(
            f"{phrase(session, 'search_option', problem=translated(session.language, str(error)))}\n{usage}"
        ) from None
    return hits, request


def _answer(ports: CommandPorts, session: Session, hits: Sequence[Hit], *, explain: bool) -> str:
    """List the hits: first those that probably answer, then the weak ones."""
    language, zone, min_score = session.language, ports.memory.zone, session.settings.auto_recall.min_score
    sure = [hit for hit in hits if not hit.is_weak(min_score)]
    weak = [hit for hit in hits if hit.is_weak(min_score)]
    lines: list[str] = []
    for title, listed in (("search_title", sure), ("search_weak", weak)):
        if listed:
            lines.append(say(language, title, count=len(listed)))
        for hit in listed:
            lines.append(f"- {hit.id} · {hit.score:.2f} · {day_of(hit.at, zone)} · {one_line(hit.text)}")
            if explain and hit.kind not in ARCHIVED:
                lines.append(_explain(hit, language))
    return "\n".join(lines)


def _explain(hit: Hit, language: Language) -> str:
    """Return the terms of a hit's rank, largest first, and the evidence for its score."""
    parts = hit.parts
    if not parts:
        return say(language, "explain_listed")
    terms = sorted((name for name in TERMS if name in parts), key=lambda name: -abs(parts[name]))
    shown = [f"{say(language, f'term_{name}')} {parts[name]:+.2f}" for name in terms if abs(parts[name]) >= _SHOWN_FROM]
    return say(
        language,
        "explain",
        rank=f"{parts['rank']:.2f}",
        terms=" ".join(shown),
        evidence=f"{parts['evidence']:+.2f}",
        coverage=f"{parts['coverage']:.0%}",
        cosine=f"{parts['cosine']:.2f}" if "cosine" in parts else say(language, "none"),
    )
