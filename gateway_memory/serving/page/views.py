"""What each page shows. To add a page, write its function and its template, and add both to `VIEWS`."""

import calendar
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, Final

from extractor import CATEGORIES
from gateway_memory.commands.browsing import digest_of
from gateway_memory.commands.search import KINDS, TERMS, as_filter
from gateway_memory.errors import UsageError
from gateway_memory.serving.page.people import deletion, people
from gateway_memory.serving.page.pictures import over_time
from gateway_memory.serving.page.reviewing import review
from gateway_memory.serving.page.visit import NothingHere, Shown, Visit
from gateway_memory.store.documents import is_writable
from recall import Filter

__all__ = ["VIEWS", "View", "save_document"]

View = Callable[[Visit], Awaitable[Shown]]

_RECEIPTS: Final = 100
_TODAY: Final = 500
"""Replies of today that are counted."""
_ACTIONS: Final = frozenset(
    {"add", "expired", "forgotten", "moved", "restored", "retracted", "supersede", "undone", "update"}
)
"""The outcomes of receipts that changed a memory."""
_TIMES: Final = ("day", "week", "month")
_A_PAGE: Final = 50
_FOUND: Final = 30
_REPLIES: Final = 20
_TERM_SHOWN: Final = 0.01
_PARTS: Final = (
    "vector", "lexical", "ranking", "search_and_files", "search_again", "updates", "quotations", "total",
)  # fmt: skip
"""The parts of a recall, in their order."""
_AROUND: Final = 5
_LATEST: Final = 2**62
_MOST_SKIPPED: Final = 100_000
"""Rows of one time that may lie before a page: more than a scope is meant to have."""
_INSTANT: Final = 1e-6
"""Seconds that make a bound include its own time."""


async def today(visit: Visit) -> Shown:
    """What changed today, what waits, and what failed."""
    status = await visit.memory.record(visit.session, "status")
    start = _start(visit, visit.today())
    changes = [
        {"at": f"{visit.local(receipt.at):%H:%M}", "action": outcome.action, "id": outcome.id, "text": outcome.text}
        for receipt in await visit.memory.browsing.changed(visit.session, since=start, limit=_RECEIPTS)
        for outcome in receipt.outcomes
        if outcome.action in _ACTIONS and outcome.id
    ]
    found = await visit.memory.browsing.outcomes(visit.session, since=start, limit=_TODAY)
    outcomes = [outcome for _, outcome in found]
    told = sum(outcome in ("full", "partial") for outcome in outcomes)
    return Shown("today.html", {"status": status, "changes": changes, "replies": len(outcomes), "told": told})


async def digest(visit: Visit) -> Shown:
    """What was learnt, changed and forgotten in the last days."""
    time = visit.query.get("time", "week")
    if time not in _TIMES:
        raise NothingHere
    found = await visit.memory.record(visit.session, "digest", time)
    return Shown("digest.html", {"digest": found, "times": _TIMES, "time": time})


async def memories(visit: Visit) -> Shown:
    """Search the memories, or leaf through them from the newest."""
    asked = {name: visit.query.get(name, "") for name in ("q", "kind", "category", "type", "since", "until", "session")}
    problem, older, late = "", "", False
    found: Sequence[Any] = ()
    try:
        if any(asked[name] for name in ("q", "kind", "session")):
            hits = await visit.memory.search(
                visit.session,
                asked["q"],
                limit=_FOUND,
                kinds=[asked["kind"]] if asked["kind"] else None,
                category=asked["category"] or None,
                type=asked["type"] or None,
                since=asked["since"] or None,
                until=asked["until"] or None,
                session_key=asked["session"] or None,
            )
            found, late = hits, hits.late
        else:
            found, older = await _newest(visit, asked)
    except UsageError as error:
        problem = str(error)
    values = {"asked": asked, "found": found, "older": older, "problem": problem, "late": late}
    weak_below = visit.session.settings.auto_recall.min_score
    return Shown("memories.html", values | {"kinds": KINDS, "categories": CATEGORIES, "weak_below": weak_below})


async def _newest(visit: Visit, asked: Mapping[str, str]) -> tuple[Sequence[Any], str]:
    """Return memories from the newest on, and the address of the next page, "" for none.

    A page begins behind a time, and behind so many rows of that same time.

    Raises:
        NothingHere: the page's place is none.
        UsageError: there is no such type or day.
    """
    skipped = visit.number("skip", most=_MOST_SKIPPED)
    try:
        before = float(visit.query.get("before") or "inf")
    except ValueError:
        raise NothingHere from None
    if math.isnan(before):
        raise NothingHere
    given = {name: asked[name] or None for name in ("category", "type", "since", "until")}
    only = as_filter(**given, zone=visit.zone) or Filter()
    until = min(before + _INSTANT, math.inf if only.until is None else only.until)
    only = replace(only, until=until if until < math.inf else None)
    rows = await visit.memory.browsing.newest(visit.session, only, limit=_A_PAGE + skipped + 1)
    rows = rows[skipped:]
    shown = [row.entry for row in rows[:_A_PAGE]]
    if len(rows) <= _A_PAGE:
        return shown, ""
    at = shown[-1].at
    same = sum(entry.at == at for entry in shown) + (skipped if at == before else 0)
    return shown, visit.link("/memories", before=repr(at), skip=same, **given)


async def memory(visit: Visit) -> Shown:
    """One memory: where it came from, what became of it, and how to change it."""
    details = await visit.memory.browsing.details(visit.session, visit.query["id"])
    if details is None:
        raise NothingHere
    ours = details.stored is not None and is_writable(details.stored.file)
    return Shown("memory.html", {"details": details, "ours": ours})


async def document(visit: Visit) -> Shown:
    """MEMORY.md, to be edited in place."""
    text = await visit.memory.browsing.document(visit.session)
    readable = not any("\udc80" <= character <= "\udcff" for character in text)
    return Shown("document.html", {"text": text if readable else "", "was": digest_of(text), "readable": readable})


async def save_document(visit: Visit, text: str, was: str) -> Shown | None:
    """Save an edited MEMORY.md. Return None when it is saved, else a page with both texts."""
    text = text.replace("\r\n", "\n")
    if await visit.memory.browsing.save_document(visit.session, text, digest=was):
        return None
    now = await visit.memory.browsing.document(visit.session)
    return Shown("document.html", {"text": text, "was": digest_of(now), "readable": True, "now": now})


async def conversations(visit: Visit) -> Shown:
    """The days with conversations, month by month, the newest first."""
    days = await visit.memory.browsing.days(visit.session)
    months = sorted({(day.year, day.month) for day in days}, reverse=True)
    most = max(days.values(), default=1)
    shown = [
        {
            "name": f"{year}-{month:02}",
            "weeks": [
                [(day, days.get(day, 0), _heat(days.get(day, 0), most)) if day.month == month else None for day in week]
                for week in calendar.Calendar().monthdatescalendar(year, month)
            ],
        }
        for year, month in months
    ]
    return Shown("conversations.html", {"months": shown})


async def one_day(visit: Visit) -> Shown:
    """What was said on a day, session by session."""
    try:
        day = date.fromisoformat(visit.query["day"])
        earlier, later = day - timedelta(days=1), day + timedelta(days=1)
        talks = await visit.memory.browsing.talks(visit.session, day)
    except (ValueError, OverflowError):
        raise NothingHere from None
    return Shown("day.html", {"day": day, "talks": talks, "earlier": earlier, "later": later})


async def exchange(visit: Visit) -> Shown:
    """An exchange, with those around it."""
    turn = visit.number("turn")
    talk = await visit.memory.browsing.talk(visit.session, turn, around=_AROUND)
    if talk is None:
        raise NothingHere
    return Shown("exchange.html", {"talk": talk, "turn": turn})


async def replies(visit: Visit) -> Shown:
    """The replies, each with what it was given."""
    before = visit.number("before", _LATEST, most=_LATEST)
    found = await visit.memory.browsing.replies(visit.session, before=before, limit=_REPLIES + 1)
    older = visit.link("/replies", before=found[_REPLIES - 1].reply.turn) if len(found) > _REPLIES else ""
    return Shown("replies.html", {"replies": found[:_REPLIES], "older": older})


async def reply(visit: Visit) -> Shown:
    """One reply: what was considered for it, why it was told or left out, and how long each part took."""
    turn = visit.number("turn")
    found = await visit.memory.browsing.replies(visit.session, before=turn + 1, limit=1)
    if not found or found[0].reply.turn != turn:
        raise NothingHere
    (told,) = found
    report = told.reply.report
    rows = [
        {
            "id": row.id,
            "text": told.texts.get(row.id, ""),
            "fate": row.fate,
            "score": row.score,
            "terms": [(name, row.terms[name]) for name in TERMS if abs(row.terms.get(name, 0.0)) >= _TERM_SHOWN],
        }
        for row in (report.rows if report else ())
    ]
    parts = [(name, report.milliseconds[name]) for name in _PARTS if name in report.milliseconds] if report else []
    threshold = visit.session.settings.auto_recall.min_score
    values = {"told": told, "report": report, "rows": rows, "parts": parts, "threshold": threshold}
    return Shown("reply.html", values)


async def settings(visit: Visit) -> Shown:
    """The settings in force."""
    from gateway_memory.serving.page.settings import rows_of

    return Shown("settings.html", {"rows": rows_of(visit.memory.config, visit.memory.agent, visit.language)})


VIEWS: Final[Mapping[str, View]] = {
    "/": today,
    "/digest": digest,
    "/over-time": over_time,
    "/review": review,
    "/memories": memories,
    "/memories/{id}": memory,
    "/document": document,
    "/conversations": conversations,
    "/conversations/exchange/{turn}": exchange,
    "/conversations/{day}": one_day,
    "/replies": replies,
    "/replies/{turn}": reply,
    "/people": people,
    "/people/delete": deletion,
    "/settings": settings,
}


def _start(visit: Visit, day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=visit.zone).astimezone(visit.zone).timestamp()


def _heat(number: int, most: int) -> int:
    """Return how dark a day is shown, 0 to 4."""
    return 0 if number == 0 else 1 + min(3, 4 * number // (most + 1))
