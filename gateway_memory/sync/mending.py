"""Mend damaged memory files from the journal, and keep the question whether their lines were deleted."""

import asyncio
from dataclasses import replace
from typing import Final

from gateway_memory.errors import StoreError
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.store.damage import Damage
from gateway_memory.store.documents import title_of
from gateway_memory.store.journal.store import Store
from gateway_memory.store.markdown import Addition, parse
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.sync import vanishing
from gateway_memory.sync.entries import record_of
from gateway_memory.sync.follower import Follower
from gateway_memory.sync.losses import Loss
from gateway_memory.sync.vanishing import mended
from recall import RecallError

log = get_logger(__name__)

_LOOKS: Final = 3
"""How often a file is looked at until it counts as damaged."""


class Mender:
    """Mends the files that the follower finds damaged. A damaged file is set aside, and its lines are written again."""

    def __init__(self, runtime: Runtime, store: Store, follower: Follower) -> None:
        self._runtime = runtime
        self._store = store
        self._follower = follower

    async def run(self) -> None:
        """Look again at files from which lines vanished, until cancelled."""
        while True:
            await self._follower.looks_again.wait()
            self._follower.looks_again.clear()
            await asyncio.sleep(vanishing.SETTLES_SECONDS / _LOOKS)
            behind, self._follower.behind = self._follower.behind, {}
            for scope in behind.values():
                try:
                    await self.mend(scope)
                except (StoreError, RecallError) as error:
                    log.warning("files.not_mended", error=type(error).__name__)
                    self._runtime.on_error("files", error)
                    self._follower.behind.setdefault(scope.key, scope)
                    self._follower.looks_again.set()

    async def mend(self, scope: Scope) -> None:
        """Compare a scope's files with the index, and mend those that are damaged for long enough.

        Raises:
            StoreError, RecallError: they could not be read or written.
        """
        await self._follower.refresh(scope)
        if not self._follower.damaged(scope):
            return
        async with self._store.documents.writing(scope):
            await self._follower.refresh(scope)  # another process may have mended them meanwhile
            for file, loss in self._follower.damaged(scope).items():
                await self._mend(scope, file, loss)
            await self._follower.refresh(scope)

    async def look(self, scope: Scope) -> None:
        """Mend a scope's files, and wait until one that only looks damaged is whole again, or counts as damaged.

        Raises:
            StoreError, RecallError: they could not be read or written.
        """
        await self.mend(scope)
        for _ in range(_LOOKS + 1):
            if not self._follower.is_unsure(scope):
                return
            await asyncio.sleep(vanishing.SETTLES_SECONDS / _LOOKS)
            await self.mend(scope)

    async def _mend(self, scope: Scope, file: str, loss: Loss) -> None:
        ledger, documents = self._store.ledger, self._store.documents
        lost = {row.entry.id: row for row in loss.lost}
        memories = await ledger.memories(scope.key, list(lost))
        add = [
            _line(record_of(row, memories.get(identity)))
            for identity, row in sorted(lost.items(), key=lambda each: (each[1].entry.at, each[1].sequence))
        ]
        read = await documents.read(scope, file)
        blocks = parse(read[0], file=file) if read else []
        over = await self._store.event_log.missing(scope.key, [block.id for block in blocks])

        def change(text: str | None) -> str:
            return mended(text, file, title=title_of(file), cut=loss.cut, add=add, remove=sorted(over))

        aside = await documents.mend(scope, file, change)
        before = next((each for each in await self._damages(scope) if each.file == file), None)
        ids = tuple(dict.fromkeys([*(before.lost if before else ()), *lost]))
        damage = Damage(
            file=file, lost=ids, of=max(loss.lines, len(ids)), aside=aside or (before.aside if before else "")
        )
        await ledger.set_notice(scope.key, damage.name)
        if before and before != damage:
            await ledger.clear_notice(scope.key, before.name)
        log.warning("files.mended", lines=len(lost), of=damage.of)
        self._runtime.metrics.count("files.mended")

    async def questions(self, scope: Scope) -> list[Damage]:
        """Return what is to be asked about damaged files of a scope. What was forgotten since is not asked about.

        Raises:
            StoreError: the journal could not be read.
        """
        await self._store.records.look(scope)
        known = {damage.file: damage for damage in await self._damages(scope)}
        ids = [identity for damage in known.values() for identity in damage.lost]
        states = await self._store.ledger.states(scope.key, ids) if ids else {}
        asked = [
            replace(each, lost=tuple(id_ for id_ in each.lost if states.get(id_, ("active",))[0] == "active"))
            for each in known.values()
        ]
        return [each for each in asked if each.lost]

    async def answered(self, scope: Scope) -> None:
        """Ask no more about the damaged files of a scope. May raise StoreError."""
        for damage in await self._damages(scope):
            await self._store.ledger.clear_notice(scope.key, damage.name)

    async def _damages(self, scope: Scope) -> list[Damage]:
        return [damage for name in await self._store.ledger.notices(scope.key) if (damage := Damage.of_notice(name))]


def _line(memory: MemoryRecord) -> Addition:
    return Addition(
        id=memory.id,
        text=memory.text,
        type=memory.type,
        confidence=memory.confidence,
        annotations=memory.annotations,
    )
