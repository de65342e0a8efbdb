"""Keep the index equal to the Markdown files, also where people or tools edit them, and to the stored episodes."""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Final, Literal, TypeAlias

from extractor import own_words, telling, traits_of, without_quotations
from gateway_memory.errors import StoreError
from gateway_memory.ground import get_logger, noon_of
from gateway_memory.ground.holds import Holds, holds_of
from gateway_memory.ground.runtime import Runtime, compute
from gateway_memory.scope import Scope
from gateway_memory.store.disk.workspace import EPISODE_PAGES
from gateway_memory.store.documents import MEMORY_FILE, Stamps, is_day_file, is_writable
from gateway_memory.store.journal.episodes import PAGE_TURNS, Episode, Episodes
from gateway_memory.store.journal.store import Store
from gateway_memory.store.markdown import Block, content_id, importance_of, noted, one_line, parse, without_spaces
from gateway_memory.store.plan import MemoryRecord
from notifier import Announcer, MemoryChange
from recall import FOR_GOOD, Entry, FileEntries, Recaller, RecallError, Stamp, Stored, consume_exception, passages_of

log = get_logger(__name__)

_ANNOUNCED_AT_ONCE: Final = 64
"""The maximum number of lines to announce at once: the last ones of a large edit. Recall finds the others."""
Edit: TypeAlias = tuple[Literal["added", "removed"], Stored]
"""A row that a person or a tool has added to a file or removed from it. A line with changed text counts as added."""
IMPORTANCE: Final = {"high": 0.9, "normal": 0.5}
_MOST_SCOPES: Final = 1000
"""The number of scopes whose state is cached. Other scopes are compared with the index again."""
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
        self._scopes: OrderedDict[str, _Scope] = OrderedDict()
        self._changes = 0
        self._generation = 0

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
            and current == {file: _state(stamp) for file, stamp in of.seen.items()}
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
        young = of.young
        changed = [
            file
            for file, state in current.items()
            if file in young or file not in known or state != _state(known[file])
        ]
        changes = _Changes()
        # Remove files first. Otherwise a line that moved out of one would look like a copy and lose its id.
        for name in known.keys() - current.keys():
            changes.removed += (await self._recaller.replace_file(scope.key, name, None, ())).removed
            known.pop(name)
        for name in sorted(changed, key=_rank):
            looked = of.seen is not None if name not in known else bool(known[name].digest)
            # At the first comparison of a file, no line counts as an edit.
            await self._load(scope, name, known, changes if looked else _Changes())
        if of.seen is None or _digests(of.seen) != _digests(known):  # else a file was young, or only touched
            self._changes += 1
            of.changes = self._changes
        of.seen = known
        edits = changes.by_hand()
        if self._announcer and edits:
            await self._announce(self._announcer, scope.key, edits, file, source)
        return of.changes

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
            events = await self._store.event_log.add_edits(scope, changes, now)
        except StoreError as error:
            log.warning("edits.not_announced", error=type(error).__name__, lines=len(changes))
            self._runtime.on_error("edits", error)
            return
        for event in events:
            announcer.announce(event)

    async def _load(self, scope: Scope, file: str, known: dict[str, Stamp], edits: "_Changes") -> None:
        """Index a file, and collect the edits in it."""
        young = self._of(scope).young
        young.discard(file)
        read = await self._store.documents.read(scope, file)
        if read is None:
            return
        text, stamp = read
        if time.time_ns() - stamp.mtime_ns < _RACY_NS:
            young.add(file)
        if file in known and known[file].digest == stamp.digest:
            known[file] = stamp
            return
        blocks = await compute(parse, text, file=file, memories=is_writable(file))
        owners = await self._recaller.owners(scope.key, [block.id for block in blocks])
        memories = await self._store.ledger.memories(scope.key, [block.id for block in blocks if block.kind == "item"])
        entries, lost = await compute(self._entries, file, blocks, owners, memories, stamp)
        change = await self._recaller.replace_file(scope.key, file, stamp, entries)
        known[file] = stamp
        for other in sorted(lost):  # lines there lose their ids to this file, which has precedence
            known[other] = Stamp(mtime_ns=0, size=0, digest="")
            await self._load(scope, other, known, _Changes())
        edits.new += change.added
        edits.removed += change.removed
        texts = {identity: memory.text for identity, memory in memories.items()}
        ours = {row.entry.id for row in change.added if texts.get(row.entry.id) == row.entry.text}
        if ours:  # a memory that was removed and stands in the file again was put back by a person
            ours -= await self._store.event_log.missing(scope.key, sorted(ours))
        edits.added += [row for row in change.added if row.entry.id not in ours]

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
                if _rank(owner) < _rank(file):  # of two lines with one id, the first one keeps it
                    identity = content_id(file, block.id, block.text)
                else:
                    lost.add(owner)
            if identity in ids:
                continue
            ids.add(identity)
            known = memories.get(identity)
            day = self._runtime.date_of(known.at if known else default_at)
            entries.append(_entry(block, identity, known, default_at, day, curated=file == MEMORY_FILE))
        return entries, lost

    def _default_at(self, file: str, stamp: Stamp) -> float:
        saved = stamp.mtime_ns / 1e9
        noon = noon_of(Path(file).stem, self._runtime.zone) if is_day_file(file) else None
        return saved if noon is None else min(noon, saved)


def _entry(
    block: Block, identity: str, memory: MemoryRecord | None, default_at: float, day: date, *, curated: bool
) -> Entry:
    """Return a block as the index has it. default_at: its time, day: its day, where the journal knows no other."""
    importance = importance_of(block.annotations)
    if importance is None:
        usual = "high" if curated and block.kind == "item" else "normal"
        importance = IMPORTANCE[memory.importance if memory else usual]
    standing = traits_of(memory.category).standing if memory else False
    holds = holds_of(block.text, day, standing=standing) if block.kind == "item" else Holds()
    return Entry(
        id=identity,
        text=block.text,
        at=memory.at if memory else default_at,
        kind=block.kind,
        type=block.type,
        category=memory.category if memory else "",
        importance=importance,
        confidence=block.confidence,
        session=memory.session_key if memory else "",
        heading=block.heading if block.kind == "paragraph" else _asked_by(block, memory),
        until=_until(holds, block, memory),
        turn=memory.turn if memory else 0,
        standing=standing,
    )


def _asked_by(block: Block, memory: MemoryRecord | None) -> str:
    """Return the words by which a line may be asked for; those of a model hold for the words that it has written."""
    cues = memory.cues if memory and memory.text == block.text else ()
    return "; ".join(filter(None, [noted(block.annotations).get("trigger", ""), *cues]))


def _until(holds: Holds, block: Block, memory: MemoryRecord | None) -> str:
    if holds.last is not None:
        return holds.last.isoformat()
    if memory and memory.expires and memory.text == block.text:  # of a version whose lines did not say it
        return memory.expires
    return FOR_GOOD if holds.every or (holds.begins and not holds.behind) else ""


def is_announced(row: Stored) -> bool:
    """Return whether a row is announced to sessions: see `MemoryRecord.announced`."""
    return row.entry.type != "S" and traits_of(row.entry.category).announced


def _is_news(row: Stored) -> bool:
    return row.entry.kind == "item" and is_announced(row)


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


@dataclass(slots=True)
class _Changes:
    """What one refresh found. new: all new rows. added: those that we did not write. removed: removed rows."""

    new: list[Stored] = field(default_factory=list)
    added: list[Stored] = field(default_factory=list)
    removed: list[Stored] = field(default_factory=list)

    def by_hand(self) -> "list[Edit]":
        """Return the edits to announce. A line that only moved, or only changed its id, is not an edit."""
        current = {row.entry.text for row in self.new} | {row.entry.id for row in self.new}
        removed_texts = {row.entry.text for row in self.removed}
        removed = [row for row in self.removed if _is_news(row) and not {row.entry.text, row.entry.id} & current]
        added = [row for row in self.added if _is_news(row) and row.entry.text not in removed_texts]
        edits: list[Edit] = [("removed", row) for row in removed[-_ANNOUNCED_AT_ONCE:]]
        edits += [("added", row) for row in added[-_ANNOUNCED_AT_ONCE:]]
        return edits


def _rank(file: str) -> tuple[bool, bool, str]:
    """Return a sort key: MEMORY.md first, then the day logs, then other notes."""
    return file != MEMORY_FILE, not is_day_file(file), file


def _state(stamp: Stamp) -> tuple[int, int]:
    return stamp.mtime_ns, stamp.size


# Keep the index's episodes equal to the stored ones, page by page.

SPEAKERS: Final = ("user", "assistant")
"""Who said a passage, as it is indexed; the first letter is in the id of its row."""
_PAGE: Final = re.compile(rf"{EPISODE_PAGES}(\d+)")
_OF_TURN: Final = re.compile(r"e(\d{1,18})(?:[a-z]\d+)?")
_RETRY_SECONDS: Final = 5.0
_PAGES_AT_ONCE: Final = 16
_REPLY_IMPORTANCE: Final = 0.3
_LEAST_IMPORTANCE: Final = 0.51
"""Of what the user said; the more it tells of the user, the higher it is. See `Entry`."""
_BORROWED_IMPORTANCE: Final = 0.5
_BORROWED_REPLY_IMPORTANCE: Final = 0.0
"""Of texts to be translated, stories, parts to play, and the replies to messages that are nothing else."""
_MOST_QUOTED: Final = 0.3
"""The share of a passage that may be in quotation marks."""


def is_episode_page(file: str) -> bool:
    """Return whether a file of the index is a page of episodes, which is no file of the workspace."""
    return _PAGE.fullmatch(file) is not None


def page_of(turn: int) -> str:
    """Return the file of the index that has a turn."""
    return f"{EPISODE_PAGES}{turn // PAGE_TURNS}"


def turn_of(identity: str) -> int:
    """Return the turn that the id of an exchange or of a passage of it names, such as e12 or e12u0; 0 for other ids."""
    match = _OF_TURN.fullmatch(identity)
    return int(match[1]) if match else 0


class EpisodeFollower:
    """Indexes what was said. One process at a time writes a page; the others read the same index."""

    def __init__(self, episodes: Episodes, recaller: Recaller) -> None:
        self._episodes = episodes
        self._recaller = recaller
        self._indexing = asyncio.Lock()
        self._complete: OrderedDict[tuple[int, str], None] = OrderedDict()
        self._behind: set[str] = set()
        self._wake = asyncio.Event()

    async def index(self, scope: str, turns: Iterable[int]) -> None:
        """Index the pages of these turns now.

        Raises:
            StoreError, RecallError: they could not be read or indexed.
        """
        pages = sorted({turn // PAGE_TURNS for turn in turns})
        for start in range(0, len(pages), _PAGES_AT_ONCE):
            await self._index(scope, pages[start : start + _PAGES_AT_ONCE])

    def look(self, scope: str) -> None:
        """Compare a scope with the index in the background, once for each index."""
        if (self._recaller.generation, scope) not in self._complete:
            self._behind.add(scope)
            self._wake.set()

    def look_again(self, scopes: Iterable[str]) -> None:
        """Compare scopes with the index in the background, whatever was compared before."""
        self._behind.update(scopes)
        self._wake.set()

    async def follow(self, scope: str) -> None:
        """Return when the index has what was said in a scope: a restored or new index has nothing of it yet.

        Raises:
            StoreError, RecallError: it could not be read or indexed.
        """
        if (self._recaller.generation, scope) not in self._complete:
            await self.catch_up(scope)

    async def catch_up(self, scope: str) -> None:
        """Index the pages of a scope that differ from the index.

        Raises:
            StoreError, RecallError: they could not be read or indexed.
        """
        generation = self._recaller.generation
        stored = await self._episodes.pages(scope)
        stamps = await self._recaller.stamps(scope)
        indexed = {int(match[1]): stamps[file].digest for file in stamps if (match := _PAGE.fullmatch(file))}
        pages = sorted(stored.keys() | indexed.keys(), reverse=True)
        waiting = set(await self._episodes.unindexed(scope))
        behind = [page for page in pages if page in waiting or stored.get(page) != indexed.get(page)]
        for start in range(0, len(behind), _PAGES_AT_ONCE):
            await self._index(scope, behind[start : start + _PAGES_AT_ONCE])
        self._complete[generation, scope] = None
        if len(self._complete) > _MOST_SCOPES:
            self._complete.popitem(last=False)

    async def finish(self) -> None:
        """Catch up with the scopes of `look` now.

        Raises:
            StoreError, RecallError: they could not be read or indexed.
        """
        for scope in sorted(self._behind):
            await self.catch_up(scope)
            self._behind.discard(scope)

    async def run(self) -> None:
        """Catch up with the scopes of `look` until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            for scope in sorted(self._behind):
                try:
                    await self.catch_up(scope)
                except (StoreError, RecallError) as error:
                    log.warning("episodes.will_retry", error=type(error).__name__)
                    await asyncio.sleep(_RETRY_SECONDS)
                    self._wake.set()
                else:
                    self._behind.discard(scope)

    async def _index(self, scope: str, pages: Sequence[int]) -> None:
        async with self._indexing:
            while pages:
                read = await self._episodes.read(scope, pages)
                files = [
                    FileEntries(
                        name=page_of(page * PAGE_TURNS),
                        stamp=Stamp(mtime_ns=0, size=len(episodes), digest=token) if token else None,
                        entries=await compute(_entries, episodes),
                    )
                    for page, (token, episodes) in read.items()
                ]
                await self._recaller.replace_files(scope, files)
                # Another process may have stored more, or deleted it, between the two: what was written is then older.
                pages = await self._episodes.indexed(scope, {page: token for page, (token, _) in read.items()})


def _entries(episodes: Sequence[Episode]) -> list[Entry]:
    return [
        Entry(
            id=f"e{episode.turn}{speaker[0]}{number}",
            text=passage,
            at=episode.at,
            kind="episode",
            importance=importance,
            session=episode.session_key,
            speaker=speaker,
            turn=episode.turn,
        )
        for episode in episodes
        for speaker, weighted in zip(SPEAKERS, _weighted(episode.user, episode.reply), strict=True)
        for number, (passage, importance) in enumerate(weighted)
    ]


def _weighted(user: str, reply: str) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Return the passages of both sides with their importance. Borrowed texts say nothing about the user."""
    passages = passages_of(user)
    own = without_spaces(own_words(user))
    most = 1 - _LEAST_IMPORTANCE
    of_user = [
        (passage, _LEAST_IMPORTANCE + most * telling(passage) if _is_own(passage, own) else _BORROWED_IMPORTANCE)
        for passage in passages
    ]
    borrowed = bool(passages) and not own
    importance = _BORROWED_REPLY_IMPORTANCE if borrowed else _REPLY_IMPORTANCE
    return of_user, [(passage, importance) for passage in passages_of(reply)]


def _is_own(passage: str, own: str) -> bool:
    quoted = sum(left != right for left, right in zip(passage, without_quotations(passage), strict=True))
    return without_spaces(passage) in own and quoted <= _MOST_QUOTED * len(passage)


# The store of a memory with its index, and a memory of the index as a record.


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage(Store):
    """The store of one open memory, its index, and the followers that keep the index equal to it."""

    recaller: Recaller
    follower: Follower
    episode_follower: EpisodeFollower


def record_of(stored: Stored, known: MemoryRecord | None) -> MemoryRecord:
    """Return a memory of the index as a record: what a person may have changed in the file, and its stored data."""
    entry = stored.entry
    if known is None:
        known = MemoryRecord(
            id=entry.id,
            text=entry.text,
            file=stored.file,
            at=entry.at,
            session_key=entry.session,
            category=entry.category,
            importance="high" if entry.importance >= IMPORTANCE["high"] else "normal",
        )
    return replace(known, text=entry.text, file=stored.file, at=entry.at, type=entry.type, confidence=entry.confidence)


def _digests(stamps: dict[str, Stamp]) -> dict[str, str]:
    return {file: stamp.digest for file, stamp in stamps.items()}
