"""Reads turns in batches, after their debounce, by a model where there is one."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from extractor import Candidate, Turn, judge
from gateway_memory.capture.executor import Draft, as_turn, by_scope
from gateway_memory.capture.filing import Filing
from gateway_memory.capture.reader import OVER_BUDGET, Reader, Reading
from gateway_memory.capture.requests import request_in
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.threads import compute
from gateway_memory.scope import Scope
from gateway_memory.store.journal.turns import PendingTurn, TurnState
from gateway_memory.store.withheld import Withheld
from gateway_memory.sync.storage import Storage

log = get_logger(__name__)


_REPLY_READ: Final = 400
_OF_ITS_TEXT: Final = frozenset({"model_unreadable", "model_truncated", "model_refused"})
_TURNS_KEPT: Final = 4
_TEXT_KEPT: Final = 1000
_SESSIONS_KEPT: Final = 1000


class BatchStage:
    """The debounced stage over the turns of one session: the prefilter, and the model if there is one.

    debouncer: says which sessions are due.
    """

    name = "batch"
    state: TurnState = "ruled"

    def __init__(self, runtime: Runtime, store: Storage, filing: Filing, reader: Reader) -> None:
        timing = runtime.settings.auto_extract
        self.debouncer = Debouncer(timing.debounce_seconds, timing.max_wait_seconds)
        self._runtime = runtime
        self._store = store
        self._filing = filing
        self._reader = reader
        self._failed = True  # what an earlier process left behind is read again, too
        self._again: set[int] = set()
        self._unread: set[int] = set()
        self._earlier: dict[str, list[PendingTurn]] = {}
        """The last turns, shortened, by session. Later messages answer them, and refer to names and facts in them."""

    async def run(self, turns: Sequence[PendingTurn]) -> None:
        """Judge whether the turns contain anything to remember, and if so read them."""
        for key, group in by_scope(turns):
            scope = Scope.parse(key)
            earlier = [turn for turn in self._earlier.get(group[0].session_id, []) if turn.scope == key]
            # What has failed before is read by itself, so that the rest does not fail with it.
            again = [turn for turn in group if turn.id in self._again]
            for part in (again, [turn for turn in group if turn.id not in self._again]):
                while part and not await self._read(scope, part, earlier):
                    log.info("batch.read_again", turns=len(part))
            if shown := [turn for turn in (*earlier, *group) if turn.id not in self._unread]:
                self._keep(shown)

    async def _read(self, scope: Scope, group: Sequence[PendingTurn], before: Sequence[PendingTurn]) -> bool:
        """Read the turns of a session, and file the result. Return False if text of theirs was forgotten meanwhile.

        before: the last turns before them, shortened.
        """
        settings = self._runtime.settings_of(group[0].session_key).auto_extract

        async def readable() -> list[list[PendingTurn]]:
            withheld = await self._store.ledger.withheld(scope.key)
            return [[_without(turn, withheld) for turn in part] for part in (before, group)]

        parts = await readable()
        earlier, turns = ([as_turn(turn, self._runtime.zone) for turn in part] for part in parts)
        verdict = await compute(judge, turns, settings, earlier[-1].reply[-_REPLY_READ:] if earlier else "")
        draft = Draft(scope, "batch", group)
        draft.by_rules = list(await self._store.ledger.of_turns(scope.key, [turn.id for turn in group]))
        if not (draft.by_rules or await self._reader.is_worth_reading(turns, earlier, verdict)):
            reason = "uninformative" if verdict.keep else verdict.reason
            return await self._filing.file(draft, [()] * len(group), empty=reason)
        turns, earlier = [await self._without_requests(part) for part in (turns, earlier)]
        reading = await self._reader.read(scope, settings, turns, draft.by_rules, earlier=earlier)
        draft.failed = reading.failed or (group[0].imported and reading.reason == OVER_BUDGET)
        # The model need not say which turn a candidate is from. It is then filed under the last one.
        ids = {turn.id for turn in group}
        of_turn: dict[int, list[Candidate]] = {turn.id: [] for turn in group}
        for candidate in reading.candidates:
            of_turn[candidate.turn if candidate.turn in ids else group[-1].id].append(candidate)

        async def holds() -> bool:
            return parts == await readable()

        extracted = [of_turn[turn.id] for turn in group]
        filed = await self._filing.file(
            draft, extracted, empty=reading.reason, retracted=reading.retracted, holds=holds
        )
        if filed:
            await self._note(reading, [turn.id for turn in group])
        return filed

    async def _note(self, reading: Reading, turns: Sequence[int]) -> None:
        """When the model answers again, put the turns on which it had failed back to the batch stage, each once."""
        if reading.reason in _OF_ITS_TEXT:  # shown beside others, it would fail them too
            self._unread.update(turns)
        if reading.failed:
            self._failed = self._failed or not self._again.issuperset(turns)
        elif reading.answered and self._failed:
            self._failed = False
            for session_id in await self._store.turns.retry():
                waiting = await self._store.turns.waiting("ruled", session_id=session_id)
                self._again.update(turn.id for turn in waiting)
                self.debouncer.touch(session_id, asyncio.get_running_loop().time())

    async def _without_requests(self, turns: Sequence[Turn]) -> list[Turn]:
        """Return turns without those that ask something of the memory itself."""
        asked = [await request_in(self._store.recaller, turn.user) for turn in turns]
        return [turn for turn, request in zip(turns, asked, strict=True) if not (request and request.only_asks)]

    def _keep(self, turns: Sequence[PendingTurn]) -> None:
        self._earlier[turns[-1].session_id] = [
            replace(turn, user=turn.user[:_TEXT_KEPT], reply=turn.reply[-_TEXT_KEPT:]) for turn in turns[-_TURNS_KEPT:]
        ]
        if len(self._earlier) > _SESSIONS_KEPT:
            del self._earlier[next(iter(self._earlier))]


def _without(turn: PendingTurn, withheld: Withheld) -> PendingTurn:
    """Return a turn without text that was forgotten since. No model reads that text, so it is not learned again."""
    since = turn.accepted_at
    words = withheld.words_of(turn.user, turn.reply, since=since)
    user, reply = (withheld.cut(text, since=since, words=words) for text in (turn.user, turn.reply))
    return replace(turn, user=user, reply=reply)


class Debouncer:
    """A key becomes due when it was not touched for a while, or at the latest after the longest wait. Sans I/O.

    Times are seconds of one monotonic clock. It is not thread-safe.
    """

    def __init__(self, debounce_seconds: float, max_wait_seconds: float) -> None:
        self._quiet_seconds = debounce_seconds
        self._max_wait_seconds = max(debounce_seconds, max_wait_seconds)
        self._spans: dict[str, tuple[float, float]] = {}  # key -> (first touch, last touch) since it was last due

    def touch(self, key: str, now: float) -> None:
        """Note new work for a key."""
        first, last = self._spans.get(key, (now, now))
        self._spans[key] = (first, max(last, now))

    def due(self, now: float) -> list[str]:
        """Return the due keys, the longest waiting first, and forget them."""
        ready = sorted(
            (due_at, order, key)
            for order, (key, span) in enumerate(self._spans.items())
            if (due_at := self._due_at(span)) <= now
        )
        for _, _, key in ready:
            del self._spans[key]
        return [key for _, _, key in ready]

    def next_due(self) -> float | None:
        """Return the time at which the next key is due; None while nothing waits."""
        return min(map(self._due_at, self._spans.values()), default=None)

    def drop(self, key: str) -> None:
        """Forget a key whose work was done otherwise (a flush, the session's end)."""
        self._spans.pop(key, None)

    def _due_at(self, span: tuple[float, float]) -> float:
        first, last = span
        return min(last + self._quiet_seconds, first + self._max_wait_seconds)
