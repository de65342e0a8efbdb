"""Bring what one scope has into another one, and back: memories, session records, and what was said.

Each step can be repeated after a crash. A memory keeps its id, its time and where it comes from.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from extractor import same_text
from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.capture.executor import PlanExecutor
from gateway_memory.capture.merger import LINE_OVERHEAD, Merger
from gateway_memory.runtime.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.store.documents import MEMORY_FILE, day_file, is_writable
from gateway_memory.store.plan import CandidateOutcome, Plan, Retired
from gateway_memory.store.record import MemoryRecord
from gateway_memory.sync.storage import Storage, record_of
from recall import Stored

__all__ = ["Joining"]

_ALL: Final = 1 << 40
_GONE: Final = ("forgotten", "undone", "deleted")


class Joining:
    """Moves the content of scopes whose link the journal holds already."""

    def __init__(
        self, runtime: Runtime, storage: Storage, merger: Merger, executor: PlanExecutor, changes: MemoryChanges
    ) -> None:
        self._runtime = runtime
        self._storage = storage
        self._merger = merger
        self._executor = executor
        self._changes = changes

    async def bring(self, source: Scope, target: Scope) -> None:
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
        await links.hold(source.key, "record", {record.session_id: "" for record in records})
        await self._move_records(source, target, {record.session_id for record in records})

    async def bring_back(self, source: Scope, target: Scope, *, since: float) -> None:
        """Return to a linked scope, `target`, what it has brought, without what was forgotten since; end its link.

        source: the scope that has it now. since: when the scopes were linked, in epoch seconds.
        """
        links = self._storage.links
        await links.share_forgotten(source.key, target.key, since=since)
        hidden = await self._storage.ledger.withheld(source.key)
        held = {identity: _decoded(body) for identity, body in (await links.held(target.key, "memory")).items()}
        back, leaving = await self._returned(source, held)
        async with self._storage.documents.writing(target):
            there = {row.entry.id for row in await self._items(target)}
            await self._execute(target, source, "unlinked", added=[item for item in back if item.id not in there])
        async with self._storage.documents.writing(source):
            there = {row.entry.id for row in await self._items(source)}
            await self._execute(source, target, "unlinked", retired=[item for item in leaving if item.id in there])
        await self._move_records(source, target, set(await links.held(target.key, "record")))
        await self._index(source, target, await links.part(target.key, source.key))
        async with self._storage.documents.writing(source):
            await self._changes.forgetter.keep_hidden(source, hidden)
            await self._executor.withhold(source)
        async with self._storage.documents.writing(target):
            await self._executor.withhold(target)

    async def _forgotten(self, scope: Scope) -> Mapping[str, float]:
        """Return what was forgotten in a scope, by `same_text`, each with its last time."""
        found: dict[str, float] = {}
        for text, at in (await self._storage.ledger.forgotten(scope.key)).items():
            found[same_text(text)] = max(at, found.get(same_text(text), 0.0))
        return found

    async def _bring_memories(self, source: Scope, target: Scope) -> None:
        links = self._storage.links
        rows = await self._items(source)
        known = await self._storage.ledger.memories(source.key, [row.entry.id for row in rows])
        records = [record_of(row, known.get(row.entry.id)) for row in rows]
        async with self._storage.documents.writing(target):
            standing = await self._items(target)
            ids, texts = {row.entry.id for row in standing}, {same_text(row.entry.text) for row in standing}
            new = [each for each in records if each.id not in ids and same_text(each.text) not in texts]
            added = {each.id for each in new}
            held = {each.id: _encoded(each, shared=each.id not in added) for each in records}
            await links.hold(source.key, "memory", held)
            room = await self._merger.room(target)
            await self._execute(target, source, "linked", added=self._placed(new, room))
        async with self._storage.documents.writing(source):
            there = {row.entry.id for row in await self._items(source)}
            leaving = [record for record in records if record.id in there]
            await self._execute(source, target, "linked", retired=leaving)

    def _placed(self, records: Sequence[MemoryRecord], room: int) -> list[MemoryRecord]:
        """Return records that go to the log of their day where MEMORY.md has no room for them."""
        placed: list[MemoryRecord] = []
        for record in records:
            size = len(record.text.encode("utf-8", "replace")) + LINE_OVERHEAD
            curated = record.file == MEMORY_FILE
            fits = curated and size <= room
            room -= size if fits else 0
            day = day_file(self._runtime.day_of(record.at))
            placed.append(replace(record, file=day) if curated and not fits else record)
        return placed

    async def _returned(
        self, source: Scope, held: Mapping[str, tuple[MemoryRecord, bool]]
    ) -> tuple[list[MemoryRecord], list[MemoryRecord]]:
        """Return the memories that go back, and those that leave the scope that has them."""
        rows = {row.entry.id: row for row in await self._items(source)}
        forgotten = await self._forgotten(source)
        back: list[MemoryRecord] = []
        leaving: list[MemoryRecord] = []
        for identity, (record, shared) in held.items():
            row = rows.get(identity)
            if row and not shared:
                now = await self._merger.memory(source, row)
                leaving.append(now)
                back.append(replace(now, file=record.file))
            elif not await self._is_gone(source, record, shared=shared, forgotten=forgotten):
                back.append(record)
        return back, leaving

    async def _is_gone(
        self, source: Scope, record: MemoryRecord, *, shared: bool, forgotten: Mapping[str, float]
    ) -> bool:
        """Return whether a memory that is not there under its id was forgotten, or left with whom it belongs to."""
        if record.at <= forgotten.get(same_text(record.text), -1.0):
            return True
        if shared:
            return False
        identity, seen, state = record.id, set[str](), ""
        while identity and identity not in seen:  # the newest version decides
            seen.add(identity)
            states = await self._storage.ledger.states(source.key, [identity])
            state, identity = states.get(identity, ("", ""))
        return state in (*_GONE, "retracted")

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

    async def _execute(
        self,
        scope: Scope,
        other: Scope,
        action: str,
        *,
        added: Sequence[MemoryRecord] = (),
        retired: Sequence[MemoryRecord] = (),
    ) -> None:
        """Write what comes and what leaves, with a receipt. Call it only within the documents' `writing`."""
        name = other.name
        changed = [*added, *retired]
        outcomes = [CandidateOutcome(turn=0, action=action, reason=name, id=record.id) for record in changed]
        await self._executor.execute(
            Plan(
                scope=scope.key,
                folder=scope.folder,
                stage="link",
                at=self._runtime.timestamp(),
                added=tuple(added),
                retired=tuple(Retired(memory=record, state="retracted") for record in retired),
                outcomes=tuple(outcomes or [CandidateOutcome(turn=0, action=action, reason=name)]),
            )
        )


def _encoded(record: MemoryRecord, *, shared: bool) -> str:
    return json.dumps({"record": record.to_json(), "shared": shared}, ensure_ascii=False)


def _decoded(body: str) -> tuple[MemoryRecord, bool]:
    raw: dict[str, Any] = json.loads(body)
    return MemoryRecord.from_json(raw["record"]), bool(raw["shared"])
