"""What a session is told before a reply: up to three blocks, within their budgets and within the deadline."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from extractor import Cleaned, clean, is_greeting, is_small_talk, traits_of
from gateway_memory.clock import day_of
from gateway_memory.context.blocks import changes_block, full_block, recalled_block, updates_block
from gateway_memory.context.deadline_runner import DeadlineRunner
from gateway_memory.context.episodes import (
    Exchange,
    exchanges_of,
    quotations_block,
    shown_exchanges,
    told_hit,
    unsaid_before,
)
from gateway_memory.context.file_changes import ChangeDetector, FileChanges
from gateway_memory.observability.logger import get_logger
from gateway_memory.runtime import Runtime
from gateway_memory.session import Session
from gateway_memory.store.ports.ledger import MEMORY_FULL
from gateway_memory.sync.storage import Storage
from notifier import MemoryChange
from recall import Filter, Hit, Recall, RecallOutcome, Stored

__all__ = ["Context", "ContextBuilder", "as_query"]

log = get_logger(__name__)

_REFRESH_SHARE: Final = 0.25
"""The share of the deadline for comparing the files: a hung disk leaves time for the rest."""
_TOLD_SHARE: Final = 0.1
"""The share of the deadline for notes in the journal: where noting what a session was told takes longer, a restart may
tell it again."""
_LAST_SHARE: Final = 0.04
"""The share of the deadline that is reserved for composing the result."""
_CANDIDATES_FACTOR: Final = 2
"""Exchanges that are looked for, as a multiple of those that are quoted: some are in the session's context already."""
_FIND_SECONDS: Final = 10.0
_QUERY_LENGTH: Final = 8000

Outcome = RecallOutcome | Literal["disabled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What to add to the prompt of this reply, after the stable system prompt.

    text: the blocks; "" where there is nothing to say. outcome: how recall went: "full", "partial" (something was
    late), "empty" (nothing relevant), "disabled" or "timeout". recalled: the relevant memories, best first, including
    those that the session was shown before, which `text` leaves out. updates: what other sessions learnt, and what was
    forgotten or edited by hand, since the last reply. changes: lines of the files that are new since then.
    """

    text: str = ""
    outcome: Outcome = "empty"
    recalled: tuple[Hit, ...] = ()
    updates: tuple[MemoryChange, ...] = ()
    changes: tuple[Stored, ...] = ()


class ContextBuilder:
    """Builds a `Context`. A part that fails is logged and left out; the reply never waits past `timeoutMs`.

    heard: up to which number this process's sessions have received each origin's events.
    """

    def __init__(self, runtime: Runtime, storage: Storage, heard: Mapping[str, int]) -> None:
        self._runtime = runtime
        self._storage = storage
        self._heard = heard
        self.runner = DeadlineRunner(runtime)
        self.changes = ChangeDetector(storage, self.runner)

    async def build(self, session: Session, message: str, now: datetime, deadline: float) -> Context:
        """Return what the session is told before its reply to a message. deadline: by the loop's clock."""
        loop = asyncio.get_running_loop()
        settings = session.settings
        span = max(0.0, deadline - loop.time())
        budget = settings.auto_recall.max_injected_tokens
        blocks: list[str] = []
        until = deadline - span * _LAST_SHARE

        self._storage.episode_follower.look(session.scope.key)
        waited = len(session.inbox)
        updates = self._news(session, now)
        changes: tuple[Stored, ...] = ()
        found, new = await asyncio.gather(
            self._recall(session, message, now, until), self._file_changes(session, span * _REFRESH_SHARE)
        )
        if new:
            session.follow(new.generation, new.revision, new.changes)
            changes = tuple(row for row in new.rows if not session.was_shown(row.entry.id, row.entry.text))
            session.mark_shown([(row.entry.id, row.entry.text) for row in changes])
            # A line that is new may be the answer.
            again = await self._recall(session, message, now, until)
            found = again if again and again.outcome != "timeout" else found
        if session.on("incrementalSync") and settings.incremental_sync.check_on_message:
            if changes:
                blocks.append(changes_block(changes, self._runtime.zone, budget))
            waited += len(session.inbox)
            updates += self._news(session, now)  # what the refresh has found deleted
            now_says = {row.entry.id: row.entry.text for row in changes}
            updates = tuple(change for change in updates if now_says.get(change.id, change.text) == change.text)
        if waited and session.on("notify"):
            # What was restored may be from origins that have sent nothing since.
            upto = session.restored | {
                origin: max(number, session.restored.get(origin, 0)) for origin, number in self._heard.items()
            }
            left = max(0.0, min(deadline - loop.time(), span * _TOLD_SHARE))
            await self.runner.run("told", left, self._storage.notices.mark_delivered(session.session_id, upto))
        if updates and settings.notify.inject_summary:
            blocks.append(updates_block(updates, self._runtime.zone, budget))

        outcome: Outcome = "disabled"
        recalled: tuple[Hit, ...] = ()
        if session.on("autoRecall"):
            outcome = found.outcome if found else "timeout"
            told, recalled = await self._recalled(session, message, found, now, deadline - span * _TOLD_SHARE)
            blocks += told
            if outcome == "full" and not recalled:
                outcome = "empty"
        self._runtime.metrics.count(f"recall.{outcome}")
        left = min(deadline - loop.time(), span * _TOLD_SHARE)  # without any, what is asked would count as told
        due = left > 0 and self._storage.ledger.may_be_due(session.scope.key, MEMORY_FULL)
        if due and await self.runner.run(
            "notice", left, self._storage.ledger.take_notice(session.scope.key, MEMORY_FULL)
        ):
            blocks.append(full_block())
        return Context(
            text="\n\n".join(block for block in blocks if block),
            outcome=outcome,
            recalled=recalled,
            updates=updates,
            changes=changes,
        )

    async def _recalled(
        self, session: Session, message: str, found: Recall | None, now: datetime, until: float
    ) -> tuple[list[str], tuple[Hit, ...]]:
        """Return the blocks of relevant memories and of quotations, and what is relevant. `until`: by the loop's clock.

        The blocks leave out what the session has been shown.
        """
        settings, zone = session.settings.auto_recall, self._runtime.zone
        hits = found.hits if found else ()
        memories = tuple(
            hit
            for hit in self._standing(hits, now)
            if hit.kind != "episode" and hit.score >= settings.min_score and traits_of(hit.category).recalled
        )
        exchanges = await self._exchanges(session, hits, message, until)
        # What no exchange takes of their places goes to more memories.
        free = settings.episodes.max_results - len(exchanges) if session.recalls_episodes else 0
        memories = memories[: settings.max_results + free]
        blocks: list[str] = []
        fresh = [hit for hit in memories if not session.shows(hit.id, hit.text)]
        if fresh:
            blocks.append(recalled_block(fresh, zone, settings.max_injected_tokens))
            session.mark_shown([(hit.id, hit.text) for hit in fresh])
        if exchanges:
            blocks.append(quotations_block(session, exchanges, message, zone, settings.episodes.max_injected_tokens))
        return blocks, (*memories, *(exchange.hit for exchange in exchanges))

    async def find(
        self, session: Session, query: str, limit: int, now: datetime, *, only: Filter | None, explain: bool
    ) -> tuple[Hit, ...]:
        """Return the best related hits of a search that was asked for: weak ones too, and the deadline is generous."""
        await self.runner.run("sync", _FIND_SECONDS, self._storage.follower.refresh(session.scope))
        if query.strip():
            hits = await self._found(session, query, limit, now, only=only, explain=explain)
        else:
            hits = await self._listed(session, only, limit)
        return self._standing(hits, now)

    async def get(self, session: Session, identity: str, around: int) -> tuple[Hit, ...]:
        """Return a memory or a turn by its hit's id, with up to `around` turns before and after it, oldest first."""
        storage, scope = self._storage, session.scope
        await self.runner.run("sync", _FIND_SECONDS, storage.follower.refresh(scope))
        row = await storage.recaller.get(scope.key, identity)
        if row is None:
            return ()
        of_turn = session.recalls_episodes and row.entry.turn
        turns = await storage.episodes.around(scope.key, row.entry.turn, around) if of_turn else []
        told = await storage.episodes.told(scope.key, turns)
        said = {turn: hit for turn in turns if (hit := told_hit(told, turn))}
        if row.entry.kind == "episode":
            return tuple(said.values()) if row.entry.turn in said else ()
        found = self._standing((Hit.of(row, 1.0),), self._runtime.clock())
        before = [hit for turn, hit in said.items() if turn < row.entry.turn]
        from_it = [hit for turn, hit in said.items() if turn >= row.entry.turn]
        return (*before, *found, *from_it) if found else ()

    async def _found(
        self, session: Session, query: str, limit: int, now: datetime, *, only: Filter | None, explain: bool
    ) -> tuple[Hit, ...]:
        search = self._storage.recaller.search(
            session.scope.key,
            query,
            limit=limit,
            episodes=limit if session.recalls_episodes else 0,
            min_score=0.0,
            timeout_seconds=_FIND_SECONDS,
            now=now.timestamp(),
            only=only,
            explain=explain,
        )
        found = await self.runner.run("search", _FIND_SECONDS + 1, search)
        if not found:
            return ()
        told = exchanges_of(self._storage.episodes, session.scope.key, found.hits, query)
        exchanges = await self.runner.run("episodes", _FIND_SECONDS, told) or ()
        return shown_exchanges(found.hits, exchanges)[:limit]

    async def _listed(self, session: Session, only: Filter | None, limit: int) -> tuple[Hit, ...]:
        listed = self._storage.recaller.listed(session.scope.key, only or Filter(), limit)
        # Chosen by its filters alone, each is just what was asked for.
        return tuple(Hit.of(row, 1.0) for row in await self.runner.run("search", _FIND_SECONDS, listed) or ())

    async def _recall(self, session: Session, message: str, now: datetime, until: float) -> Recall | None:
        """Search for a message; `until` by the loop's clock."""
        if not session.on("autoRecall"):
            return None
        settings = session.settings.auto_recall
        quoting = session.recalls_episodes and not is_greeting(message) and not is_small_talk(message)
        episodes = _CANDIDATES_FACTOR * settings.episodes.max_results if quoting else 0
        try:
            with self._runtime.metrics.timed("before_reply.recall"):
                return await self._storage.recaller.search(
                    session.scope.key,
                    message,
                    limit=settings.max_results,
                    episodes=episodes,
                    min_score=min(settings.min_score, settings.episodes.min_score) if episodes else settings.min_score,
                    timeout_seconds=max(0.0, until - asyncio.get_running_loop().time()),
                    now=now.timestamp(),
                    preceding=tuple(session.recent),
                )
        except Exception as error:  # noqa: BLE001 - the other parts are worth having
            self.runner.note("recall", error)
            return None

    async def _exchanges(self, session: Session, hits: Sequence[Hit], message: str, until: float) -> list[Exchange]:
        """Return the exchanges to quote: those that the session's context does not contain. `until`: loop time."""
        left = until - asyncio.get_running_loop().time()
        told = exchanges_of(self._storage.episodes, session.scope.key, hits, message)
        found = await self.runner.run("episodes", left, told) or []
        settings = session.settings.auto_recall.episodes
        likely = [exchange for exchange in found if exchange.hit.score >= settings.min_score]
        return unsaid_before(session, likely)[: settings.max_results]

    async def _file_changes(self, session: Session, seconds: float) -> FileChanges | None:
        """Return what is new in a session's files. One that is late leaves the session as it is."""
        if not (session.on("incrementalSync") and session.settings.incremental_sync.check_on_message):
            return None
        return await self.changes.since_last(session, seconds)

    def _standing(self, hits: tuple[Hit, ...], now: datetime) -> tuple[Hit, ...]:
        """Return the hits that still hold: what was of use until yesterday may stand in its file a little longer."""
        today = day_of(now.timestamp(), self._runtime.zone)
        return tuple(hit for hit in hits if hit.holds_on(today))

    def _news(self, session: Session, now: datetime) -> tuple[MemoryChange, ...]:
        """Take what waits for a session, and return what of it is new to it."""
        if not session.on("notify") or not len(session.inbox):
            return ()
        found: list[MemoryChange] = []
        for change in session.inbox.take(now.timestamp()):
            told = session.was_shown(change.id, change.text)
            if change.action == "removed" and told:
                session.unmark(change.id, change.text)
                found.append(change)
            elif change.action == "added" and not told:
                session.mark_shown([(change.id, change.text)])
                found.append(change)
        return tuple(found)


def as_query(text: str) -> Cleaned:
    """Return a message as a query: without private spans and secrets, and of a bounded length."""
    return clean(text[:_QUERY_LENGTH])
