"""Members of a room who have another name now: what they have said before is told under it too.

The id that stays decides who it is. So two who bear one name stay apart, and nobody who takes another's name gets their
lines.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gateway_memory.capture.executor import PlanExecutor
from gateway_memory.capture.merger import Changer, Merger
from gateway_memory.errors import StoreError
from gateway_memory.ground.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.store.documents import is_writable
from gateway_memory.store.journal.speakers import Sender, name_in, prefix_of, told_as, unnamed
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.plan import Moved, Renamed
from gateway_memory.sync.storage import Storage
from recall import RecallError

_MOST: Final = 10_000
"""Names that are kept in memory, so that a turn need not look them up."""


class Renamer(Changer):
    """Follows the names of those who speak in rooms."""

    def __init__(self, runtime: Runtime, storage: Storage, merger: Merger, executor: PlanExecutor) -> None:
        super().__init__(runtime, storage, merger, executor)
        self._called: dict[tuple[str, str], str] = {}

    async def heard(self, scope: Scope, turns: Sequence[PendingTurn]) -> list[PendingTurn]:
        """Return turns of a scope, oldest first, each with the name that its speaker has after the last of them."""
        called = {turn.speaker: turn.sender for turn in turns if turn.speaker and not turn.imported}
        for by in called.values():
            await self.called(scope, by)
        return [
            replace(turn, speaker_prefix=prefix_of(called[turn.speaker].name, turn.user))
            if turn.speaker in called and called[turn.speaker].is_named and turn.speaker_prefix
            else turn
            for turn in turns
        ]

    async def called(self, scope: Scope, by: Sender) -> None:
        """Note who speaks in a scope. If they had another name, tell in one plan what they said before under this one.

        A name that is not told, or without an id that stays, changes nothing.

        Raises:
            StoreError: it could not be written.
        """
        place = (scope.key, by.key)
        if not (scope.kind.is_shared and by.is_named) or self._called.get(place) == by.name:
            return
        noted = (await self.names(scope, [by.key])).get(by.key)
        for was in sorted(({noted} if noted else await self._former(scope, by.key)) - {by.name}):
            await self._rename(scope, Renamed(speaker=by.key, was=was, name=by.name))
        if not noted:
            await self._storage.names.note([(scope.key, by.key, by.name)])
        if len(self._called) >= _MOST:
            self._called.clear()
        self._called[place] = by.name

    async def names(self, scope: Scope, speakers: Sequence[str]) -> dict[str, str]:
        """Return what those are called now who have said something in a scope, by their keys."""
        keys = sorted({each for each in speakers if each})
        return dict(await self._storage.names.within(scope.key, keys)) if keys else {}

    async def told(self, scope: Scope, memories: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """Return memories as they are told now: each under the name of whoever said it."""
        names = await self.names(scope, [each.speaker for each in memories])
        return [replace(each, text=told_as(each.text, each.speaker, names.get(each.speaker, ""))) for each in memories]

    async def _former(self, scope: Scope, speaker: str) -> set[str]:
        """Return the names before somebody's lines: no name is noted of those that came with an import."""
        known = await self._storage.ledger.of_speaker(scope.key, speaker)
        return {name for each in known if (name := name_in(each.text, speaker))}

    async def _rename(self, scope: Scope, renamed: Renamed) -> None:
        async with self._executor.drafting(scope, "rename") as draft:
            draft.renamed.append(renamed)
            draft.note("renamed", "by_host")
            for known in await self._storage.ledger.of_speaker(scope.key, renamed.speaker):
                stored = await self._storage.recaller.get(scope.key, known.id)
                if stored is None or not is_writable(stored.file):
                    continue
                memory = await self._merger.memory(scope, stored)
                said = unnamed(memory.text, memory.speaker)
                # A person may have taken the name off a line: what stands before it then is theirs.
                if memory.text == prefix_of(renamed.was, said) + said:
                    text = prefix_of(renamed.name, said) + said
                    draft.moved.append(Moved(memory=replace(memory, text=text), source=memory.file))
        try:
            await self._storage.episode_follower.catch_up(scope.key)
        except (StoreError, RecallError):
            self._storage.episode_follower.look_again([scope.key])
