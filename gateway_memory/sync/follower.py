"""Keep the index equal to the Markdown files, also where people or tools edit them."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from gateway_memory.errors import StoreError
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.threads import compute
from gateway_memory.ground.times import noon_of
from gateway_memory.scope import Scope
from gateway_memory.store.damage import most
from gateway_memory.store.document_store import Stamps
from gateway_memory.store.documents import MEMORY_FILE, is_writable, original_of
from gateway_memory.store.headings import day_of_file
from gateway_memory.store.journal.store import Store
from gateway_memory.store.markdown import Block, content_id, one_line, parse, told_on
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.sync import vanishing
from gateway_memory.sync.entries import digests_of, entry_of, is_news, rank_of, state_of
from gateway_memory.sync.episodes import is_episode_page
from gateway_memory.sync.losses import Loss, Losses
from notifier import Announcer, MemoryChange
from recall import Entry, Recaller, Stamp, Stored, consume_exception

log = get_logger(__name__)

_ANNOUNCED_AT_ONCE: Final = 64
"""The maximum number of lines to announce at once: the last ones of a large edit. Recall finds the others."""
Edit: TypeAlias = tuple[Literal["added", "removed"], Stored]
"""A row that a person or a tool has added to a file or removed from it. A line with changed text counts as added."""
_MOST_SCOPES: Final = 1000
"""The number of scopes whose state is cached. Other scopes are compared with the index again."""
_HELD: Final = "held"
"""The digest of a file some of whose lines are held in the index: every process looks at it again."""
_RACY_NS: Final = 100_000_000
"""A file saved twice within the clock's resolution keeps its stamp, so a file that is this young is read again."""


class Follower:
    """Compares stamps, then digests, and indexes the changed files.

    announcer: announces lines that others wrote or deleted; None if nobody is notified.
    """

    def __init__(self, runtime: Runtime, store: Store, recaller: Recaller, announcer: Announcer | None) -> None:
        self._runtime = runtime
        self._store = store
        self._recaller = recaller
        self._announcer = announcer
        self._losses = Losses(runtime, store, recaller)
        self._scopes: OrderedDict[str, _Scope] = OrderedDict()
        self._changes = 0
        self._generation = 0
        self.behind: dict[str, Scope] = {}
        """The scopes with files that are to be looked at again after a moment."""
        self.looks_again = asyncio.Event()

    async def refresh(self, scope: Scope, *, file: str = "", source: str = "") -> int:
        """Index what has changed in a scope's files since the last refresh.

        Returns a number that increases with each change. While it is the same, no line is new. Calls that come during a
        refresh share the next one.

        source: the key of the session that has just written `file`.
        """
        if source:
            async with self._of(scope).lock:
                return await self._refresh(scope, file, source)
        of = self._of(scope)
        refreshing = of.next
        if refreshing is None:
            refreshing = of.next = asyncio.ensure_future(self._next_refresh(scope, of))
            refreshing.add_done_callback(consume_exception)
        return await asyncio.shield(refreshing)

    def last_change(self, scope: Scope) -> int:
        """Return the number of a scope's last change, as the last refresh returned it."""
        return self._of(scope).changes

    def damaged(self, scope: Scope) -> dict[str, Loss]:
        """Return the losses of a scope's files that, at the last refresh, were damaged for long enough."""
        return {file: held.loss for file, held in self._of(scope).held.items() if held.settled}

    def is_unsure(self, scope: Scope) -> bool:
        """Return whether a file of a scope looks damaged, and has not been so for long enough."""
        return any(held.loss.damaged and not held.settled for held in self._of(scope).held.values())

    def _of(self, scope: Scope) -> "_Scope":
        """Return the state of a scope. Beyond `_MOST_SCOPES`, the least recently used state is dropped."""
        of = self._scopes.get(scope.key)
        if of is None:
            resting = (key for key, each in self._scopes.items() if not each.lock.locked() and each.next is None)
            if len(self._scopes) >= _MOST_SCOPES and (key := next(resting, None)) is not None:
                del self._scopes[key]
            of = self._scopes[scope.key] = _Scope()
        self._scopes.move_to_end(scope.key)
        return of

    def _is_known(self, of: "_Scope", current: Stamps) -> bool:
        """Return whether the files are unchanged since the last refresh, and none of them was young then."""
        return (
            of.seen is not None
            and self._generation == self._recaller.generation
            and not of.young
            and not of.held
            and current == {file: state_of(stamp) for file, stamp in of.seen.items()}
        )

    async def _next_refresh(self, scope: Scope, of: "_Scope") -> int:
        async with of.lock:
            of.next = None
            return await self._refresh(scope)

    async def _refresh(self, scope: Scope, file: str = "", source: str = "") -> int:
        of = self._of(scope)
        current = await self._store.documents.scan(scope)
        if self._is_known(of, current):
            return of.changes
        stamps = await self._recaller.stamps(scope.key)  # another process may have indexed them already
        known = {file: stamp for file, stamp in stamps.items() if not is_episode_page(file)}
        if self._generation != self._recaller.generation:  # the read may have replaced the index
            self._generation = self._recaller.generation
            for each in self._scopes.values():
                each.seen = None
        of.held = {name: held for name, held in of.held.items() if name in known and known[name].digest == _HELD}
        young, is_new = of.young, of.seen is None and not known
        changed = [
            file
            for file, state in current.items()
            if file in young or file not in known or known[file].digest == _HELD or state != state_of(known[file])
        ]
        changes = _Changes(named=file if source else "", changed=tuple(changed))
        # Remove files first. Otherwise a line that moved out of one would look like a copy and lose its id.
        for name in known.keys() - current.keys():
            if loss := await self._loss(scope, name, None, (), known, changes):
                await self._hold(scope, name, None, (), known, loss)
                continue
            of.held.pop(name, None)
            changes.removed += (await self._recaller.replace_file(scope.key, name, None, ())).removed
            known.pop(name)
        for name in sorted(changed, key=rank_of):
            looked = of.seen is not None if name not in known else bool(known[name].digest)
            # At the first comparison of a file, no line counts as an edit.
            await self._load(scope, name, known, changes if looked else _Changes(changed=changes.changed))
        if is_new and await self._hold_what_the_journal_has(scope, known, current):
            return await self._refresh(scope, file, source)
        if of.seen is None or digests_of(of.seen) != digests_of(known):  # else a file was young, or only touched
            self._changes += 1
            of.changes = self._changes
        of.seen = known
        edits = changes.by_hand()
        if self._announcer and edits:
            await self._announce(self._announcer, scope.key, edits, file, source)
        return of.changes

    # What has vanished: see `vanishing`.

    async def _loss(
        self,
        scope: Scope,
        file: str,
        now: tuple[str, Stamp] | None,
        blocks: Sequence[Block],
        known: dict[str, Stamp],
        changes: "_Changes",
    ) -> Loss | None:
        """Return what has vanished from a file; None if nothing has, or the session that wrote the file says so."""
        documents, was = self._store.documents, known.get(file)
        if documents.folder is None or not is_writable(file) or was is None or not was.digest or file == changes.named:
            return None

        async def elsewhere() -> list[str]:
            # What stands in a second copy of the file was not moved there: the client may resolve the two by either.
            others = [name for name in changes.changed if name != file and original_of(name) != file]
            return [each[0] for each in [await documents.read(scope, name) for name in others] if each]

        return await self._losses.find(scope, file, now, blocks, was=was, elsewhere=elsewhere)

    async def _hold(
        self,
        scope: Scope,
        file: str,
        stamp: Stamp | None,
        entries: Sequence[Entry],
        known: dict[str, Stamp],
        loss: Loss,
    ) -> None:
        """Keep the rows of lines that have vanished, until the file is mended or a person's wish is plain.

        stamp: of the file, None if it is gone. entries: of those of its lines that the memory knows.
        """
        of, now = self._of(scope), asyncio.get_running_loop().time()
        state = None if stamp is None else (*state_of(stamp), stamp.digest)
        held = of.held.get(file)
        held = held if held and held.state == state else None
        since = held.since if held else now
        age = max(now - since, 0.0 if stamp is None else time.time() - stamp.mtime_ns / 1e9)
        long_ago = age >= vanishing.SETTLES_SECONDS or (held is not None and held.settled)
        settled = loss.damaged and (long_ago or (stamp is None and of.seen is None))
        of.held[file] = _Held(state=state, since=since, loss=loss, settled=settled)
        standing = {entry.id for entry in entries}
        rows = [row.entry for row in loss.rows if row.entry.id not in standing]
        known[file] = Stamp(mtime_ns=known[file].mtime_ns, size=known[file].size, digest=_HELD)
        await self._recaller.replace_file(scope.key, file, known[file], [*entries, *rows])
        self.behind[scope.key] = scope
        self.looks_again.set()

    async def _hold_what_the_journal_has(self, scope: Scope, known: dict[str, Stamp], current: Stamps) -> bool:
        """Give a new index those lines of damaged files that only the journal has; return whether there are any."""
        if self._store.documents.folder is None:
            return False
        expected = await self._store.ledger.in_documents(scope.key)
        owners = await self._recaller.owners(scope.key, [each for ids in expected.values() for each in ids])
        found = False
        for file, ids in expected.items():
            lost = [identity for identity in ids if identity not in owners]
            if not lost or not is_writable(file) or (file in current and not most(len(lost), len(ids))):
                continue
            stamp = known.get(file, Stamp(mtime_ns=0, size=0, digest=_HELD))
            memories = await self._store.ledger.memories(scope.key, lost)
            blocks = [
                Block(
                    kind="item", id=each.id, text=each.text, type=each.type, confidence=each.confidence, first=0, last=0
                )
                for each in memories.values()
            ]
            entries, _ = await compute(self._entries, file, blocks, {}, memories, stamp)
            rows = [row.entry for row in await self._recaller.in_file(scope.key, file)]
            await self._recaller.replace_file(scope.key, file, replace(stamp, digest=_HELD), [*rows, *entries])
            found = True
        return found

    async def _announce(self, announcer: Announcer, scope: str, edits: Sequence[Edit], file: str, source: str) -> None:
        """Announce manual edits. The index has them already, so a failure is only logged.

        source: the key of the session that has written `file`.
        """
        now = self._runtime.timestamp()
        changes = [
            MemoryChange(
                id=row.entry.id,
                text="" if action == "removed" else one_line(row.entry.text),
                at=now,
                action=action,
                source=source if row.file == file else "",
                by_hand=True,
            )
            for action, row in edits
        ]
        try:
            files = {row.entry.id: row.file for action, row in edits if action == "removed"}
            events = await self._store.event_log.add_edits(scope, changes, now, files)
        except StoreError as error:
            log.warning("edits.not_announced", error=type(error).__name__, lines=len(changes))
            self._runtime.on_error("edits", error)
            return
        for event in events:
            announcer.announce(event)

    async def _load(
        self, scope: Scope, file: str, known: dict[str, Stamp], edits: "_Changes", looked: str = ""
    ) -> None:
        """Index a file, and collect the edits in it. looked: its digest when lines were found to have vanished."""
        of = self._of(scope)
        young = of.young
        young.discard(file)
        read = await self._store.documents.read(scope, file)
        if read is None:
            return
        text, stamp = read
        in_files = self._store.documents.folder is not None  # a table gives each change another stamp
        if in_files and time.time_ns() - stamp.mtime_ns < _RACY_NS:
            young.add(file)
        if file in known and known[file].digest == stamp.digest:
            known[file] = stamp
            return
        blocks = await compute(parse, text, file=file, memories=is_writable(file))
        blocks = [
            block for block in blocks if not vanishing.NO_TEXT.search(block.text)
        ]  # a broken line has another's id
        if (name := original_of(file)) and (original := await self._store.documents.read(scope, name)):
            told = {each.text for each in await compute(parse, original[0], file=name, memories=is_writable(name))}
            told |= {
                row.entry.text for row in await self._recaller.in_file(scope.key, name)
            }  # with those that are held
            blocks = [block for block in blocks if block.text not in told]
        owners = await self._recaller.owners(scope.key, [block.id for block in blocks])
        memories = await self._store.ledger.memories(scope.key, [block.id for block in blocks if block.kind == "item"])
        entries, lost = await compute(self._entries, file, blocks, owners, memories, stamp)
        if loss := await self._loss(scope, file, read, blocks, known, edits):
            if loss.damaged or await self._store.documents.is_open(scope, file):
                ids = {row.entry.id for row in loss.rows} | (await self._standing(scope, memories))
                await self._hold(scope, file, stamp, [each for each in entries if each.id in ids], known, loss)
                return
            age = time.time() - stamp.mtime_ns / 1e9
            if looked != stamp.digest and age < vanishing.MOMENT_SECONDS:
                await asyncio.sleep(min(vanishing.MOMENT_SECONDS, vanishing.MOMENT_SECONDS - age))
                await self._load(scope, file, known, edits, looked=stamp.digest)
                return
        of.held.pop(file, None)
        change = await self._recaller.replace_file(scope.key, file, stamp, entries)
        known[file] = stamp
        for other in sorted(lost):  # lines there lose their ids to this file, which has precedence
            known[other] = Stamp(mtime_ns=0, size=0, digest="")
            await self._load(scope, other, known, _Changes(changed=edits.changed))
        edits.new += change.added
        edits.removed += change.removed
        texts = {identity: memory.text for identity, memory in memories.items()}
        ours = {row.entry.id for row in change.added if texts.get(row.entry.id) == row.entry.text}
        if ours:  # a memory that was removed and stands in the file again was put back by a person
            ours -= await self._store.event_log.missing(scope.key, sorted(ours))
        edits.added += [row for row in change.added if row.entry.id not in ours]

    async def _standing(self, scope: Scope, memories: Iterable[str]) -> set[str]:
        """Return those of these memories that, by the journal, should be in a document."""
        ids = sorted(memories)
        return set(ids) - await self._store.event_log.missing(scope.key, ids)

    def _entries(
        self,
        file: str,
        blocks: Iterable[Block],
        owners: dict[str, str],
        memories: dict[str, MemoryRecord],
        stamp: Stamp,
    ) -> tuple[list[Entry], set[str]]:
        default_at = self._default_at(file, stamp)
        entries: list[Entry] = []
        lost: set[str] = set()
        ids: set[str] = set()
        for block in blocks:
            identity = block.id
            owner = owners.get(identity, file)
            if owner != file:
                if rank_of(owner) < rank_of(file):  # of two lines with one id, the first one keeps it
                    identity = content_id(file, block.id, block.text)
                else:
                    lost.add(owner)
            if identity in ids:
                continue
            ids.add(identity)
            known = memories.get(identity)
            noon = noon_of(block.day, self._runtime.zone)
            at = default_at if noon is None else min(noon, stamp.mtime_ns / 1e9)
            day = self._runtime.date_of(known.at if known else at)
            text = block.text if known else told_on(block, self._runtime.date_of(stamp.mtime_ns / 1e9))
            entries.append(entry_of(replace(block, text=text), identity, known, at, day, curated=file == MEMORY_FILE))
        return entries, lost

    def _default_at(self, file: str, stamp: Stamp) -> float:
        saved = stamp.mtime_ns / 1e9
        noon = noon_of(day_of_file(file), self._runtime.zone)  # also of "2026-09-21-1538.md"
        return saved if noon is None else min(noon, saved)


@dataclass(slots=True)
class _Scope:
    """The state of a scope. seen: the stamps at the last refresh. young: the files that were young then.

    changes: the number of the scope's last change, counted over all scopes. next: the refresh that has not started yet.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    next: asyncio.Future[int] | None = None
    changes: int = 0
    seen: dict[str, Stamp] | None = None
    young: set[str] = field(default_factory=set)
    held: "dict[str, _Held]" = field(default_factory=dict)
    """The files some of whose vanished lines the index still has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A file from which lines vanished. state: of the file, None if it is gone. since: when it was first seen so.

    settled: whether it has been damaged for long enough. since is a time of the event loop.
    """

    state: tuple[int, int, str] | None
    since: float
    loss: Loss
    settled: bool


@dataclass(slots=True)
class _Changes:
    """What one refresh found. new: all new rows. added: those that we did not write. removed: removed rows.

    named: the file that a session says it has written. changed: the files that were found to be changed.
    """

    named: str = ""
    changed: tuple[str, ...] = ()

    new: list[Stored] = field(default_factory=list)
    added: list[Stored] = field(default_factory=list)
    removed: list[Stored] = field(default_factory=list)

    def by_hand(self) -> "list[Edit]":
        """Return the edits to announce. A line that only moved, or only changed its id, is not an edit."""
        current = {row.entry.text for row in self.new} | {row.entry.id for row in self.new}
        removed_texts = {row.entry.text for row in self.removed}
        removed = [row for row in self.removed if is_news(row) and not {row.entry.text, row.entry.id} & current]
        added = [row for row in self.added if is_news(row) and row.entry.text not in removed_texts]
        edits: list[Edit] = [("removed", row) for row in removed[-_ANNOUNCED_AT_ONCE:]]
        edits += [("added", row) for row in added[-_ANNOUNCED_AT_ONCE:]]
        return edits
