"""Import the items of another memory, without duplicates, without text that was forgotten here, and within limits."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from extractor import clean, same_text
from gateway_memory.capture.executor import PlanExecutor
from gateway_memory.capture.merger import LINE_OVERHEAD, Merger
from gateway_memory.errors import UsageError
from gateway_memory.runtime.runtime import Runtime, compute
from gateway_memory.scope import Scope, forms
from gateway_memory.store.documents import MEMORY_FILE, day_file
from gateway_memory.store.markdown import MAX_TEXT_LENGTH, content_id, one_line
from gateway_memory.store.plan import CandidateOutcome, Plan, Retired
from gateway_memory.store.record import MemoryRecord, Review
from gateway_memory.store.withheld import Withheld
from gateway_memory.sync.follower import Storage
from gateway_memory.transfer.items import (
    EpisodeItem,
    Ignored,
    Item,
    MemoryItem,
    NoteItem,
    Problem,
    ReviewItem,
    SummaryItem,
)

# The result of an import.


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """The result of an import.

    counts: memories.added, .known, .forgotten, .empty, .shortened, .to_log (MEMORY.md was full), .waiting (for a
    person); reviews.added, .known; summaries.added, .known; notes.added, .known; episodes.added, .known;
    ignored.<kind>.
    """

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)


# What exists in a scope while an import adds to it.


class KnownMemories:
    """The ids and texts that exist or were just imported. Two lines of one export may have equal texts.

    Texts are the same as merging has it: case, punctuation and width make no difference.
    """

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._texts: set[str] = set()
        self._texts_before: frozenset[str] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the lines that stand are still to be added."""
        return self._texts_before is None

    def add(self, identity: str, text: str) -> None:
        """Add a line."""
        self._ids.add(identity)
        self._texts.add(same_text(text))

    def before(self) -> None:
        """Mark the lines that were added so far as older than the import."""
        self._texts_before = frozenset(self._texts)

    def takes(self, identity: str, text: str, *, own_id: bool) -> bool:
        """Return whether a line is new, and add it."""
        if identity in self._ids or same_text(text) in (self._texts_before or () if own_id else self._texts):
            return False
        self.add(identity, text)
        return True


def past_of(
    items: Sequence[MemoryItem], ids: Sequence[str], known: Mapping[str, str], file_of: Callable[[float], str]
) -> tuple[Retired, ...]:
    """Return what was superseded at the source, for the history. known: ids that are known here, which stay.

    file_of: the day's log of a time, in epoch seconds.
    """
    past = {identity: item for item, identity in zip(items, ids, strict=True) if item.superseded}
    return tuple(
        Retired(
            memory=replace(item.record, id=identity, text=text, file=file_of(item.record.at)),
            state="superseded",
            replaced_by=content_id(one_line(item.by)) if item.by else "",
        )
        for identity, item in past.items()
        if identity not in known and (text := one_line(item.record.text))
    )


_AT_ONCE: Final[dict[type[Item], int]] = {
    MemoryItem: 2_000,
    ReviewItem: 2_000,
    NoteItem: 500,
    SummaryItem: 2_000,
    EpisodeItem: 500,
}
"""The number of items that are taken in together, in this order at the end. One `/memory undo` reverts a plan of
memories."""
_READ_AT_ONCE: Final = 100
_LOOK_SECONDS: Final = 0.5
_CHUNK: Final = 500
_ALL: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class _Here:
    """A scope: its lines, the ids that were removed from it, and the words that were forgotten."""

    known: KnownMemories
    gone: set[str]
    hidden: Withheld


class Importer:
    """Imports items into one workspace."""

    def __init__(self, runtime: Runtime, storage: Storage, merger: Merger, executor: PlanExecutor) -> None:
        self._runtime = runtime
        self._storage = storage
        self._merger = merger
        self._executor = executor

    async def run(
        self,
        items: Iterable[Item],
        *,
        scope: Scope,
        forced: bool = False,
        dry_run: bool = False,
        progress: Callable[[int], object] = lambda _: None,
    ) -> ImportReport:
        """Import items as they are read, and return a report.

        The items are read in a thread, and taken in by parts, each durable before the next one: an import that was
        broken off can be started again, and takes in what is missing.

        scope: the scope of items that name none. forced: the scope of all items.
        progress: called with the number of items that were processed.
        dry_run: only report.
        """
        report = ImportReport()
        waiting: dict[tuple[type[Item], Scope], list[Any]] = {}
        known: defaultdict[Scope, KnownMemories] = defaultdict(KnownMemories)
        handlers: dict[type[Item], Callable[..., Coroutine[Any, Any, None]]] = {
            MemoryItem: lambda whose, *rest, **named: self._memories(whose, known[whose], *rest, **named),
            ReviewItem: self._reviews,
            EpisodeItem: self._episodes,
            SummaryItem: self._summaries,
            NoteItem: self._notes,
        }

        async def take(kind: type[Item], whose: Scope) -> None:
            part = waiting.pop((kind, whose), [])
            await handlers[kind](whose, part, report, dry_run=dry_run)
            progress(len(part))

        reading = iter(items)
        while read := await compute(lambda: list(islice(reading, _READ_AT_ONCE))):
            for item in read:
                whose = scope if forced else self._scope(item, scope)
                if isinstance(item, Ignored):
                    report.counts[f"ignored.{item.kind}"] += 1
                elif isinstance(item, Problem):
                    report.problems.append(item)
                elif whose is None:
                    report.problems.append(Problem(place=item.place, reason=f"scope: expected {forms()}"))
                else:
                    part = waiting.setdefault((type(item), whose), [])
                    part.append(item)
                    if len(part) >= _AT_ONCE[type(item)]:
                        await take(type(item), whose)
                    continue
                progress(1)
        for kind in _AT_ONCE:
            for whose in [scope for each, scope in waiting if each is kind]:
                await take(kind, whose)
        return report

    def expect(self, messages: Iterable[str]) -> None:
        """Start to encode messages in batches, before they are searched with."""
        for message in messages:
            self._storage.recaller.expect(clean(message).text)

    async def embed(self, progress: Callable[[int], object]) -> None:
        """Wait until every text has its vector. It may be cancelled: nothing is lost, and the rest waits.

        progress: called now and then with the number of texts that have none.

        Raises:
            RecallError: a vector could not be computed or stored.
        """
        recaller = self._storage.recaller
        embedding = asyncio.ensure_future(recaller.embedded())
        try:
            while not embedding.done():
                progress((await recaller.vectors()).missing)
                await asyncio.wait([embedding], timeout=_LOOK_SECONDS)
        finally:
            embedding.cancel()
        await embedding

    async def _episodes(
        self, scope: Scope, items: Sequence[EpisodeItem], report: ImportReport, *, dry_run: bool
    ) -> None:
        """Store episodes without those that are known, and index them."""
        given = [replace(item.episode, scope=scope.key) for item in items]
        if dry_run:
            added = len(items) - await self._storage.episodes.known(given)
        else:
            turns = await self._storage.episodes.add(given)
            await self._storage.episode_follower.index(scope.key, turns)
            added = len(turns)
        report.counts["episodes.added"] += added
        report.counts["episodes.known"] += len(items) - added

    def _scope(self, item: Item, default: Scope) -> Scope | None:
        """Return the scope of an item, or None if it names an invalid one."""
        if isinstance(item, Problem | Ignored) or not item.scope:
            return default
        try:
            return Scope.parse(item.scope)
        except UsageError:
            return None

    async def _memories(
        self,
        scope: Scope,
        known: KnownMemories,
        items: Sequence[MemoryItem],
        report: ImportReport,
        *,
        dry_run: bool,
    ) -> None:
        async with self._executor.writing(scope):
            if known.is_empty:
                for row in await self._storage.recaller.newest(scope.key, _ALL):
                    known.add(row.entry.id, row.entry.text)
                known.before()
            ids = await compute(lambda: [item.record.id or content_id(one_line(item.record.text)) for item in items])
            states = await self._states(scope, ids)
            # What was removed or has expired here is not imported again.
            gone = {identity for identity, state in states.items() if state not in ("active", "undone")}
            hidden = await self._storage.ledger.withheld(scope.key, undone=False)
            room = await self._merger.room(scope)
            past = past_of(items, ids, states, self._day_file)
            held = [number for number, item in enumerate(items) if not item.superseded]
            items, ids = [items[number] for number in held], [ids[number] for number in held]
            report.counts.update({"memories.history": len(past)} if past else {})
            found = await compute(self._decide, items, _Here(known, gone, hidden), ids, room, report)
            added = [memory for memory, waits in found if not waits]
            now = self._runtime.timestamp()
            reviews = [
                Review(scope=scope.key, memory=memory, reason="imported", at=now) for memory, waits in found if waits
            ]
            settled = await self._storage.reviews.states(scope.key, [review.memory.id for review in reviews])
            reviews = [review for review in reviews if review.memory.id not in settled]
            report.counts["memories.waiting"] += len(reviews)
            report.counts["memories.known"] += len(settled)
            if (added or reviews or past) and not dry_run:
                await self._executor.execute(replace(self._plan(scope, added, reviews), retired=past))

    async def _reviews(self, scope: Scope, items: Sequence[ReviewItem], report: ImportReport, *, dry_run: bool) -> None:
        """Take in what waited for a person elsewhere."""
        async with self._storage.documents.writing(scope):
            given = {item.review.memory.id: item.review for item in items}
            known = await self._storage.reviews.states(scope.key, list(given))
            new = [
                replace(review, scope=scope.key, memory=replace(review.memory, file=self._day_file(review.memory.at)))
                for identity, review in given.items()
                if identity not in known
            ]
            if new and not dry_run:
                await self._executor.execute(self._plan(scope, (), new))
        report.counts["reviews.added"] += len(new)
        report.counts["reviews.known"] += len(items) - len(new)

    def _day_file(self, at: float) -> str:
        return day_file(self._runtime.day_of(at or self._runtime.timestamp()))

    def _plan(self, scope: Scope, added: Sequence[MemoryRecord], reviews: Sequence[Review]) -> Plan:
        outcomes = [CandidateOutcome(turn=0, action="add", reason="import", id=memory.id) for memory in added]
        outcomes += [
            CandidateOutcome(turn=0, action="waits", reason=review.reason, id=review.memory.id) for review in reviews
        ]
        return Plan(
            scope=scope.key,
            folder=scope.folder,
            stage="import",
            at=self._runtime.timestamp(),
            added=tuple(added),
            outcomes=tuple(outcomes),
            reviews=tuple(reviews),
        )

    async def _states(self, scope: Scope, ids: Sequence[str]) -> dict[str, str]:
        states: dict[str, str] = {}
        for start in range(0, len(ids), _CHUNK):
            found = await self._storage.ledger.states(scope.key, list(ids[start : start + _CHUNK]))
            states |= {identity: state for identity, (state, _) in found.items()}
        return states

    def _decide(
        self,
        items: Sequence[MemoryItem],
        here: "_Here",
        ids: Sequence[str],
        room: int,
        report: ImportReport,
    ) -> list[tuple[MemoryRecord, bool]]:
        """Return the new memories, each with whether it waits for a person."""
        now = self._runtime.timestamp()
        asks = self._runtime.settings.review.mode != "off"
        found: list[tuple[MemoryRecord, bool]] = []
        for item, identity in zip(items, ids, strict=True):
            record, text = item.record, one_line(item.record.text)
            is_forgotten = identity in here.gone or here.hidden.says(text, since=record.at)
            reason = "empty" if not text else "forgotten" if is_forgotten else ""
            if reason or not here.known.takes(identity, text, own_id=bool(record.id)):
                report.counts[f"memories.{reason or 'known'}"] += 1
                continue
            at = min(max(0.0, record.at or now), now)
            size = len(text.encode()) + LINE_OVERHEAD
            waits = asks and item.foreign and record.type != "S"
            curated = item.curated and record.type != "S" and not waits
            if curated and size > room:
                report.counts["memories.to_log"] += 1
                curated = False
            room -= size if curated else 0
            report.counts["memories.added"] += not waits
            report.counts["memories.shortened"] += len(record.text) > MAX_TEXT_LENGTH
            file = MEMORY_FILE if curated else day_file(self._runtime.day_of(at))
            found.append((replace(record, id=identity, text=text, file=file, at=at), waits))
        return found

    async def _notes(self, scope: Scope, notes: Sequence[NoteItem], report: ImportReport, *, dry_run: bool) -> None:
        for note in notes:
            made = await self._note(scope, note, dry_run=dry_run)
            report.counts["notes.added" if made else "notes.known"] += 1

    async def _note(self, scope: Scope, note: NoteItem, *, dry_run: bool) -> bool:
        if not note.text.strip():
            return False
        async with self._storage.documents.writing(scope):
            number = 1
            file, text = note.file, f"{note.text.strip()}\n"
            while (read := await self._storage.documents.read(scope, file)) is not None:
                if read[0].strip() == text.strip():
                    return False
                number += 1
                file = f"{note.file.removesuffix('.md')}-{number}.md"
            if not dry_run:
                await self._storage.documents.create(scope, file, text)
                await self._storage.follower.refresh(scope)
        return True

    async def _summaries(
        self, scope: Scope, items: Sequence[SummaryItem], report: ImportReport, *, dry_run: bool
    ) -> None:
        records = [item.record for item in items]
        async with self._storage.documents.writing(scope):
            added = await self._storage.records.merge(scope, records, dry_run=dry_run)
        report.counts["summaries.added"] += added
        report.counts["summaries.known"] += len(records) - added
