"""The two stages of a turn: the rules at once, after a debounce the model; and how candidates are filed."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from extractor import (
    Candidate,
    Debouncer,
    Decision,
    Turn,
    concerns,
    extract_rules,
    judge,
    permitted,
    with_unread,
    without_holes,
)
from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.capture.draft import Draft, by_scope, read_turn
from gateway_memory.capture.executor import PlanExecutor
from gateway_memory.capture.merger import Merger
from gateway_memory.capture.reader import OVER_BUDGET, Reader, Reading
from gateway_memory.capture.requests import asked_to_forget, asks_to_keep_masked
from gateway_memory.errors import StoreError
from gateway_memory.runtime.ground import get_logger
from gateway_memory.runtime.runtime import Runtime, compute
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.store.journal.ledger import Ledger
from gateway_memory.store.journal.turns import PendingTurn, Turns, TurnState
from gateway_memory.store.plan import CandidateOutcome, Plan, Stage
from gateway_memory.store.ports import Documents
from gateway_memory.store.record import MemoryRecord
from gateway_memory.store.withheld import Withheld
from gateway_memory.sync.episodes import EpisodeFollower
from gateway_memory.sync.follower import Follower
from recall import RecallError

__all__ = ["BatchStage", "Filing", "RulesStage"]

log = get_logger(__name__)

# Turn candidates into memories: check permission, merge with existing memories, build a plan, and execute it.


class Filing:
    """Files the results of a stage, and completes the turns of that stage, with one plan a scope."""

    def __init__(
        self,
        runtime: Runtime,
        documents: Documents,
        follower: Follower,
        merger: Merger,
        executor: PlanExecutor,
        changes: MemoryChanges,
    ) -> None:
        self._runtime = runtime
        self._documents = documents
        self._follower = follower
        self._merger = merger
        self._executor = executor
        self._changes = changes

    async def file(
        self,
        scope: Scope,
        stage: Stage,
        found: Sequence[tuple[PendingTurn, Sequence[Candidate]]],
        *,
        empty: str,
        failed: bool = False,
        by_rules: Collection[MemoryRecord] = (),
        settled: Mapping[Candidate, Decision] | None = None,
        retracted: Collection[str] = (),
        holds: Callable[[], Awaitable[bool]] | None = None,
    ) -> bool:
        """Execute a plan for turns and the candidates that were found in each. Return False if that no longer holds.

        empty: the reason to record for a turn without candidates.
        failed: the model gave no answer, so that the turns wait for `retry`, or to be read again.
        by_rules: the memories that the rules extracted from these turns.
        settled: the model's decisions about doubtful candidates.
        retracted: the ids of those of `by_rules` that the model found to be wrong.
        holds: returns whether what was found still holds; asked when nothing else can write any more.
        """
        draft = Draft(by_rules=list(by_rules), settled=settled or {})
        kept = await self._permitted(scope, stage, found, draft, empty)
        shared = [(turn, candidate) for turn, candidate in kept if turn.joined and self._is_shared(turn, candidate)]
        if shared and holds and not await holds():
            return False
        for turn, candidate in shared:
            kept.remove((turn, candidate))
            draft.outcomes.append(await self._share(turn, candidate))
        plan = Plan(
            scope=scope.key,
            folder=scope.folder,
            stage=stage,
            at=self._runtime.timestamp(),
            turns=tuple(turn.id for turn, _ in found),
            failed=failed,
            imported=any(turn.imported for turn, _ in found),
        )
        if not kept and not retracted:
            await self._executor.execute(replace(plan, outcomes=tuple(draft.outcomes)))
            return True
        async with self._documents.writing(scope):
            if holds and not await holds():
                return False
            await self._follower.refresh(scope)
            room = await self._merger.room(scope)
            for memory in by_rules:
                if memory.id in retracted:
                    await self._merger.retract(scope, memory, draft)
            near = await self._merger.near(scope, [candidate for _, candidate in kept])
            for (turn, candidate), found_near in zip(kept, near, strict=True):
                room -= await self._merger.merge(scope, turn, candidate, found_near, draft, room)
            await self._executor.execute(
                replace(
                    plan,
                    at=self._runtime.timestamp(),  # behind the openings of sessions that began while it waited
                    added=tuple(draft.added),
                    retired=tuple(draft.retired),
                    outcomes=tuple(draft.outcomes),
                    reviews=tuple(draft.reviews),
                    settled=tuple(draft.closed),
                )
            )
        return True

    def _is_shared(self, turn: PendingTurn, candidate: Candidate) -> bool:
        joined, read = self._runtime.scope_of(turn.joined), read_turn(turn, self._runtime.zone)
        return concerns(candidate, joined.name) and permitted(candidate, read, by_owner=False) == candidate

    async def _share(self, turn: PendingTurn, candidate: Candidate) -> CandidateOutcome:
        """Keep a candidate in the shared scope that its session has joined, where nobody reads the turn itself.

        A crash before the turn is completed shares it once more, which merging then finds to be known.
        """
        source = replace(turn, id=0, scope=turn.joined, user="", reply="", joined="")
        told = replace(candidate, turn=0, quote="", sentence="")
        outcome = await self._changes.save(self._runtime.scope_of(turn.joined), source, told)
        return CandidateOutcome(turn=turn.id, action="shared", reason=outcome.action)

    async def _permitted(
        self,
        scope: Scope,
        stage: Stage,
        found: Sequence[tuple[PendingTurn, Sequence[Candidate]]],
        draft: Draft,
        empty: str,
    ) -> list[tuple[PendingTurn, Candidate]]:
        """Return what may be kept, and note in the draft why the rest is not."""
        kept: list[tuple[PendingTurn, Candidate]] = []
        for turn, candidates in found:
            unread = stage == "rules" or any(candidate.only_as for candidate in candidates)
            understood = await self._merger.understood(candidates) if unread else candidates
            meant = [candidate for candidate in understood if candidate]
            if not meant:
                draft.outcomes.append(CandidateOutcome(turn=turn.id, action="skipped", reason=empty))
            if stage == "rules" and asks_to_keep_masked(turn.user):
                draft.outcomes.append(CandidateOutcome(turn=turn.id, action="masked", reason="secret"))
            read = read_turn(turn, self._runtime.zone)
            for found_one in meant:
                content = await compute(without_holes, found_one.content)
                if not content:
                    if all((each.turn, each.action) != (turn.id, "masked") for each in draft.outcomes):
                        draft.outcomes.append(CandidateOutcome(turn=turn.id, action="masked", reason="secret"))
                    continue
                candidate = replace(found_one, content=content) if content != found_one.content else found_one
                allowed = await compute(permitted, candidate, read, by_owner=scope.key == OWNER_KEY)
                if allowed is None:
                    draft.outcomes.append(CandidateOutcome(turn=turn.id, action="skipped", reason="not_permitted"))
                else:
                    kept.append((turn, allowed))
        return kept


_REPLY_READ: Final = 400
_TURNS_KEPT: Final = 4
_TEXT_KEPT: Final = 1000
_SESSIONS_KEPT: Final = 1000


class RulesStage:
    """The immediate stage: extract plain statements of the user by rules, and index what was said."""

    name = "rules"
    state: TurnState = "accepted"

    def __init__(self, runtime: Runtime, follower: EpisodeFollower, filing: Filing, changes: MemoryChanges) -> None:
        self._runtime = runtime
        self._follower = follower
        self._filing = filing
        self._changes = changes

    async def run(self, turns: Sequence[PendingTurn]) -> None:
        """Extract from each turn by rules, and execute requests to forget. One plan a scope."""
        for key, group in by_scope(turns):
            scope = self._runtime.scope_of(key)
            found: list[tuple[PendingTurn, Sequence[Candidate]]] = []
            for turn in group:
                if not turn.extract:
                    found.append((turn, ()))
                    continue
                what = asked_to_forget(turn.user)
                forgotten = what is not None and (  # what was asked of another program concerns no memory of ours
                    turn.imported or await self._changes.forgetter.named(scope, turn, what)
                )
                read = read_turn(turn, self._runtime.zone)
                candidates = () if forgotten else await compute(_candidates, read, imported=turn.imported)
                found.append((turn, candidates))
            await self._filing.file(scope, "rules", found, empty="nothing_to_keep")
            await self._index_episodes(key, group)

    async def _index_episodes(self, scope: str, turns: Sequence[PendingTurn]) -> None:
        """Index what was said. Where that fails, it is indexed with the scope's next session."""
        new = [turn for turn in turns if not turn.imported]
        kept = [turn.id for turn in new if self._runtime.settings_of(turn.session_key).episodes.enabled]
        try:
            if kept:
                await self._follower.index(scope, kept)
        except (StoreError, RecallError) as error:
            log.warning("episodes.not_indexed", error=type(error).__name__)
            self._runtime.on_error("episodes", error)


class BatchStage:
    """The debounced stage over the turns of one session: the prefilter, and the model if there is one."""

    name = "batch"
    state: TurnState = "ruled"

    def __init__(
        self, runtime: Runtime, ledger: Ledger, turns: Turns, filing: Filing, reader: Reader, debouncer: Debouncer[str]
    ) -> None:
        self._runtime = runtime
        self._ledger = ledger
        self._turns = turns
        self._filing = filing
        self._reader = reader
        self._debouncer = debouncer
        self._failed = True  # what an earlier process left behind is read again, too
        self._again: set[int] = set()
        self._told: dict[str, list[PendingTurn]] = {}
        """The last turns, shortened, by session. Later messages answer them, and refer to names and facts in them."""

    async def run(self, turns: Sequence[PendingTurn]) -> None:
        """Judge whether the turns contain anything to remember, and if so read them."""
        for key, group in by_scope(turns):
            scope = self._runtime.scope_of(key)
            told = self._told.get(group[0].session_id, [])
            # What has failed before is read by itself, so that the rest does not fail with it.
            again = [turn for turn in group if turn.id in self._again]
            for part in (again, [turn for turn in group if turn.id not in self._again]):
                while part and not await self._read(scope, part, told):
                    log.info("batch.read_again", turns=len(part))
            self._keep_told([*told, *group])

    async def _read(self, scope: Scope, group: Sequence[PendingTurn], told: Sequence[PendingTurn]) -> bool:
        """Read the turns of a session, and file the result. Return False if text of theirs was forgotten meanwhile."""
        settings = self._runtime.settings_of(group[0].session_key).auto_extract
        hidden = await self._ledger.withheld(scope.key)
        given = [[_without(turn, hidden) for turn in part] for part in (told, group)]
        earlier, read = ([read_turn(turn, self._runtime.zone) for turn in part] for part in given)
        verdict = await compute(judge, read, settings, earlier[-1].reply[-_REPLY_READ:] if earlier else "")
        if not verdict.keep:
            await self._filing.file(scope, "batch", [(turn, ()) for turn in group], empty=verdict.reason)
            return True
        by_rules = await self._ledger.of_turns(scope.key, [turn.id for turn in group])
        asked, context = ([turn for turn in part if not asked_to_forget(turn.user)] for part in (read, earlier))
        reading = await self._reader.read(scope, settings, asked, by_rules, earlier=context)
        # File a candidate that names no turn under the batch's last one: the batch is one piece of evidence.
        ids = {turn.id for turn in group}
        of_turn: dict[int, list[Candidate]] = {turn.id: [] for turn in group}
        for candidate in reading.candidates:
            of_turn[candidate.turn if candidate.turn in ids else group[-1].id].append(candidate)

        async def holds() -> bool:
            hidden = await self._ledger.withheld(scope.key)
            return given == [[_without(turn, hidden) for turn in part] for part in (told, group)]

        filed = await self._filing.file(
            scope,
            "batch",
            [(turn, of_turn[turn.id]) for turn in group],
            empty=reading.reason,
            failed=reading.failed or (group[0].imported and reading.reason == OVER_BUDGET),
            by_rules=by_rules,
            settled=reading.settled,
            retracted=reading.retracted,
            holds=holds,
        )
        if filed:
            await self._note(reading, [turn.id for turn in group])
        return filed

    async def _note(self, reading: Reading, turns: Sequence[int]) -> None:
        """Let the turns on which the model failed be read again once it answers, each once."""
        if reading.failed:
            self._failed = self._failed or not self._again.issuperset(turns)
        elif reading.answered and self._failed:
            self._failed = False
            for session_id in await self._turns.retry():
                waiting = await self._turns.claim("ruled", session_id=session_id)
                self._again.update(turn.id for turn in waiting)
                self._debouncer.touch(session_id, asyncio.get_running_loop().time())

    def _keep_told(self, turns: Sequence[PendingTurn]) -> None:
        self._told[turns[-1].session_id] = [
            replace(turn, user=turn.user[:_TEXT_KEPT], reply=turn.reply[-_TEXT_KEPT:]) for turn in turns[-_TURNS_KEPT:]
        ]
        if len(self._told) > _SESSIONS_KEPT:
            del self._told[next(iter(self._told))]


def _candidates(turn: Turn, *, imported: bool) -> list[Candidate]:
    """Return what the rules keep of a turn, and what else may say something; an imported past changes nothing."""
    kept = extract_rules(turn)
    found = with_unread(turn, kept)
    if not imported:
        return found
    unread = (replace(candidate, only_as=candidate.only_as - {"change"}) for candidate in found[len(kept) :])
    return [*kept, *(candidate for candidate in unread if candidate.only_as)]


def _without(turn: PendingTurn, hidden: Withheld) -> PendingTurn:
    """Return a turn without text that was forgotten since. No model reads that text, so it is not learned again."""
    since = turn.accepted_at
    words = hidden.words_of(turn.user, turn.reply, since=since)
    user, reply = (hidden.cut(text, since=since, words=words) for text in (turn.user, turn.reply))
    return replace(turn, user=user, reply=reply)
