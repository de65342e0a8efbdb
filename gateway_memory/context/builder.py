"""What a session is told before a reply: up to three blocks, within their budgets and within the deadline."""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Final, Literal

from extractor import is_greeting, is_small_talk, traits_of
from gateway_memory.context.blocks import changes_block, full_block, record_lines, said_nothing, updates_block
from gateway_memory.context.deadline import ChangeDetector, DeadlineRunner, FileChanges
from gateway_memory.context.episodes import Exchange, exchanges_of, quotations_block, unsaid_before
from gateway_memory.context.finder import Archive, in_one, still_holding, strongest
from gateway_memory.context.opening_text import with_marks
from gateway_memory.context.relevant import relevant_block
from gateway_memory.runtime.ground import get_logger
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.session import Session
from gateway_memory.store.journal.ledger import MEMORY_FULL
from gateway_memory.store.report import Considered, Fate, ReplyReport
from gateway_memory.sync.storage import Storage
from notifier import MemoryChange
from recall import Filter, Hit, Recall, RecallOutcome, Span, Stored, talk_of

__all__ = ["Context", "ContextBuilder"]

log = get_logger(__name__)

# Records what was considered for a reply, and what became of it.

_TERMS: Final = frozenset(
    "words meaning recency importance form speaker date turn task version".split()
)  # the summands of a rank; the rest is left out
_MILLISECONDS: Final = 1000.0


class Reporter:
    """Gathers the report of one reply.

    told: the hits that the context tells, best first. held: those that the session's context holds already.
    """

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}
        self.found: Recall | None = None
        self.told: list[Hit] = []
        self.held: list[Hit] = []
        self.cut: list[Hit] = []
        self._started = time.perf_counter()

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add the block's duration to that of a part."""
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - started) * _MILLISECONDS
            self.milliseconds[part] = self.milliseconds.get(part, 0.0) + spent

    def report(
        self, outcome: str, now: datetime, zone: tzinfo | None, *, least: float, least_episode: float
    ) -> ReplyReport:
        """Return the report. least, least_episode: the scores from which a memory and an exchange are told."""
        hits = self.found.hits if self.found else ()
        holding = {hit.id for hit in still_holding(hits, now, zone)}
        known: dict[str, Fate] = {hit.id: "over_budget" for hit in self.cut}
        known |= {hit.id: "held" for hit in self.held}
        known |= {hit.id: "told" for hit in self.told}

        def fate(hit: Hit) -> Fate:
            if hit.id in known:
                return known[hit.id]
            if hit.id not in holding:
                return "over"
            return "weak" if hit.score < (least_episode if hit.kind == "episode" else least) else "over_limit"

        rows = [_considered(hit, fate(hit)) for hit in hits]
        rows.sort(key=lambda row: row.fate not in ("told", "held"))  # those that count stand first, each group by score
        rows += [_considered(hit, "weak") for hit in (self.found.weak if self.found else ())]
        stages = self.found.stages if self.found else {}
        parts = {name: seconds * _MILLISECONDS for name, seconds in stages.items()}
        total = (time.perf_counter() - self._started) * _MILLISECONDS
        return ReplyReport(outcome=outcome, milliseconds={**parts, **self.milliseconds, "total": total}, rows=rows)


def _considered(hit: Hit, fate: Fate) -> Considered:
    terms = {name: value for name, value in hit.parts.items() if name in _TERMS}
    return Considered(id=hit.id, fate=fate, score=hit.score, terms=terms)


_REFRESH_SHARE: Final = 0.25
"""The share of the deadline for comparing the files: a hung disk leaves time for the rest."""
_TOLD_SHARE: Final = 0.1
"""The share of the deadline for notes in the journal: where noting what a session was told takes longer, a restart may
tell it again."""
_LAST_SHARE: Final = 0.04
"""The share of the deadline that is reserved for composing the result."""
_TALKED_SESSIONS: Final = 6
"""Session records of the time that a message asks for."""
_WEAK: Final = 3
"""How many of those below the least score are reported."""
_CANDIDATES_FACTOR: Final = 2
"""Exchanges that are looked for, as a multiple of those that are quoted: some are in the session's context already."""

Outcome = RecallOutcome | Literal["disabled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What to add to the prompt of this reply, after the stable system prompt.

    text: the blocks; "" where there is nothing to say. outcome: how recall went: "full", "partial" (something was
    late), "empty" (nothing relevant), "disabled" or "timeout". recalled: the relevant memories, best first, including
    those that the session was shown before, which `text` leaves out. updates: what other sessions learnt, and what was
    forgotten or edited by hand, since the last reply. changes: lines of the files that are new since then. report: what
    was considered, and why it was told or left out; None where recall is off.
    """

    text: str = ""
    outcome: Outcome = "empty"
    recalled: tuple[Hit, ...] = ()
    updates: tuple[MemoryChange, ...] = ()
    changes: tuple[Stored, ...] = ()
    report: ReplyReport | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A message before its reply. at: when it is asked. talk: the past time whose talk it asks for, or None.

    reporter: gathers what becomes of it.
    """

    text: str
    at: datetime
    talk: Span | None
    reporter: Reporter


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
        self._archive = Archive(storage)

    async def build(
        self, session: Session, message: str, now: datetime, deadline: float, *, hears: bool = True
    ) -> Context:
        """Return what the session is told before its reply to a message.

        deadline: by the loop's clock. hears: whether it is told what waits for it; else that waits on.
        """
        loop = asyncio.get_running_loop()
        settings = session.settings
        span = max(0.0, deadline - loop.time())
        budget = settings.auto_recall.max_injected_tokens
        blocks: list[str] = []
        until = deadline - span * _LAST_SHARE

        talk = talk_of(message, now.timestamp(), self._runtime.zone) if session.recalls_episodes else None
        reporter = Reporter()
        question = _Question(text=message, at=now, talk=talk, reporter=reporter)
        self._storage.episode_follower.look(session.scope.key)
        waited = len(session.pending.inbox) if hears else 0
        updates = self._news(session, now) if hears else ()
        changes: tuple[Stored, ...] = ()
        with reporter.timed("search_and_files"):
            found, new = await asyncio.gather(
                self._recall(session, question, until), self._file_changes(session, span * _REFRESH_SHARE)
            )
        if new:
            session.position = new.position
            changes = tuple(row for row in new.rows if not session.context.had(row.entry.id, row.entry.text))
            session.context.inject([(row.entry.id, row.entry.text) for row in changes])
            # A line that is new may be the answer.
            with reporter.timed("search_again"):
                again = await self._recall(session, question, until)
            found = again if again and again.outcome != "timeout" else found
        if hears:
            waited += len(session.pending.inbox)
            updates += self._news(session, now)  # what has come meanwhile, and what the refresh has found deleted
        if session.on("incrementalSync") and settings.incremental_sync.check_on_message:
            if changes:
                blocks.append(changes_block(changes, self._runtime.zone, budget))
            now_says = {row.entry.id: row.entry.text for row in changes}
            updates = tuple(change for change in updates if now_says.get(change.id, change.text) == change.text)
        if waited and session.on("notify"):
            with reporter.timed("updates"):
                await self._mark_delivered(session, min(deadline - loop.time(), span * _TOLD_SHARE))
        if updates and settings.notify.inject_summary:
            blocks.append(updates_block(updates, self._runtime.zone, budget))

        outcome: Outcome = "disabled"
        recalled: tuple[Hit, ...] = ()
        if session.on("autoRecall"):
            outcome = found.outcome if found else "timeout"
            with reporter.timed("quotations"):
                told, recalled = await self._recalled(session, question, found, deadline - span * _TOLD_SHARE)
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
            report=self._report(session, question, outcome) if session.on("autoRecall") else None,
        )

    async def _mark_delivered(self, session: Session, left: float) -> None:
        """Note which updates the session has received, within the seconds that are left."""
        # What was restored may be from origins that have sent nothing since.
        upto = session.pending.restored | {
            origin: max(number, session.pending.restored.get(origin, 0)) for origin, number in self._heard.items()
        }
        await self.runner.run("told", max(0.0, left), self._storage.event_log.mark_delivered(session.session_id, upto))

    def _report(self, session: Session, question: _Question, outcome: Outcome) -> ReplyReport:
        settings, zone = session.settings.auto_recall, self._runtime.zone
        least_episode = 0.0 if question.talk else settings.episodes.min_score
        return question.reporter.report(
            outcome, question.at, zone, least=settings.min_score, least_episode=least_episode
        )

    async def _recalled(
        self, session: Session, question: _Question, found: Recall | None, until: float
    ) -> tuple[list[str], tuple[Hit, ...]]:
        """Return the blocks of relevant memories and of quotations, and what is relevant. `until`: by the loop's clock.

        The blocks leave out what the session has been shown.
        """
        settings, zone, reporter = session.settings.auto_recall, self._runtime.zone, question.reporter
        hits, reporter.found = found.hits if found else (), found
        memories = tuple(
            hit
            for hit in still_holding(hits, question.at, self._runtime.zone)
            if hit.kind != "episode" and hit.score >= settings.min_score and traits_of(hit.category).recalled
        )
        exchanges = await self._exchanges(session, hits, question, until)
        # What no exchange takes of their places goes to more memories.
        free = settings.episodes.max_results - len(exchanges) if session.recalls_episodes else 0
        memories = strongest(memories, settings.max_results + free)
        blocks: list[str] = []
        fresh = [hit for hit in memories if not session.context.has(hit.id, hit.text)]
        reporter.held += [hit for hit in memories if hit not in fresh]
        if fresh:
            blocks.append(relevant_block(fresh, zone, settings.max_injected_tokens))
            for hit in fresh:
                (reporter.told if f"({hit.id}, " in blocks[-1] else reporter.cut).append(hit)
            session.context.inject([(hit.id, hit.text) for hit in fresh])
        budget = settings.episodes.max_injected_tokens
        reporter.told += [exchange.hit for exchange in exchanges]
        first = await self._of_talk(session, question, found, until)
        if exchanges or first:
            blocks.append(quotations_block(session, exchanges, question.text, zone, budget, first))
        return blocks, (*memories, *(exchange.hit for exchange in exchanges))

    async def _of_talk(self, session: Session, question: _Question, found: Recall | None, until: float) -> list[str]:
        """Return what the records say of the time whose talk is asked for, or that nothing is remembered from it."""
        if question.talk is None or found is None or found.outcome == "timeout":
            return []
        left = until - asyncio.get_running_loop().time()
        only = Filter(since=question.talk.start, until=question.talk.end)
        read = self._archive.find(session.scope, "", {"record"}, _TALKED_SESSIONS, only)
        records = await self.runner.run("records", left, read)
        if records == [] and not found.hits:
            return [said_nothing(question.text, question.talk, self._runtime.zone)]
        budget = session.settings.auto_recall.episodes.max_injected_tokens
        return record_lines(records or [], question.text, self._runtime.zone, budget)

    async def _recall(self, session: Session, question: _Question, until: float) -> Recall | None:
        """Search for what a message needs, and mark what may no longer hold; `until` by the loop's clock."""
        if not session.on("autoRecall"):
            return None
        left = max(0.0, until - asyncio.get_running_loop().time())
        if session.who.joined:
            await self.runner.completes("sync", left * _REFRESH_SHARE, self._follow_joined(session))
        found, outdated = await asyncio.gather(
            self._search(session, question, left),
            self.runner.run("outdated", left * _REFRESH_SHARE, self._outdated(session)),
        )
        return replace(found, hits=tuple(with_marks(found.hits, outdated))) if found and outdated else found

    async def _search(self, session: Session, question: _Question, seconds: float) -> Recall | None:
        settings, message, talk = session.settings.auto_recall, question.text, question.talk
        if is_greeting(message) or is_small_talk(message):  # whatever was asked before it
            return Recall()
        episodes = _CANDIDATES_FACTOR * settings.episodes.max_results if session.recalls_episodes else 0
        least = min(settings.min_score, settings.episodes.min_score) if episodes else settings.min_score
        try:
            with self._runtime.metrics.timed("before_reply.recall"):
                searches = [
                    self._storage.recaller.search(
                        scope.key,
                        message,
                        limit=settings.max_results,
                        episodes=episodes if scope == session.scope else 0,
                        min_score=0.0 if talk else least,
                        timeout_seconds=seconds,
                        now=question.at.timestamp(),
                        preceding=tuple(session.recent),
                        only=Filter(since=talk.start, until=talk.end) if talk else None,
                        explain=True,
                        weak=_WEAK,
                    )
                    for scope in session.who.scopes
                ]
                return await in_one(searches)
        except Exception as error:  # noqa: BLE001 - the other parts are worth having
            self.runner.note("recall", error)
            return None

    async def _outdated(self, session: Session) -> set[str]:
        """Return the ids of memories that may no longer hold."""
        return {identity for scope in session.who.scopes for identity in await self._storage.ledger.outdated(scope.key)}

    async def _follow_joined(self, session: Session) -> None:
        """Let the index follow the files of the shared scopes that a session reads."""
        for scope in session.who.joined:
            await self._storage.follower.refresh(scope)

    async def _exchanges(
        self, session: Session, hits: Sequence[Hit], question: _Question, until: float
    ) -> list[Exchange]:
        """Return the exchanges to quote: those that the session's context does not contain. `until`: loop time."""
        left = until - asyncio.get_running_loop().time()
        told = exchanges_of(self._storage.episodes, session.scope.key, hits, question.text)
        found = await self.runner.run("episodes", left, told) or []
        settings = session.settings.auto_recall.episodes
        likely = [exchange for exchange in found if question.talk or exchange.hit.score >= settings.min_score]
        unsaid = unsaid_before(session, likely, again=question.talk is not None)
        question.reporter.held += [exchange.hit for exchange in likely if exchange not in unsaid]
        said = unsaid[: settings.max_results]
        return sorted(said, key=lambda exchange: exchange.hit.turn) if question.talk else said

    async def _file_changes(self, session: Session, seconds: float) -> FileChanges | None:
        """Return what is new in a session's files. One that is late leaves the session as it is."""
        if not (session.on("incrementalSync") and session.settings.incremental_sync.check_on_message):
            return None
        return await self.changes.since_last(session, seconds)

    def _news(self, session: Session, now: datetime) -> tuple[MemoryChange, ...]:
        """Take what waits for a session, and return what of it is new to it."""
        if not session.on("notify") or not len(session.pending.inbox):
            return ()
        found: list[MemoryChange] = []
        for change in session.pending.inbox.take(now.timestamp()):
            told = session.context.had(change.id, change.text)
            if change.action == "removed" and told:
                session.context.remove(change.id, change.text)
                found.append(change)
            elif change.action == "added" and not told:
                session.context.inject([(change.id, change.text)])
                found.append(change)
        return tuple(found)
