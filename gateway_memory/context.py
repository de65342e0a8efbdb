"""What a session is told before a reply: up to three blocks, within their budgets and within the deadline."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Final, Literal

import structlog

from extractor import clean
from gateway_memory.blocks import changes_block, full_block, recalled_block, updates_block
from gateway_memory.clock import day_of
from gateway_memory.follow import Follower
from gateway_memory.metrics import Metrics
from gateway_memory.pace import Pace
from gateway_memory.session import Session
from gateway_memory.store.journal import Journal
from gateway_memory.store.ledger import Ledger
from gateway_memory.store.marks import MEMORY_FULL
from gateway_memory.within import Within
from notifier import Change
from recall import Filter, Hit, Recall, Recaller, Stored

__all__ = ["PACE_SHARE", "Context", "ContextBuilder", "as_query"]

log = structlog.get_logger()

_REFRESH_SHARE: Final = 0.25
"""Of the deadline, what looking at the files may take: a hung disk leaves time for what memory holds already."""
_TOLD_SHARE: Final = 0.1
"""Of the deadline, what the journal may take for what matters less: where noting that a session was told takes longer,
a restart tells it again."""
_LAST_SHARE: Final = 0.04
"""Of the deadline, what is kept for handing over what is ready by then, and for asking whether it still holds."""
_HANGING_SECONDS: Final = 0.02
_ALONE_SECONDS: Final = 0.01
"""So long the loop leaves the encoder alone; most vectors are there by then."""
_FIND_SECONDS: Final = 10.0
PACE_SHARE: Final = 0.05
"""Of the deadline, what a message waits for its turn among many, each time."""
_MESSAGES_A_TURN: Final = 2
"""Of many messages at once, so many are gone on with in one turn of the event loop: two tenths of a millisecond each,
and as much again or more where it has to get Python's lock back from the computing threads."""
_QUERY_LENGTH: Final = 8000

Outcome = Literal["full", "partial", "empty", "disabled", "timeout"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What belongs after the stable system prompt of this reply.

    text: the blocks, "" where there is nothing to say. outcome: how recall went: "full"; "partial" (something was
    late); "empty" (nothing relevant); "disabled"; "timeout". recalled: the memories that are relevant, best first, also
    those that the session holds already and `text` leaves out. updates: what other sessions learnt, and what was
    forgotten or edited by hand, since the last reply. changes: lines of the files that are new since then.
    """

    text: str = ""
    outcome: Outcome = "empty"
    recalled: tuple[Hit, ...] = ()
    updates: tuple[Change, ...] = ()
    changes: tuple[Stored, ...] = ()


class ContextBuilder:
    """Builds a `Context`. A part that fails is logged and left out; the reply never waits past `timeoutMs`.

    heard: up to which number the sessions here have been given each origin's events.
    """

    def __init__(
        self,
        *,
        follower: Follower,
        recaller: Recaller,
        journal: Journal,
        heard: Mapping[str, int],
        ledger: Ledger,
        metrics: Metrics,
        zone: tzinfo | None,
        fail: Callable[[str, BaseException], None],
    ) -> None:
        self._heard = heard
        self._follower = follower
        self._recaller = recaller
        self._journal = journal
        self._ledger = ledger
        self._metrics = metrics
        self._zone = zone
        self.within = Within(metrics, fail)
        self._glancing: set[str] = set()
        self.pace = Pace(_MESSAGES_A_TURN)
        """Where many messages that come at once, or have waited for one look at the files, wait for their turns."""
        self._looking: dict[str, asyncio.Future[tuple[int, int, int, tuple[Stored, ...]]]] = {}

    async def build(self, session: Session, message: str, now: datetime, deadline: float) -> Context:
        """Return what the session is told before its reply to a message; `deadline` by the loop's clock."""
        loop = asyncio.get_running_loop()
        settings = session.settings
        span = max(0.0, deadline - loop.time())
        budget = settings.auto_recall.max_injected_tokens
        blocks: list[str] = []
        vector = self._recaller.expect(message) if session.on("autoRecall") else None

        waited = len(session.inbox)
        updates = self._news(session, now)
        changes: tuple[Stored, ...] = ()
        if session.on("incrementalSync") and settings.incremental_sync.check_on_message:
            looked = await self._look_for_changes(session, span * _REFRESH_SHARE, vector)
            if looked:  # one that is late leaves the session as it is: what nobody was told stays news
                session.generation, session.changes, session.sequence, rows = looked
                changes = tuple(row for row in rows if not session.was_told(row.entry.id, row.entry.text))
                session.hold([(row.entry.id, row.entry.text) for row in changes])
            if changes:
                blocks.append(changes_block(changes, self._zone, budget))
            waited += len(session.inbox)
            updates += self._news(session, now)  # what that look has found deleted
            now_says = {row.entry.id: row.entry.text for row in changes}
            updates = tuple(change for change in updates if now_says.get(change.id, change.text) == change.text)
        if waited and session.on("notify"):
            # What was restored may be of origins of which nothing has come since.
            upto = session.restored | {
                origin: max(number, session.restored.get(origin, 0)) for origin, number in self._heard.items()
            }
            await self.within.get("told", span * _TOLD_SHARE, self._journal.event_log.told(session.session_id, upto))
        if updates and settings.notify.inject_summary:
            blocks.append(updates_block(updates, self._zone, budget))

        outcome: Outcome = "disabled"
        recalled: tuple[Hit, ...] = ()
        if session.on("autoRecall"):
            await self.pace.turn(span * PACE_SHARE)
            found = await self._recall(session, message, now, deadline - span * _LAST_SHARE)
            outcome, recalled = (found.outcome, found.hits) if found else ("timeout", ())
            recalled = await self._standing(session, recalled, now, max(0.0, deadline - loop.time()))
            fresh = [hit for hit in recalled if not session.holds(hit.id, hit.text)]
            if fresh:
                blocks.append(recalled_block(fresh, self._zone, budget))
                session.hold([(hit.id, hit.text) for hit in fresh])
        self._metrics.count(f"recall.{outcome}")
        left = min(deadline - loop.time(), span * _TOLD_SHARE)  # without any, what is asked would count as told
        due = left > 0 and self._journal.marks.is_untold(session.scope.key, MEMORY_FULL)
        if due and await self.within.get("notice", left, self._journal.marks.tell(session.scope.key, MEMORY_FULL)):
            blocks.append(full_block())
        return Context(
            text="\n\n".join(block for block in blocks if block),
            outcome=outcome,
            recalled=recalled,
            updates=updates,
            changes=changes,
        )

    async def find(
        self, session: Session, query: str, limit: int, now: datetime, *, only: Filter | None, explain: bool
    ) -> tuple[Hit, ...]:
        """Return the best related hits of a search that was asked for: weak ones too, and the deadline is generous."""
        await self.within.get("sync", _FIND_SECONDS, self._follower.refresh(session.scope))
        if query.strip():
            hits = await self._found(session, query, limit, now, only=only, explain=explain)
        else:
            hits = await self._listed(session, only, limit)
        return await self._standing(session, hits, now, _FIND_SECONDS)

    async def _found(
        self, session: Session, query: str, limit: int, now: datetime, *, only: Filter | None, explain: bool
    ) -> tuple[Hit, ...]:
        search = self._recaller.search(
            [session.scope.key],
            query,
            limit=limit,
            min_score=0.0,
            timeout_seconds=_FIND_SECONDS,
            now=now.timestamp(),
            only=only,
            explain=explain,
        )
        found = await self.within.get("search", _FIND_SECONDS + 1, search)
        return tuple(hit for hit in found.hits if hit.related) if found else ()

    async def _listed(self, session: Session, only: Filter | None, limit: int) -> tuple[Hit, ...]:
        if only is None:
            return ()
        listed = self._recaller.listed(session.scope.key, only, limit)
        # Chosen by its filters alone, each is just what was asked for.
        return tuple(Hit.of(row, 1.0) for row in await self.within.get("search", _FIND_SECONDS, listed) or ())

    async def look(self, session: Session, seconds: float) -> int | None:
        """Let the index follow a session's files and warm it; return the newest line, None when that takes longer."""
        return await self.within.get("open", seconds, self._look(session))

    async def _look(self, session: Session) -> int:
        await self._follower.refresh(session.scope)
        await self._recaller.warm([session.scope.key])
        newest = await self._recaller.newest(session.scope.key, 1)
        return newest[0].sequence if newest else 0

    async def _changes(self, session: Session) -> tuple[int, int, int, tuple[Stored, ...]]:
        """Return the index's generation, its changes, its newest line, and the lines that are new to the session."""
        changes = await self._follower.refresh(session.scope)
        generation = self._recaller.generation
        if session.sequence is None or session.generation != generation:
            # The files were still being read when the session started, or the index is another one: a first look.
            return generation, changes, await self._look(session), ()
        if session.changes == changes:
            return generation, changes, session.sequence, ()
        sequence, rows = await self._recaller.added_since(session.scope.key, session.sequence)
        return generation, changes, sequence, tuple(row for row in rows if row.entry.type != "S")

    async def _recall(self, session: Session, message: str, now: datetime, until: float) -> Recall | None:
        settings = session.settings.auto_recall
        with self._metrics.timed("before_reply.recall"):
            try:
                return await self._recaller.search(  # which keeps to its time
                    [session.scope.key],
                    message,
                    limit=settings.max_results,
                    min_score=settings.min_score,
                    timeout_seconds=max(0.0, until - asyncio.get_running_loop().time()),
                    now=now.timestamp(),
                    preceding=tuple(session.recent),
                )
            except Exception as error:  # noqa: BLE001 - the other parts are worth having
                self.within.note("recall", error)
                return None

    async def _standing(
        self, session: Session, hits: tuple[Hit, ...], now: datetime, seconds: float
    ) -> tuple[Hit, ...]:
        """Return the hits that still hold: what was of use until yesterday may stand in its file a little longer.

        Where the journal is late, all of them.
        """
        if not hits:
            return ()
        looked_up = self._ledger.expired(session.scope.key, day_of(now.timestamp(), self._zone))
        expired = await self.within.get("standing", seconds, looked_up) or []
        return tuple(hit for hit in hits if hit.id not in expired)

    async def _look_for_changes(
        self, session: Session, seconds: float, vector: "asyncio.Future[Any] | None"
    ) -> tuple[int, int, int, tuple[Stored, ...]] | None:
        """Look for new lines; return None where there are none, or it takes longer.

        vector: the message's, which is being made: while it is, this waits too, and looks at what the disk has told
        when it is there. Each turn of the event loop meanwhile would delay it, for want of Python's lock.

        One look at a time: while the disk hangs, only the first message waits for it long.
        """
        key = session.session_id
        looking = self._looking.get(key)
        if looking is not None:
            return await self.within.get("sync", min(seconds, _HANGING_SECONDS), looking)
        began = time.perf_counter()
        patience = min(seconds, _HANGING_SECONDS) if key in self._glancing else seconds
        if await self._is_unchanged(session, patience, vector):
            return None
        looking = self._looking.get(key)  # another message may have begun one
        if looking is None:
            looking = self._looking[key] = asyncio.ensure_future(self._changes(session))
            looking.add_done_callback(lambda _: self._looking.pop(key, None))
        return await self.within.get("sync", max(0.0, seconds - (time.perf_counter() - began)), looking)

    async def _is_unchanged(self, session: Session, seconds: float, vector: "asyncio.Future[Any] | None") -> bool:
        """Return whether a glance finds the files as they were when the session was last told of them."""
        self._glancing.add(session.session_id)
        try:
            glancing = self._follower.look_out(session.scope)
            if vector is not None:
                with self._metrics.timed("before_reply.vector"):
                    await asyncio.wait([vector], timeout=min(seconds, _ALONE_SECONDS))
            with self._metrics.timed("before_reply.glance"):
                return await self._follower.glance(session.scope, glancing, seconds) == session.changes
        except Exception as error:  # noqa: BLE001 - the look itself will say what is wrong
            log.debug("context.glance_failed", error=type(error).__name__)
            return False
        finally:
            self._glancing.discard(session.session_id)

    def _news(self, session: Session, now: datetime) -> tuple[Change, ...]:
        """Take what waits for a session, and return what of it is new to it."""
        if not session.on("notify") or not len(session.inbox):
            return ()
        found: list[Change] = []
        for change in session.inbox.take(now.timestamp()):
            told = session.was_told(change.id, change.text)
            if change.action == "removed" and told:
                session.let_go(change.id, change.text)
                found.append(change)
            elif change.action == "added" and not told:
                session.hold([(change.id, change.text)])
                found.append(change)
        return tuple(found)


def as_query(text: str) -> str:
    """Return a message as it may be searched with: without private spans and secrets, and of a bounded length."""
    return clean(text[:_QUERY_LENGTH]).text
