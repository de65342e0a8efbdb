"""What a session is given before a reply: up to three blocks, within their budgets and within the deadline."""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal

from extractor import Cleaned, is_greeting, is_small_talk, traits_of
from gateway_memory.capture.requests import masked_block
from gateway_memory.context.blocks import (
    changes_block,
    full_block,
    nothing_remembered,
    record_lines,
    relevant_block,
    updates_block,
)
from gateway_memory.context.deadline import ChangeDetector, DeadlineRunner, FileChanges
from gateway_memory.context.finder import TERMS, WordSearch
from gateway_memory.context.hits import (
    Exchange,
    exchanges_of,
    in_one,
    not_in_context,
    quotations_block,
    still_holding,
    strongest,
)
from gateway_memory.context.opening_text import with_marks
from gateway_memory.ground import get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.session import Session
from gateway_memory.store.journal.ledger import MEMORY_FULL
from gateway_memory.store.report import Considered, Fate, ReplyReport
from gateway_memory.sync.follower import Storage
from notifier import MemoryChange
from recall import Filter, Hit, Recall, RecallOutcome, SearchRequest, Span, Stored, talk_of

log = get_logger(__name__)

# The shares of the deadline. A stage that is late is left out, so that the others still have their time.
_SEARCH_UNTIL: Final = 0.96
"""A search gives up here; the rest is for composing the blocks."""
_QUOTE_UNTIL: Final = 0.9
"""What is not read by then is left out: exchanges, session records, marks."""
_FILES_WITHIN: Final = 0.25
"""How long comparing the files may take: a disk that hangs leaves time for the search."""
_JOURNAL_WITHIN: Final = 0.1
"""How long a note in the journal may take. A delivery that is not noted in time is repeated after a restart."""

_ASKED_SESSIONS: Final = 6
"""Session records of the time that a message asks for."""
_WEAK: Final = 3
"""How many hits that are not good enough are reported."""
_WEAK_TRIED: Final = 12
"""The same for a message that is only tried: whoever moves the least score wants to see what it would let in."""
_CANDIDATES_FACTOR: Final = 2
"""Search for this many times the quoted exchanges: some are in context already."""
_MILLISECONDS: Final = 1000.0

Outcome = RecallOutcome | Literal["disabled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What to add to the prompt of this reply, after the stable system prompt.

    text: the blocks; "" where there is nothing to say. outcome: how recall went: "full", "partial" (something was
    late), "empty" (nothing relevant), "disabled" or "timeout". recalled: the relevant memories, best first, including
    those that are in the session's context already, which `text` leaves out. updates: what other sessions learnt, and
    what was forgotten or edited by hand, since the last reply. changes: lines of the files that are new since then.
    report: what was considered, and why it was injected or left out; None where recall is off.
    """

    text: str = ""
    outcome: Outcome = "empty"
    recalled: tuple[Hit, ...] = ()
    updates: tuple[MemoryChange, ...] = ()
    changes: tuple[Stored, ...] = ()
    report: ReplyReport | None = None


@dataclass(slots=True, kw_only=True)
class _Reply:
    """A reply whose context is built, stage by stage.

    at: the time of the message. asked_span: the past time that the message asks about, or None.
    began, deadline: by the loop's clock.
    deliver_pending: whether pending updates may be injected; if not, they stay in the inbox.
    """

    session: Session
    message: str
    at: datetime
    asked_span: Span | None
    began: float
    deadline: float
    deliver_pending: bool

    recall: Recall | None = None
    pending: int = 0
    updates: tuple[MemoryChange, ...] = ()
    changes: tuple[Stored, ...] = ()
    recalled: tuple[Hit, ...] = ()
    blocks: list[str] = field(default_factory=list)
    injected: list[Hit] = field(default_factory=list)
    in_context: list[Hit] = field(default_factory=list)
    over_budget: list[Hit] = field(default_factory=list)
    withheld: frozenset[str] = frozenset()
    milliseconds: dict[str, float] = field(default_factory=dict)
    _started: float = field(default_factory=time.perf_counter)

    @property
    def span(self) -> float:
        """The seconds from its beginning to its deadline."""
        return max(0.0, self.deadline - self.began)

    def left(self, share: float = 1.0) -> float:
        """Return the seconds until a share of the deadline has passed."""
        until = self.deadline - self.span * (1.0 - share)
        return max(0.0, until - asyncio.get_running_loop().time())

    def within(self, share: float) -> float:
        """Return the seconds that a part of this share may take, at most until the deadline."""
        return min(self.left(), self.span * share)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add the block's duration to that of a part."""
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - started) * _MILLISECONDS
            self.milliseconds[part] = self.milliseconds.get(part, 0.0) + spent

    @property
    def outcome(self) -> Outcome:
        """How recall went."""
        if not self.session.on("autoRecall"):
            return "disabled"
        outcome = self.recall.outcome if self.recall else "timeout"
        return "empty" if outcome == "full" and not self.recalled else outcome

    def report(self, holding: frozenset[str]) -> ReplyReport:
        """Return what was considered. holding: the ids of the hits that still hold."""
        settings = self.session.settings.auto_recall
        least = {"episode": 0.0 if self.asked_span else settings.episodes.min_score}
        known: dict[str, Fate] = {hit.id: "over_budget" for hit in self.over_budget}
        known |= {hit.id: "held" for hit in self.in_context}
        known |= {hit.id: "told" for hit in self.injected}

        def fate(hit: Hit) -> Fate:
            if hit.id in known:
                return known[hit.id]
            if hit.id in self.withheld:
                return "withheld"
            if hit.id not in holding:
                return "over"
            return "weak" if hit.score < least.get(hit.kind, settings.min_score) else "over_limit"

        recall = self.recall or Recall()
        rows = [_considered(hit, fate(hit)) for hit in recall.hits]
        rows.sort(key=lambda row: row.fate not in ("told", "held"))  # those that count stand first, each group by score
        rows += [
            _considered(hit, "weak" if hit.score < least.get(hit.kind, settings.min_score) else "far")
            for hit in recall.weak
        ]
        parts = {name: seconds * _MILLISECONDS for name, seconds in recall.stages.items()}
        total = (time.perf_counter() - self._started) * _MILLISECONDS
        milliseconds = {**parts, **self.milliseconds, "total": total}
        return ReplyReport(outcome=self.outcome, milliseconds=milliseconds, rows=rows)


def _considered(hit: Hit, fate: Fate) -> Considered:
    terms = {name: value for name, value in hit.parts.items() if name in TERMS}
    return Considered(id=hit.id, fate=fate, score=hit.score, terms=terms)


def with_notice(context: Context, session: Session, query: Cleaned) -> Context:
    """Return the context with the notice for the assistant that a secret, which the user asks to keep, is masked."""
    notice = masked_block(query) if query.secrets and session.on("autoExtract") else ""
    return replace(context, text=f"{context.text}\n\n{notice}".strip()) if notice else context


class ContextBuilder:
    """Builds a `Context`. A part that fails is logged and left out; the reply never waits past `timeoutMs`.

    delivered: by origin, the last event that was published in this process. only_tries: whether its sessions are none
    of the store's, so that what they are given does not count as delivered.
    """

    def __init__(
        self, runtime: Runtime, storage: Storage, delivered: Mapping[str, int], *, only_tries: bool = False
    ) -> None:
        self.only_tries = only_tries
        self._runtime = runtime
        self._storage = storage
        self._delivered = delivered
        self.runner = DeadlineRunner(runtime)
        self.detector = ChangeDetector(storage, self.runner)
        self._word_search = WordSearch(storage)

    async def build(
        self, session: Session, message: str, now: datetime, deadline: float, *, deliver_pending: bool = True
    ) -> Context:
        """Return the context of the reply to a message.

        deadline: by the loop's clock.
        deliver_pending: whether pending updates may be injected; if not, they stay in the inbox.
        """
        reply = _Reply(
            session=session,
            message=message,
            at=now,
            asked_span=talk_of(message, now.timestamp(), self._runtime.zone) if session.recalls_episodes else None,
            began=asyncio.get_running_loop().time(),
            deadline=deadline,
            deliver_pending=deliver_pending,
        )
        self._storage.episode_follower.look(session.scope.key)
        self._take_pending(reply)
        await self._search(reply)
        self._take_pending(reply)  # updates that came during the search, and lines that the comparison found deleted
        self._inject_changes(reply)
        await self._inject_updates(reply)
        await self._inject_memories(reply)
        await self._inject_notice(reply)
        self._runtime.metrics.count(f"recall.{reply.outcome}")
        hits = reply.recall.hits if reply.recall else ()
        holding = frozenset(hit.id for hit in still_holding(hits, reply.at, self._runtime.zone))
        return Context(
            text="\n\n".join(block for block in reply.blocks if block),
            outcome=reply.outcome,
            recalled=reply.recalled,
            updates=reply.updates,
            changes=reply.changes,
            report=reply.report(holding) if session.on("autoRecall") else None,
        )

    # The stages, in their order

    def _take_pending(self, reply: _Reply) -> None:
        """Move the pending updates into the reply. Drop those that the context has had."""
        session, context = reply.session, reply.session.in_context
        if not (reply.deliver_pending and len(session.pending.inbox)):
            return
        reply.pending += len(session.pending.inbox)
        if not session.on("notify"):
            return
        for change in session.pending.inbox.take(reply.at.timestamp()):
            had = context.had(change.id, change.text)
            if change.action == "removed" and had:
                context.remove(change.id, change.text)
                reply.updates += (change,)
            elif change.action == "added" and not had:
                context.inject([(change.id, change.text)])
                reply.updates += (change,)

    async def _search(self, reply: _Reply) -> None:
        """Search, and compare the files meanwhile. If they have new lines, search again: one may be the answer."""
        with reply.timed("search_and_files"):
            reply.recall, new = await asyncio.gather(self._recall(reply), self._file_changes(reply))
        if new:
            reply.session.positions = {**reply.session.positions, **new.positions}
        if new and new.grown:
            context = reply.session.in_context
            reply.changes = tuple(row for row in new.rows if not context.had(row.entry.id, row.entry.text))
            context.inject([(row.entry.id, row.entry.text) for row in reply.changes])
            with reply.timed("search_again"):
                again = await self._recall(reply)
            reply.recall = again if again and again.outcome != "timeout" else reply.recall

    def _inject_changes(self, reply: _Reply) -> None:
        """Inject the new lines of the files, and drop updates whose memory has another text there."""
        session, budget = reply.session, reply.session.settings.auto_recall.max_injected_tokens
        if not (session.on("incrementalSync") and session.settings.incremental_sync.check_on_message):
            return
        if reply.changes:
            reply.blocks.append(changes_block(reply.changes, self._runtime.zone, budget))
        in_files = {row.entry.id: row.entry.text for row in reply.changes}
        reply.updates = tuple(each for each in reply.updates if in_files.get(each.id, each.text) == each.text)

    async def _inject_updates(self, reply: _Reply) -> None:
        """Inject what other sessions learnt, and note its delivery, so that a restart doesn't repeat it."""
        session = reply.session
        if reply.pending and session.on("notify"):
            restored = session.pending.restored_upto  # the bus knows no origin that has sent nothing since the restart
            upto = restored | {
                origin: max(number, restored.get(origin, 0)) for origin, number in self._delivered.items()
            }
            note = self._storage.event_log.mark_delivered(session.session_id, upto)
            with reply.timed("updates"):
                await self.runner.run("delivered", reply.within(_JOURNAL_WITHIN), note)
        if reply.updates and session.settings.notify.inject_summary:
            budget = session.settings.auto_recall.max_injected_tokens
            reply.blocks.append(updates_block(reply.updates, self._runtime.zone, budget))

    async def _inject_memories(self, reply: _Reply) -> None:
        """Inject the relevant memories, and quote exchanges. What the session's context contains is left out."""
        session, settings, zone = reply.session, reply.session.settings.auto_recall, self._runtime.zone
        if not session.on("autoRecall"):
            return
        with reply.timed("quotations"):
            hits = reply.recall.hits if reply.recall else ()
            likely = tuple(
                hit
                for hit in still_holding(hits, reply.at, zone)
                if hit.kind != "episode" and hit.score >= settings.min_score and traits_of(hit.category).recalled
            )
            exchanges = await self._exchanges(reply, hits)
            memories = await self._marked(reply, likely)
            # Unused episode slots are given to memories.
            free = settings.episodes.max_results - len(exchanges) if session.recalls_episodes else 0
            memories = strongest(memories, settings.max_results + free)
            fresh = [hit for hit in memories if not session.in_context.has(hit.id, hit.text)]
            reply.in_context += [hit for hit in memories if hit not in fresh]
            if fresh:
                block = relevant_block(fresh, zone, settings.max_injected_tokens)
                reply.blocks.append(block)
                for hit in fresh:
                    (reply.injected if f"({hit.id}, " in block else reply.over_budget).append(hit)
                session.in_context.inject([(hit.id, hit.text) for hit in fresh])
            reply.injected += [exchange.hit for exchange in exchanges]
            reply.recalled = (*memories, *(exchange.hit for exchange in exchanges))
            first = await self._of_asked_span(reply)
            if exchanges or first:
                budget = settings.episodes.max_injected_tokens
                reply.blocks.append(quotations_block(session, exchanges, reply.message, zone, budget, first))

    async def _inject_notice(self, reply: _Reply) -> None:
        """Inject the notice that MEMORY.md is full, once. It is marked as delivered only where it is in the prompt."""
        ledger, scope = self._storage.ledger, reply.session.scope.key
        if not (self.only_tries or ledger.may_be_due(scope, MEMORY_FULL)):
            return
        if await self.runner.run("notice", reply.within(_JOURNAL_WITHIN), ledger.is_due(scope, MEMORY_FULL)):
            reply.blocks.append(full_block())
            if self.only_tries:
                return
            await self.runner.run("notice", reply.within(_JOURNAL_WITHIN), ledger.take_notice(scope, MEMORY_FULL))

    # What the stages need

    async def _of_asked_span(self, reply: _Reply) -> list[str]:
        """Return the session records of the days that the message asks about, or a line that there is nothing."""
        if reply.asked_span is None or reply.recall is None or reply.recall.outcome == "timeout":
            return []
        only = Filter(since=reply.asked_span.start, until=reply.asked_span.end)
        read = self._word_search.find(reply.session.scope, "", {"record"}, _ASKED_SESSIONS, only)
        records = await self.runner.run("records", reply.left(_QUOTE_UNTIL), read)
        if records == [] and not reply.recall.hits:
            return [nothing_remembered(reply.message, reply.asked_span, self._runtime.zone)]
        budget = reply.session.settings.auto_recall.episodes.max_injected_tokens
        return record_lines(records or [], reply.message, self._runtime.zone, budget)

    async def _recall(self, reply: _Reply) -> Recall | None:
        """Search for what the message needs; None where recall is off or fails."""
        session = reply.session
        if not session.on("autoRecall"):
            return None
        if is_greeting(reply.message) or is_small_talk(reply.message):  # earlier messages do not matter to it
            return Recall()
        settings, span = session.settings.auto_recall, reply.asked_span
        episodes = _CANDIDATES_FACTOR * settings.episodes.max_results if session.recalls_episodes else 0
        least = min(settings.min_score, settings.episodes.min_score) if episodes else settings.min_score
        try:
            with self._runtime.metrics.timed("before_reply.recall"):
                searches = [
                    self._storage.recaller.search(
                        SearchRequest(
                            scope=scope.key,
                            query=reply.message,
                            limit=settings.max_results,
                            episodes=episodes if scope == session.scope else 0,
                            min_score=0.0 if span else least,
                            now=reply.at.timestamp(),
                            preceding=tuple(session.recent),
                            only=Filter(since=span.start, until=span.end) if span else None,
                            explain=True,
                            weak=_WEAK_TRIED if self.only_tries else _WEAK,
                        ),
                        timeout_seconds=reply.left(_SEARCH_UNTIL),
                    )
                    for scope in session.who.scopes
                ]
                return await in_one(searches)
        except Exception as error:  # noqa: BLE001 - the other parts are worth having
            self.runner.note("recall", error)
            return None

    async def _marked(self, reply: _Reply, memories: Sequence[Hit]) -> Sequence[Hit]:
        """Mark the memories that may no longer hold."""
        if not memories:
            return ()
        reads = asyncio.gather(*(self._storage.ledger.outdated(scope.key) for scope in reply.session.who.scopes))
        outdated = await self.runner.run("outdated", reply.left(_QUOTE_UNTIL), reads)
        return with_marks(memories, {identity for each in outdated or () for identity in each})

    async def _exchanges(self, reply: _Reply, hits: Sequence[Hit]) -> list[Exchange]:
        """Return the exchanges to quote: those that the session's context does not contain."""
        passages = [hit for hit in hits if hit.kind == "episode"]
        if not passages:
            return []
        read = exchanges_of(self._storage.episodes, reply.session.scope.key, passages, reply.message)
        exchanges = await self.runner.run("episodes", reply.left(_QUOTE_UNTIL), read)
        if exchanges is None:
            return []
        quotable = {each.hit.id for each in exchanges}
        reply.withheld = frozenset(hit.id for hit in passages if hit.id not in quotable)
        settings = reply.session.settings.auto_recall.episodes
        likely = [each for each in exchanges if reply.asked_span or each.hit.score >= settings.min_score]
        fresh = not_in_context(reply.session, likely, again=reply.asked_span is not None)
        reply.in_context += [exchange.hit for exchange in likely if exchange not in fresh]
        quoted = fresh[: settings.max_results]
        return sorted(quoted, key=lambda exchange: exchange.hit.turn) if reply.asked_span else quoted

    async def _file_changes(self, reply: _Reply) -> FileChanges | None:
        """Return the new lines of the session's files. None: there are none, or it is late. The position stays then."""
        session = reply.session
        if not (session.on("incrementalSync") and session.settings.incremental_sync.check_on_message):
            return None
        return await self.detector.since_last(session, reply.span * _FILES_WITHIN)
