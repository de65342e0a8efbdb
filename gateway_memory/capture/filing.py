"""File what a stage extracted: check permission, merge with existing memories, and execute one plan a scope."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace

from extractor import Candidate, Part, permitted, read_for_permission, without_holes
from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.capture.executor import Draft, PlanExecutor, as_turn, shared_for
from gateway_memory.capture.merger import Merger
from gateway_memory.capture.unkept import asks_to_keep_masked
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.threads import compute
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.store.journal.turns import PendingTurn


class Filing:
    """Files the results of a stage, and completes the turns of that stage, with one plan a scope."""

    def __init__(self, runtime: Runtime, merger: Merger, executor: PlanExecutor, changes: MemoryChanges) -> None:
        self._runtime = runtime
        self._merger = merger
        self._executor = executor
        self._changes = changes

    async def file(
        self,
        draft: Draft,
        extracted: Sequence[Sequence[Candidate]],
        *,
        empty: str,
        retracted: Collection[str] = (),
        holds: Callable[[], Awaitable[bool]] | None = None,
    ) -> bool:
        """Merge what was extracted from a draft's turns, and execute the draft.

        Return False, without executing the draft, if `holds` says no. Candidates for shared scopes are saved before
        it is asked again under the lock; saved once more, they are skipped as known.

        empty: the reason to record for a turn without candidates.
        retracted: the ids of memories of the rules that the model found to be wrong, and of those that stand twice.
        holds: whether no text of the turns was forgotten since the model read them; it is asked again under the lock.
        """
        scope = draft.scope
        kept = await self._permitted(draft, extracted, empty)
        shared = [(*pair, joined) for pair in kept if (joined := await self._shared_with(*pair))]
        if shared and holds and not await holds():
            return False
        for turn, candidate, joined in shared:
            kept.remove((turn, candidate))
            draft.note("shared", await self._share(turn, candidate, joined), turn=turn.id)
        if not kept and not retracted:
            await self._executor.complete(draft)
            return True
        async with self._executor.writing(scope):
            if holds and not await holds():
                return False
            draft.room = await self._merger.room(scope)
            for identity in retracted:
                await self._merger.draft_retraction(identity, draft)
            near = await self._merger.near(scope, [each for _, each in kept], [turn.speaker for turn, _ in kept])
            for (turn, candidate), nearest in zip(kept, near, strict=True):
                await self._merger.draft_candidate(turn, candidate, nearest, draft)
            await self._merger.draft_reworded(draft, [candidate for _, candidate in kept])
            await self._executor.complete(draft)
        return True

    async def does_to_the_one_before(self, message: str) -> Part | None:
        """Return whether a message takes back the one before it, or corrects it."""
        return await self._merger.does_to_the_one_before(message)

    async def _shared_with(self, turn: PendingTurn, candidate: Candidate) -> Scope | None:
        """Return the shared scope of a turn's session that a candidate is about, if it may be kept there."""
        joined = shared_for(candidate, Scope.parse_all(turn.joined))
        return joined if joined and await self._as_permitted(turn, candidate, by_owner=False) == candidate else None

    async def _share(self, turn: PendingTurn, candidate: Candidate, joined: Scope) -> str:
        """Keep a candidate in a shared scope that its session has joined. The turn's text stays with its speaker.

        After a crash before the turn is completed, it is shared again, and merging skips it as known. Returns what
        became of it.
        """
        source = replace(turn, id=0, scope=joined.key, user="", reply="", joined="")
        unquoted = replace(candidate, turn=0, quote="", sentence="")
        return (await self._changes.saves.save(joined, source, unquoted)).action

    async def _permitted(
        self, draft: Draft, extracted: Sequence[Sequence[Candidate]], empty: str
    ) -> list[tuple[PendingTurn, Candidate]]:
        """Return what may be kept, and note in the draft why the rest is not."""
        kept: list[tuple[PendingTurn, Candidate]] = []
        by_owner, by_rules = draft.scope.key == OWNER_KEY, draft.cause == "rules"
        for turn, candidates in zip(draft.turns, extracted, strict=True):
            unread = by_rules or any(candidate.only_as for candidate in candidates)
            understood = await self._merger.understood(candidates, turn.user) if unread else candidates
            meant = [candidate for candidate in understood if candidate]
            masked = by_rules and asks_to_keep_masked(turn.user)
            if not meant:
                draft.note("skipped", empty, turn=turn.id)
            if masked:
                draft.note("masked", "secret", turn=turn.id)
            for candidate in meant:
                content = await compute(without_holes, candidate.content)
                if not content:
                    if not masked:
                        draft.note("masked", "secret", turn=turn.id)
                    masked = True
                    continue
                whole = replace(candidate, content=content) if content != candidate.content else candidate
                allowed = await self._as_permitted(turn, whole, by_owner=by_owner)
                if allowed is None:
                    draft.note("skipped", "not_permitted", turn=turn.id)
                else:
                    kept.append((turn, allowed))
        return kept

    async def _as_permitted(self, turn: PendingTurn, candidate: Candidate, *, by_owner: bool) -> Candidate | None:
        """Return a candidate as its speaker may have it kept; None where they may not."""
        meanings = {} if by_owner else await self._merger.meanings(await compute(read_for_permission, candidate))
        read = as_turn(turn, self._runtime.zone)
        return await compute(permitted, candidate, read, by_owner=by_owner, meanings=meanings)
