"""What a session is given before a reply: up to three blocks, within their budgets and within the deadline."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal

from extractor import Cleaned, is_greeting, is_small_talk, traits_of
from gateway_memory.capture.requests import request_in
from gateway_memory.capture.unkept import masked_block, unkept_block
from gateway_memory.context.blocks import (
    changes_block,
    full_block,
    marked_updates,
    new_lines,
    nothing_remembered,
    record_lines,
    relevant_block,
    told,
    updates_block,
)
from gateway_memory.context.coming import MOST, READ, ahead_of, asked_days, coming_block
from gateway_memory.context.deadline import DeadlineRunner
from gateway_memory.context.exchanges import Exchange, exchanges_of, not_in_context, quotable_for
from gateway_memory.context.file_changes import ChangeDetector, FileChanges
from gateway_memory.context.finder import TERMS
from gateway_memory.context.hits import in_one, reranked, strongest, told_hits
from gateway_memory.context.quotations import quotations_block, without_repeats
from gateway_memory.context.requested import question_due, requested
from gateway_memory.context.word_search import WordSearch
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.parts import Reranker
from gateway_memory.sessions.session import Session
from gateway_memory.store.journal.episodes import Quotable
from gateway_memory.store.journal.ledger import MEMORY_FULL
from gateway_memory.store.report import Considered, Fate, ReplyReport, Requested
from gateway_memory.store.told import Told
from gateway_memory.store.validity import Today, Validity
from gateway_memory.sync.storage import Storage
from notifier import MemoryChange
from recall import Filter, Hit, Recall, RecallOutcome, SearchRequest, Span, Stored, asks_what_was, talk_of

log = get_logger(__name__)

# The shares of the deadline. A stage that is late is left out, so that the others still have their time.
_SEARCH_UNTIL: Final = 0.96
"""A search gives up here; the rest is for composing the blocks."""
_QUOTE_UNTIL: Final = 0.9
"""What is not read by then is left out: exchanges, session records, marks."""
_FILES_WITHIN: Final = 0.25
"""How long comparing the files may take: a disk that hangs leaves time for the search."""
_RERANK_WITHIN: Final = 0.3
"""How long a reranker may take; late, what was found keeps its order."""
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
    request: what the message asks of the memory itself, None for any other message.
    report: what was considered, and why it was injected or left out; None where recall is off.
    """

    text: str = ""
    outcome: Outcome = "empty"
    recalled: tuple[Hit, ...] = ()
    updates: tuple[MemoryChange, ...] = ()
    changes: tuple[Stored, ...] = ()
    request: Requested | None = None
    report: ReplyReport | None = None


@dataclass(slots=True, kw_only=True)
class _Reply:
    """A reply whose context is built, stage by stage.

    at: the time of the message. asked_span: the past time that the message asks about, or None. quotable: what may be
    quoted of the exchanges that were found; None where it could not be read. validities: what holds, by scope; nothing
    where it could not be read. hits: those that may be told.
    began, deadline: by the loop's clock.
    deliver_pending: whether pending updates may be injected; if not, they stay in the inbox.
    published_upto: by origin, the last event that had been published when the pending updates were taken.
    """

    session: Session
    message: str
    at: datetime
    asked_span: Span | None
    began: float
    deadline: float
    deliver_pending: bool

    recall: Recall | None = None
    quotable: Quotable | None = None
    validities: Mapping[str, Validity] = field(default_factory=dict)
    hits: tuple[Hit, ...] = ()
    pending: int = 0
    published_upto: Mapping[str, int] = field(default_factory=dict)
    updates: tuple[MemoryChange, ...] = ()
    changes: tuple[Stored, ...] = ()
    recalled: tuple[Hit, ...] = ()
    blocks: list[str] = field(default_factory=list)
    injected: list[Hit] = field(default_factory=list)
    in_context: list[Hit] = field(default_factory=list)
    over_budget: list[Hit] = field(default_factory=list)
    withheld: frozenset[str] = frozenset()
    request: Requested | None = None
    milliseconds: dict[str, float] = field(default_factory=dict)
    _started: float = field(default_factory=time.perf_counter)

    @property
    def asks_past(self) -> bool:
        """Whether the message asks for what was, so that what was replaced or is over answers it, too."""
        return self.asked_span is not None or asks_what_was(self.message)

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
    """Return the context with the notice for the assistant that something is not kept.

    A secret is masked: that is said once in a session, and to whoever asks to keep one. Of a room's talk that is not
    kept, it is said once to whoever asks for it.
    """
    noticed = session.noticed
    notice = masked_block(query, told="masked" in noticed) if query.secrets and session.on("autoExtract") else ""
    if notice:
        noticed.add("masked")
    elif session.scope.kind.is_shared and session.is_excluded and "unkept" not in noticed:
        notice = unkept_block(query)
        noticed.update(["unkept"] if notice else [])
    return replace(context, text=f"{context.text}\n\n{notice}".strip()) if notice else context


class ContextBuilder:
    """Builds a `Context`. A part that fails is logged and left out; the reply never waits past `timeoutMs`.

    delivered: by origin, the last event that was published in this process. rerank: orders what is found. only_tries:
    whether its sessions are none of the store's, so that what they are given does not count as delivered.
    """

    def __init__(
        self,
        runtime: Runtime,
        storage: Storage,
        delivered: Mapping[str, int],
        rerank: Reranker | None = None,
        *,
        only_tries: bool = False,
    ) -> None:
        self.only_tries = only_tries
        self.rerank = rerank
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
        await self._read_what_holds(reply)
        if self.rerank is not None:
            with reply.timed("rerank"):
                seconds = min(reply.within(_RERANK_WITHIN), reply.left(_SEARCH_UNTIL))
                reply.hits = await reranked(self.runner, self.rerank, message, reply.hits, seconds)
        self._inject_changes(reply)
        await self._inject_updates(reply)
        await self._inject_memories(reply)
        await self._inject_request(reply)
        await self._inject_question(reply)
        await self._inject_notice(reply)
        for block in reply.blocks:
            session.in_context.tell(block)
        self._runtime.metrics.count(f"recall.{reply.outcome}")
        holding = frozenset(hit.id for hit in reply.hits)
        return Context(
            text="\n\n".join(block for block in reply.blocks if block),
            outcome=reply.outcome,
            recalled=reply.recalled,
            updates=reply.updates,
            changes=reply.changes,
            request=reply.request,
            report=reply.report(holding) if session.on("autoRecall") else None,
        )

    # The stages, in their order

    def _take_pending(self, reply: _Reply) -> None:
        """Move the pending updates into the reply. Drop those that the context has had."""
        session, context = reply.session, reply.session.in_context
        if not reply.deliver_pending:
            return
        reply.published_upto = dict(self._delivered)  # what comes from now on waits for the next reply
        if not len(session.pending.inbox):
            return
        reply.pending += len(session.pending.inbox)
        if not session.on("notify"):
            return
        for change in session.pending.inbox.take(reply.at.timestamp()):
            if change.action == "removed":
                if context.knew(change.id):
                    context.remove(change.id)
                    reply.updates += (change,)
            elif not context.had(change.id, change.text):
                context.inject([(change.id, change.text)])
                reply.updates += (change,)

    async def _search(self, reply: _Reply) -> None:
        """Search, and compare the files meanwhile. If that indexes lines, search again: one may be the answer."""
        with reply.timed("search_and_files"):
            reply.recall, new = await asyncio.gather(self._recall(reply), self._file_changes(reply))
        if new is None:
            return
        context = reply.session.in_context
        reply.session.positions = {**reply.session.positions, **new.positions}
        reply.changes = tuple(row for row in new.rows if not context.had(row.entry.id, row.entry.text))
        context.inject([(row.entry.id, row.entry.text) for row in reply.changes])
        if new.grown:
            with reply.timed("search_again"):
                again = await self._recall(reply)
            reply.recall = again if again and again.outcome != "timeout" else reply.recall

    def _inject_changes(self, reply: _Reply) -> None:
        """Inject the new lines of the files, and drop updates whose memory has another text there."""
        session, budget = reply.session, reply.session.settings.auto_recall.max_injected_tokens
        if not (session.on("incrementalSync") and session.settings.incremental_sync.check_on_message):
            return
        if lines := new_lines(reply.changes, reply.validities):
            reply.blocks.append(changes_block(lines, self._runtime.zone, budget))
            session.in_context.inject([(entry.id, entry.text) for entry in lines])
        in_files = {row.entry.id: row.entry.text for row in reply.changes}
        reply.updates = tuple(each for each in reply.updates if in_files.get(each.id, each.text) == each.text)

    async def _inject_updates(self, reply: _Reply) -> None:
        """Inject what other sessions learnt, and note its delivery, so that a restart doesn't repeat it."""
        session = reply.session
        if reply.pending and session.on("notify"):
            restored = session.pending.restored_upto  # the bus knows no origin that has sent nothing since the restart
            upto = restored | {
                origin: max(number, restored.get(origin, 0)) for origin, number in reply.published_upto.items()
            }
            note = self._storage.event_log.mark_delivered(session.scope.key, session.session_id, upto)
            with reply.timed("updates"):
                await self.runner.run("delivered", reply.within(_JOURNAL_WITHIN), note)
        if reply.updates and session.settings.notify.inject_summary:
            budget = session.settings.auto_recall.max_injected_tokens
            updates = marked_updates(reply.updates, reply.validities)
            reply.blocks.append(updates_block(updates, self._runtime.zone, budget, session.language))
            session.in_context.inject([(change.id, change.text) for change in updates if change.text])

    async def _inject_memories(self, reply: _Reply) -> None:
        """Inject the relevant memories, and quote exchanges. What the session's context contains is left out."""
        session, settings, zone = reply.session, reply.session.settings.auto_recall, self._runtime.zone
        if not session.on("autoRecall"):
            return
        await self._inject_coming(reply)
        with reply.timed("quotations"):
            # Of a day that is asked for, a memory stands for what was said of it, as the exchange would.
            least = 0.0 if reply.asked_span else settings.min_score
            likely = tuple(
                hit
                for hit in reply.hits
                if hit.kind != "episode" and hit.score >= least and traits_of(hit.category).recalled
            )
            exchanges = self._exchanges(reply)
            # Unused episode slots are given to memories.
            free = settings.episodes.max_results - len(exchanges) if session.recalls_episodes else 0
            memories = strongest(likely, settings.max_results + free)
            told = Told(after=session.in_context.told)
            told.add(line for block in reply.blocks for line in block.split("\n"))
            fresh: list[Hit] = []
            for hit in memories:
                is_new = not session.in_context.has(hit.id, hit.text) and told.fresh(hit.text)
                if is_new or reply.asked_span:
                    fresh.append(hit)
                    told.add([hit.text])
            reply.in_context += [hit for hit in memories if hit not in fresh]
            if fresh:
                block = relevant_block(fresh, zone, settings.max_injected_tokens)
                reply.blocks.append(block)
                for hit in fresh:
                    (reply.injected if f"({hit.id}, " in block else reply.over_budget).append(hit)
                session.in_context.inject([(hit.id, hit.text) for hit in fresh])
            exchanges, repeated = without_repeats(exchanges, told, again=reply.asked_span is not None)
            reply.in_context += repeated
            reply.injected += [exchange.hit for exchange in exchanges]
            reply.recalled = (*memories, *(exchange.hit for exchange in exchanges), *repeated)
            first = await self._of_asked_span(reply)
            if exchanges or first:
                budget = settings.episodes.max_injected_tokens
                reply.blocks.append(quotations_block(session, exchanges, reply.message, zone, budget, first))

    async def _inject_coming(self, reply: _Reply) -> None:
        """Inject what is known of a day ahead that the message names, whatever its words."""
        session, scope = reply.session, reply.session.scope
        today = Today(reply.at.timestamp(), self._runtime.zone)
        days = asked_days(reply.message, today.day) if session.settings.opening.coming_days else None
        if days is None or is_small_talk(reply.message):
            return
        with reply.timed("coming"):
            reading = self._storage.recaller.coming(scope.key, days.first.isoformat(), READ)
            rows = await self.runner.run("coming", reply.left(_QUOTE_UNTIL), reading)
            validity = reply.validities.get(scope.key)
            if rows and validity is None:  # nothing was found for which it would have been read
                holding = self._storage.ledger.validity(scope.key, today)
                validity = await self.runner.run("coming", reply.left(_QUOTE_UNTIL), holding)
        if not rows or validity is None:
            return
        memories = [entry for entry, _ in told((row.entry for row in rows), validity)]
        ahead = ahead_of(memories, days.first, days.last, self._runtime.day_of)
        fresh = [each for each in ahead if not session.in_context.has(each.id, each.text)][:MOST]
        if fresh:
            reply.blocks.append(coming_block(fresh, session.settings.auto_recall.max_injected_tokens))
            session.in_context.inject([(each.id, each.text) for each in fresh])

    async def _inject_request(self, reply: _Reply) -> None:
        """Tell the assistant what the message asks of the memory itself, so that it promises nothing else."""
        session, message = reply.session, reply.message
        if not (session.on("autoExtract") or session.incognito) or is_small_talk(message):
            return
        with reply.timed("request"):
            request = await request_in(self._storage.recaller, message, reply.within(_JOURNAL_WITHIN))
            if request is None or (session.incognito and request.act != "resume"):
                return
            today = Today(reply.at.timestamp(), self._runtime.zone)
            telling = requested(self._storage, session, request, message, today)
            found = await self.runner.run("request", reply.left(), telling)
        if found:
            reply.request, block = found
            reply.blocks += [block] if block else []

    async def _inject_question(self, reply: _Reply) -> None:
        """Let the assistant ask whether an older line still holds, if nothing else is asked of the memory."""
        session = reply.session
        if reply.request or self.only_tries or not session.on("autoExtract") or not session.on("autoRecall"):
            return
        if self._storage.ledger.names_due(session.scope.key):
            asking = question_due(self._storage, session)
            block = await self.runner.run("question", reply.within(_JOURNAL_WITHIN), asking)
            reply.blocks += [block] if block else []

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
        read = self._word_search.find(reply.session.scope, "", {"record"}, _ASKED_SESSIONS, only, None)
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
        self._storage.recaller.expect(reply.message)  # beside the next look into the journal
        # What waits for a person is no evidence: it would push out what is.
        waiting = self._storage.reviews.turns(session.scope.key) if episodes else None
        unsaid = await self.runner.run("reviews", reply.within(_JOURNAL_WITHIN), waiting) if waiting else None
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
                            by_rank=span is not None,
                            now=reply.at.timestamp(),
                            preceding=tuple(session.recent),
                            only=Filter(since=span.start, until=span.end) if span else None,
                            explain=True,
                            weak=_WEAK_TRIED if self.only_tries else _WEAK,
                            unsaid=unsaid or frozenset(),
                        ),
                        timeout_seconds=reply.left(_SEARCH_UNTIL),
                    )
                    for scope in session.who.scopes
                ]
                return await in_one(searches)
        except Exception as error:  # noqa: BLE001 - the other parts are worth having
            self.runner.note("recall", error)
            return None

    async def _read_what_holds(self, reply: _Reply) -> None:
        """Read what may be told of what is new and of the hits. Late: no marks, and no exchange is quoted."""
        found = reply.recall.hits if reply.recall else ()
        if not (found or reply.changes or reply.updates):
            return
        storage, today = self._storage, Today(reply.at.timestamp(), self._runtime.zone)
        own, *joined = reply.session.who.scopes
        with reply.timed("quotations"):
            reads = asyncio.gather(
                quotable_for(storage.episodes, own.key, found, today),
                asyncio.gather(*(storage.ledger.validity(scope.key, today) for scope in joined)),
            )
            read = await self.runner.run("episodes", reply.left(_QUOTE_UNTIL), reads)
        if read is None:
            day = self._runtime.day_of(reply.at.timestamp())
            reply.hits = tuple(hit for hit in found if reply.asks_past or hit.holds_on(day))
            return
        reply.quotable, others = read
        joined_validities = dict(zip((scope.key for scope in joined), others, strict=True))
        reply.validities = {own.key: reply.quotable.validity, **joined_validities}
        reply.hits = told_hits(found, reply.validities, past=reply.asks_past)

    def _exchanges(self, reply: _Reply) -> list[Exchange]:
        """Return the exchanges to quote: those that the session's context does not contain."""
        if reply.quotable is None:
            return []
        exchanges = exchanges_of(reply.quotable, reply.hits, past=reply.asks_past)
        quotable = {each.hit.id for each in exchanges}
        reply.withheld = frozenset(hit.id for hit in reply.hits if hit.kind == "episode" and hit.id not in quotable)
        settings = reply.session.settings.auto_recall.episodes
        likely = [each for each in exchanges if reply.asked_span or each.hit.score >= settings.min_score]
        likely = [each for each in likely if reply.asked_span or not each.only_asks]
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
