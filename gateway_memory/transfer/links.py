"""One person over channels: codes that link two identities, and moving their memories together and apart."""

import asyncio
import hashlib
import json
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from extractor import same_text
from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.capture.executor import Draft, PlanExecutor
from gateway_memory.capture.lifecycle import Lifecycle
from gateway_memory.capture.merger import LINE_OVERHEAD, Changer, Merger
from gateway_memory.capture.processor import TurnProcessor
from gateway_memory.ground import CATCH_UP_SECONDS, decoded, get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.session import Session, SessionRegistry
from gateway_memory.store.documents import MEMORY_FILE, day_file, is_writable
from gateway_memory.store.journal.links import Link, Links, below, root_of
from gateway_memory.store.journal.sessions import End, Sessions
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.plan import Retired
from gateway_memory.sync.follower import record_of
from gateway_memory.sync.storage import Storage
from recall import Stored

log = get_logger(__name__)

# Codes that join two identities of one person: short enough to be typed, and never stored as they are.

CODE_SECONDS: Final = 600.0
"""How long a code is valid."""
TRIES: Final = 5
TRIES_SECONDS: Final = 3600.0
"""An identity may type so many wrong codes within this time."""
_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH: Final = 10
_READ_AS: Final = str.maketrans("OIL", "011", "- ")


def new_code() -> str:
    """Return a new code of fifty random bits, in two groups."""
    letters = "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    return f"{letters[: _LENGTH // 2]}-{letters[_LENGTH // 2 :]}"


def digest_of(code: str, journal: str) -> str:
    """Return what is stored of a code as a person types it. journal: the id of the journal that stores it."""
    plain = code.upper().translate(_READ_AS)
    return hashlib.scrypt(plain.encode("utf-8", "replace"), salt=journal.encode(), n=1024, r=8, p=1, dklen=32).hex()


# Bring what one scope has into another one, and back: memories, session records, and what was said.
#
# Each step can be repeated after a crash. A memory keeps its id, its time and where it comes from.

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
        back, leaving = await self._returned(source, linked)
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

    async def _returned(
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


NoLink = Literal["shared", "incognito", "owner"]
"""Why a session's identity can't be linked."""
Joined = Literal["joined", "already", "own", "unknown", "limited"]
"""What became of a code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnds:
    """What ends sessions. unsubscribe: ends the subscription of a session's id."""

    registry: SessionRegistry
    sessions: Sessions
    lifecycle: Lifecycle
    processor: TurnProcessor
    unsubscribe: Callable[[str], None]

    async def end(self, scopes: Collection[str], reason: str) -> None:
        """End the open sessions of scopes, those of other processes too, where they start anew in the right scope."""
        for known in await self.sessions.open_in(sorted(scopes)):
            session = self.registry.of_id(known.session_id)
            await self.processor.caught_up(known.session_id, CATCH_UP_SECONDS)
            self.registry.close_idle(known.session_id)
            self.unsubscribe(known.session_id)
            if session:
                async with session.writing:  # wait for writes of this session that are in progress
                    pass
            scope = Scope.parse(known.scope)
            await self.lifecycle.end(known.session_id, scope, known.key, End(reason=reason), patient=False)


class LinkBook:
    """The links of one workspace. A link that a crash or another process left incomplete is completed when it is used.

    The owner is never linked: who the owner is stands in the config alone.
    """

    def __init__(self, runtime: Runtime, links: Links, journal: str, linker: ContentLinker, ends: SessionEnds) -> None:
        self._runtime = runtime
        self._links = links
        self._journal = journal
        self._linker = linker
        self._ends = ends
        self._working = asyncio.Lock()
        self._lately: dict[str, Link] = {}

    async def resolved(self, scope: Scope) -> Scope:
        """Return the scope in which the memory of an identity's scope is.

        Raises:
            StoreError: the links could not be read, or what waits could not be moved.
        """
        links = await self._links.of(scope.key)
        for name in (scope.key, *below(self._lately, root_of(self._lately, scope.key))):
            self._lately.pop(name, None)
        self._lately.update(links)
        root = root_of(links, scope.key)
        linked = below(links, root)
        if linked and await self._links.has_own(linked):
            async with self._working:
                await self._complete(root)
        return Scope.parse(root) if linked else scope

    def lately(self, scope: Scope) -> Scope:
        """Return the scope in which the memory of an identity's scope is, by the links that were read last."""
        return Scope.parse(root_of(self._lately, scope.key))

    def refused(self, session: Session) -> NoLink | None:
        """Return why the identity of a session can't be linked, or None if it can."""
        if not session.scope.kind.may_link:
            return "shared" if session.scope.kind.is_shared else "owner"
        return "incognito" if session.incognito else None

    async def offer(self, session: Session) -> str:
        """Return a new code, which is valid once and for ten minutes."""
        code = new_code()
        digest = digest_of(code, self._journal)
        await self._links.offer(session.who.origin.key, digest, until=self._runtime.timestamp() + CODE_SECONDS)
        return code

    async def link_by_code(self, session: Session, code: str) -> tuple[Joined, str]:
        """Link the session's identity to the one to which a code was given; return the result, and that one's name."""
        links, now, asker = self._links, self._runtime.timestamp(), session.who.origin.key
        async with self._working:
            if await links.wrongs(asker, now - TRIES_SECONDS) >= TRIES:
                return "limited", ""
            offering = await links.take(digest_of(code, self._journal), now=now, but=asker)
            if offering is None:
                await links.wrong(asker, now)
                return "unknown", ""
            return await self._link(asker, offering, now)

    async def link(self, scope: str, other: str) -> tuple[Joined, str]:
        """Link two people's scopes at the word of who runs the gateway; return the result, and the other one's name."""
        async with self._working:
            return await self._link(scope, other, self._runtime.timestamp())

    async def _link(self, scope: str, other: str, now: float) -> tuple[Joined, str]:
        if scope == other:
            return "own", _name(other)
        known = {**await self._links.of(scope), **await self._links.of(other)}
        source, target = root_of(known, scope), root_of(known, other)
        if source == target:
            return "already", _name(other)
        await self._ends.end({source, *below(known, source)}, "linked")
        await self._links.link(source, target, now)
        await self._complete(target)
        log.info("links.joined")
        return "joined", _name(other)

    async def unlink(self, identity: str) -> str | None:
        """End the link of an identity's scope, else the newest one into it; return the name that is apart again.

        None if there is no link.
        """
        links = self._links
        async with self._working:
            known = await links.of(identity)
            into = [name for name, link in known.items() if link.target == identity]
            leaving = identity if identity in known else max(into, key=lambda name: known[name].at, default="")
            if not leaving:
                return None
            root = root_of(known, leaving)
            await self._complete(root)
            # A session may be shared by both: nobody knows who speaks in it in another process.
            await self._ends.end({root, *below(known, root)}, "unlinked")
            await self._linker.unlink(Scope.parse(root), Scope.parse(leaving), since=known[leaving].at)
        log.info("links.parted")
        return _name(root if leaving == identity else leaving)

    async def _complete(self, root: str) -> None:
        """Bring what linked scopes still have, the farthest first."""
        known = await self._links.of(root)
        for name in below(known, root):
            await self._linker.link(Scope.parse(name), Scope.parse(known[name].target))


def _name(scope: str) -> str:
    return Scope.parse(scope).name
