"""Turn candidates into memories: check permission, merge with existing memories, build a plan, and execute it."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace

from extractor import Candidate, Decision, concerns, permitted, without_holes
from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.capture.draft import Draft, read_turn
from gateway_memory.capture.executor import PlanExecutor
from gateway_memory.capture.masked import asks_to_keep_masked
from gateway_memory.capture.merger import Merger
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.runtime.tasks import compute
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.plan import CandidateOutcome, Plan, Stage
from gateway_memory.store.ports import Documents
from gateway_memory.store.record import MemoryRecord
from gateway_memory.sync.follower import Follower

__all__ = ["Filing"]


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
        told = replace(candidate, turn=0, quote="", said="")
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
