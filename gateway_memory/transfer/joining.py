"""Brings what one scope has into another one, and back. Each step can be repeated after a crash."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from extractor import same_text
from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.capture.executor import Draft, PlanExecutor
from gateway_memory.capture.merger import LINE_OVERHEAD, Changer, Merger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.texts import decoded
from gateway_memory.scope import Scope
from gateway_memory.store.documents import MEMORY_FILE, day_file, is_writable
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.plan import Retired
from gateway_memory.sync.entries import record_of
from gateway_memory.sync.storage import Storage
from recall import Stored

_ALL: Final = 1 << 40
_REMOVED: Final = ("forgotten", "undone", "deleted", "retracted")


class ContentLinker(Changer):
    """Moves the content of scopes whose link the journal holds already."""

    def __init__(
        self, runtime: Runtime, storage: Storage, merger: Merger, executor: PlanExecutor, changes: MemoryChanges
    ) -> None:
        super().__init__(runtime, storage, merger, executor)
        self._changes = changes

    async def link(self, source: Scope, target: Scope) -> None:
        """Bring everything from a linked scope into its target, as if it had been said there.

        What was forgotten in one of them, after it was said in the other, is forgotten in both.
        """
        links = self._storage.links
        for one, other in ((source, target), (target, source)):
            await self._changes.forgetter.alike(other, await self._storage.ledger.forgotten(one.key))
        await links.share_forgotten(source.key, target.key, since=0.0)
        await self._bring_memories(source, target)
        await self._index(source, target, await links.move_turns(source.key, target.key))
        async with self._storage.documents.writing(source):
            records = await self._storage.records.originals(source)
        await links.add_items(source.key, "record", {record.session_id: "" for record in records})
        await self._move_records(source, target, {record.session_id for record in records})

    async def unlink(self, source: Scope, target: Scope, *, since: float) -> None:
        """Return to a linked scope, `target`, what it has brought, without what was forgotten since; end its link.

        source: the scope that has it now. since: when the scopes were linked, in epoch seconds.
        """
        links = self._storage.links
        await links.share_forgotten(source.key, target.key, since=since)
        withheld = await self._storage.ledger.withheld(source.key)
        linked = {identity: json.loads(body) for identity, body in (await links.items(target.key, "memory")).items()}
        back, leaving = await self._find_returning(source, linked)
        async with self._executor.writing(target):
            known = await self._ids(target)
            new = [each for each in back if each.id not in known]
            await self._write(Draft(target, "link", added=new), new, source, "unlinked")
        await self._retract(source, target, "unlinked", leaving)
        await self._move_records(source, target, set(await links.items(target.key, "record")))
        await self._index(source, target, await links.unlink(target.key, source.key))
        async with self._storage.documents.writing(source):
            await self._changes.forgetter.keep_hidden(source, withheld)
            await self._executor.withhold(source)
        async with self._storage.documents.writing(target):
            await self._executor.withhold(target)

    async def _bring_memories(self, source: Scope, target: Scope) -> None:
        rows = await self._items(source)
        known = await self._storage.ledger.memories(source.key, [row.entry.id for row in rows])
        records = [record_of(row, known.get(row.entry.id)) for row in rows]
        async with self._executor.writing(target):
            present = await self._items(target)
            ids, texts = {row.entry.id for row in present}, {same_text(row.entry.text) for row in present}
            new = [each for each in records if each.id not in ids and same_text(each.text) not in texts]
            added = {each.id for each in new}
            linked = {
                each.id: json.dumps({"record": asdict(each), "shared": each.id not in added}, ensure_ascii=False)
                for each in records
            }
            await self._storage.links.add_items(source.key, "memory", linked)
            placed = self._placed(new, await self._merger.room(target))
            await self._write(Draft(target, "link", added=placed), placed, source, "linked")
        await self._retract(source, target, "linked", records)

    def _placed(self, records: Sequence[MemoryRecord], room: int) -> list[MemoryRecord]:
        """Return records that go to the log of their day where MEMORY.md has no room for them."""
        placed: list[MemoryRecord] = []
        for record in records:
            size = len(record.text.encode("utf-8", "replace")) + LINE_OVERHEAD
            if record.file == MEMORY_FILE and size > room:
                placed.append(replace(record, file=day_file(self._runtime.day_of(record.at))))
            else:
                placed.append(record)
                room -= size if record.file == MEMORY_FILE else 0
        return placed

    async def _find_returning(
        self, source: Scope, linked: Mapping[str, Mapping[str, Any]]
    ) -> tuple[list[MemoryRecord], list[MemoryRecord]]:
        """Return the memories that go back, and those that leave the scope that has them."""
        rows = {row.entry.id: row for row in await self._items(source)}
        forgotten: dict[str, float] = {}
        for text, at in (await self._storage.ledger.forgotten(source.key)).items():
            forgotten[same_text(text)] = max(at, forgotten.get(same_text(text), 0.0))
        back: list[MemoryRecord] = []
        leaving: list[MemoryRecord] = []
        for identity, body in linked.items():
            row, record = rows.get(identity), decoded(MemoryRecord, body["record"])
            if row and not body["shared"]:
                now = await self._merger.memory(source, row)
                leaving.append(now)
                back.append(replace(now, file=record.file))
            elif record.at > forgotten.get(same_text(record.text), -1.0) and (
                body["shared"] or not await self._is_removed(source, identity)
            ):
                back.append(record)
        return back, leaving

    async def _is_removed(self, source: Scope, identity: str) -> bool:
        """Return whether a memory, or its newest version, was forgotten or went back with an unlinked scope."""
        versions, state = set[str](), ""
        while identity and identity not in versions:
            versions.add(identity)
            states = await self._storage.ledger.states(source.key, [identity])
            state, identity = states.get(identity, ("", ""))
        return state in _REMOVED

    async def _move_records(self, source: Scope, target: Scope, session_ids: set[str]) -> None:
        """Move session records, without what is forgotten there."""
        records = self._storage.records
        moving = [each for each in await records.originals(source) if each.session_id in session_ids]
        if not moving:
            return
        async with self._storage.documents.writing(target):
            await records.merge(target, moving, dry_run=False)
            arrived = {each.session_id for each in moving if await records.is_saved(target, each.session_id)}
        async with self._storage.documents.writing(source):
            await records.remove(source, arrived)

    async def _index(self, one: Scope, two: Scope, turns: Sequence[int]) -> None:
        for scope in (one, two):
            await self._storage.episode_follower.index(scope.key, turns)

    async def _items(self, scope: Scope) -> list[Stored]:
        """Return the lines of a scope that are memories, oldest first."""
        await self._storage.follower.refresh(scope)
        rows = await self._storage.recaller.newest(scope.key, _ALL)
        return [row for row in reversed(rows) if row.entry.kind == "item" and is_writable(row.file)]

    async def _ids(self, scope: Scope) -> set[str]:
        return {row.entry.id for row in await self._items(scope)}

    async def _retract(self, scope: Scope, other: Scope, action: str, records: Sequence[MemoryRecord]) -> None:
        """Remove those of the memories that a scope still has."""
        async with self._executor.writing(scope):
            known = await self._ids(scope)
            leaving = [each for each in records if each.id in known]
            retired = [Retired(memory=each, state="retracted") for each in leaving]
            await self._write(Draft(scope, "link", retired=retired), leaving, other, action)

    async def _write(self, draft: Draft, moved: Sequence[MemoryRecord], other: Scope, action: str) -> None:
        """Write what comes or leaves, with a receipt. Call it only within the executor's `writing`."""
        for identity in [record.id for record in moved] or [""]:
            draft.note(action, other.name, identity)
        await self._executor.complete(draft)
