"""Lists of what a memory holds, newest first and page by page: for the page, and for programs over HTTP."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar

from gateway_memory.browsing.people import Face
from gateway_memory.browsing.reads import Browsing, ReplyDetails, Said
from gateway_memory.commands.command import CommandPorts
from gateway_memory.commands.review import review_record
from gateway_memory.context.hits import told_hits
from gateway_memory.errors import UsageError
from gateway_memory.sessions.session import Session
from gateway_memory.store.journal.episodes import Episode
from recall import Filter, Hit

T = TypeVar("T")

_INSTANT: Final = 1e-6
"""Seconds that make a bound include its own time."""
_LATEST: Final = 2**62
_MOST_SKIPPED: Final = 100_000
"""Rows of one time that may lie before a page: more than a scope is meant to have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """Rows of a list. next: what to give as `after` for the rows behind them; "" behind the last one."""

    rows: Sequence[T]
    next: str = ""


class Lists:
    """Lists of one memory. Every call may raise StoreError, and UsageError where `after` is not from an answer.

    after: the `next` of the page before; "" for the first page. limit: the most rows of a page.
    """

    def __init__(self, ports: CommandPorts, browsing: Browsing) -> None:
        self._ports = ports
        self._storage = ports.storage
        self._browsing = browsing

    async def memories(self, session: Session, only: Filter, *, after: str, limit: int) -> Page[Hit]:
        """Return the memories that pass a filter, newest first. A page begins behind a time, and rows of that time."""
        before, skipped = _place(after, (math.inf, 0))
        if not 0 <= skipped <= _MOST_SKIPPED:
            raise _misplaced()
        until = min(before + _INSTANT, math.inf if only.until is None else only.until)
        only = replace(only, until=until if until < math.inf else None)
        await self._storage.follower.refresh(session.scope)
        rows = await self._storage.recaller.listed(session.scope.key, only, limit + skipped + 1)
        rows, more = rows[skipped : skipped + limit], len(rows) > skipped + limit
        validity = {session.scope.key: await self._ports.validity(session.scope)}
        hits = told_hits(map(Hit.of, rows), validity, past=True)
        if not more:
            return Page(rows=hits)
        at = rows[-1].entry.at
        same = sum(row.entry.at == at for row in rows) + (skipped if at == before else 0)
        return Page(rows=hits, next=json.dumps([at, same]))

    async def episodes(self, session: Session, only: Filter, *, after: str, limit: int) -> Page[tuple[Episode, Said]]:
        """Return what was said, newest first. only: its times and its session count."""
        before = _place(after, (math.inf, _LATEST))
        turns = await self._storage.episodes.newest(
            session.scope.key, limit + 1, before=before, since=only.since, until=only.until, session_key=only.session
        )
        rows = await self._browsing.exchanges(session, [turn for turn, _ in turns[:limit]])
        last = json.dumps([turns[limit - 1][1], turns[limit - 1][0]]) if len(turns) > limit else ""
        return Page(rows=rows, next=last)

    async def replies(self, session: Session, *, after: str, limit: int) -> Page[ReplyDetails]:
        """Return the replies with what was injected, newest first."""
        (before,) = _place(after, (_LATEST,))
        rows = await self._browsing.replies(session, before=before, limit=limit + 1)
        return Page(rows=rows[:limit], next=json.dumps([rows[limit - 1].reply.turn]) if len(rows) > limit else "")

    async def records(self, session: Session, *, after: str, limit: int) -> Page[Mapping[str, Any]]:
        """Return the records of ended sessions, newest first."""
        rows = await self._storage.records.listed(session.scope)
        return _behind(rows, after, limit, lambda row: str(row["session_id"]))

    async def pending(self, session: Session, words: str, *, after: str, limit: int) -> Page[Mapping[str, Any]]:
        """Return what waits for approval, oldest first. words: only what contains them."""
        rows = (await review_record(self._ports, session, words))["reviews"]
        return _behind(rows, after, limit, lambda row: str(row["id"]))

    async def people(self, *, after: str, limit: int) -> Page[Face]:
        """Return whose memories there are, the owner's first, then by when something was said last."""
        page = _behind(await self._browsing.people.scopes(), after, limit, lambda scope: scope.key)
        return Page(rows=await self._browsing.people.faces(page.rows), next=page.next)


def _place(after: str, first: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the numbers of a place in a list. first: those of the first page."""
    if not after:
        return first
    try:
        numbers = json.loads(after)
    except (ValueError, RecursionError):
        raise _misplaced() from None
    if not isinstance(numbers, list) or len(numbers) != len(first):
        raise _misplaced()
    for number, wanted in zip(numbers, first, strict=True):
        kinds = (int, float) if isinstance(wanted, float) else (int,)
        if type(number) not in kinds or not -_LATEST <= number <= _LATEST:
            raise _misplaced()
    return tuple(numbers)


def _misplaced() -> UsageError:
    return UsageError("after: expected the `next` of an earlier answer")


def _behind(rows: Sequence[T], after: str, limit: int, name: Callable[[T], str]) -> Page[T]:
    """Return the page of a whole list behind the row of a name."""
    names = [name(row) for row in rows]
    if after and after not in names:
        raise _misplaced()
    start = names.index(after) + 1 if after else 0
    shown = rows[start : start + limit]
    return Page(rows=shown, next=names[start + limit - 1] if len(rows) > start + limit else "")
