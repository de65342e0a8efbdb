"""Import the items of another memory, without duplicates, without text that was forgotten here, and within limits.

And learn from its episodes: they become turns again, and are processed as turns are.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, Final

from extractor import clean, same_text
from gateway_memory.capture.executor import Draft
from gateway_memory.capture.merger import LINE_OVERHEAD, Changer
from gateway_memory.errors import UsageError
from gateway_memory.ground.threads import compute
from gateway_memory.scope import Scope, forms
from gateway_memory.store.documents import MEMORY_FILE, day_file
from gateway_memory.store.markdown import MAX_TEXT_LENGTH, content_id, one_line
from gateway_memory.store.plan import Retired
from gateway_memory.store.reviewed import Review
from gateway_memory.store.withheld import Withheld
from gateway_memory.transfer.items import (
    EpisodeItem,
    Ignored,
    Item,
    LeftOut,
    MemoryItem,
    NoteItem,
    Problem,
    ReviewItem,
    SummaryItem,
)


@dataclass(slots=True, kw_only=True)
class ImportReport:
    """The result of an import.

    counts: memories.added, .known, .forgotten, .empty, .shortened, .to_log (MEMORY.md was full), .waiting (for a
    person); reviews.added, .known; summaries.added, .known; notes.added, .known; episodes.added, .known;
    ignored.<kind>.
    left_out: the files of which nothing was read, and copies: those that a sync has made of others.
    unknown: the numbers of rows that hold something which is not known here, by what that is, in words.
    """

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)

    def leave_out(self, item: Ignored | LeftOut | Problem) -> None:
        """Note what is not taken in."""
        if isinstance(item, Ignored):
            self.counts[f"ignored.{item.kind}"] += 1
        elif isinstance(item, LeftOut):
            (self.copies if item.copy else self.left_out).append(item.place)
        else:
            self.problems.append(item)

    @property
    def has_items(self) -> bool:
        """Whether any item could be read, be it new, known, or left out for what it is."""
        return any(number and name != "ignored.event" for name, number in self.counts.items())


class KnownMemories:
    """The ids and texts that exist or were just imported. Two lines of one export may have equal texts.

    Texts are the same as merging has it: case, punctuation and width make no difference.
    """

    def __init__(self, memories: Iterable[tuple[str, str]]) -> None:
        known = list(memories)
        self._ids = {identity for identity, _ in known}
        self._before = frozenset(same_text(text) for _, text in known)
        self._texts = set(self._before)

    def takes(self, identity: str, text: str, *, own_id: bool) -> bool:
        """Return whether a line is new, and add it."""
        same = same_text(text)
        if identity in self._ids or same in (self._before if own_id else self._texts):
            return False
        self._ids.add(identity)
        self._texts.add(same)
        return True


_READ_AT_ONCE: Final = 100
_LOOK_SECONDS: Final = 0.5
_CHUNK: Final = 500
_ALL: Final = 1 << 40


class Importer(Changer):
    """Imports items into one workspace."""

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
        # What a report calls the items of a kind, how many are taken in at once, and by what; in this order at the end.
        # One `/memory undo` reverts a plan of memories.
        kinds: dict[type[Item], tuple[str, int, Callable[..., Coroutine[Any, Any, Mapping[str, int]]]]] = {
            MemoryItem: ("memories", 2_000, partial(self._memories, {})),
            ReviewItem: ("reviews", 2_000, self._reviews),
            NoteItem: ("notes", 500, self._notes),
            SummaryItem: ("summaries", 2_000, self._summaries),
            EpisodeItem: ("episodes", 500, self._episodes),
        }

        async def take(kind: type[Item], whose: Scope) -> None:
            part = waiting.pop((kind, whose))
            section, _, handle = kinds[kind]
            counts = await handle(whose, part, dry_run=dry_run)
            report.counts.update({f"{section}.{name}": number for name, number in counts.items()})
            progress(len(part))

        reading = iter(items)
        while read := await compute(lambda: list(islice(reading, _READ_AT_ONCE))):
            for item in read:
                whose = scope if forced else self._scope(item, scope)
                if isinstance(item, Ignored | LeftOut | Problem):
                    report.leave_out(item)
                elif whose is None:
                    report.problems.append(Problem(place=item.place, reason=f"scope: expected {forms()}"))
                else:
                    part = waiting.setdefault((type(item), whose), [])
                    part.append(item)
                    report.unknown.update(item.unknown)
                    if len(part) >= kinds[type(item)][1]:
                        await take(type(item), whose)
                    continue
                progress(1)
        for kind in kinds:
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

    def _scope(self, item: Item, default: Scope) -> Scope | None:
        """Return the scope of an item, or None if it names an invalid one."""
        if isinstance(item, Problem | Ignored | LeftOut) or not item.scope:
            return default
        try:
            return Scope.parse(item.scope)
        except UsageError:
            return None

    # Each takes the items of a scope in, and returns how many were added, known and so on.

    async def _episodes(self, scope: Scope, items: Sequence[EpisodeItem], *, dry_run: bool) -> Mapping[str, int]:
        episodes = [replace(item.episode, scope=scope.key) for item in items]
        if dry_run:
            return _counts(items, len(items) - await self._storage.episodes.known(episodes))
        turns = await self._storage.episodes.add(episodes)
        await self._storage.episode_follower.index(scope.key, turns)
        return _counts(items, len(turns))

    async def _memories(
        self, known: dict[Scope, KnownMemories], scope: Scope, items: Sequence[MemoryItem], *, dry_run: bool
    ) -> Mapping[str, int]:
        """Take memories in. known: those of the scopes that this import has reached so far."""
        async with self._executor.writing(scope):
            if scope not in known:
                rows = await self._storage.recaller.newest(scope.key, _ALL)
                known[scope] = KnownMemories((row.entry.id, row.entry.text) for row in rows)
            ids = await compute(lambda: [item.record.id or content_id(one_line(item.record.text)) for item in items])
            states = await self._states(scope, ids)
            # What was removed or has expired here is not imported again.
            removed = {identity for identity, state in states.items() if state not in ("active", "undone")}
            withheld = await self._storage.ledger.withheld(scope.key, undone=False)
            draft = Draft(scope, "import", room=await self._merger.room(scope))
            draft.retired += self._past(items, ids, states)
            present = [(item, identity) for item, identity in zip(items, ids, strict=True) if not item.superseded]

            counts = await compute(self._decide, present, known[scope], removed, withheld, draft)
            settled = await self._storage.reviews.states(scope.key, [review.memory.id for review in draft.reviews])
            draft.reviews = [review for review in draft.reviews if review.memory.id not in settled]
            counts += Counter(waiting=len(draft.reviews), known=len(settled), history=len(draft.retired))
            for memory in draft.added:
                draft.note("add", "import", memory.id)
            if not dry_run:
                await self._complete(draft)
        return counts

    async def _reviews(self, scope: Scope, items: Sequence[ReviewItem], *, dry_run: bool) -> Mapping[str, int]:
        """Take in what waited for a person elsewhere."""
        async with self._storage.documents.writing(scope):
            reviews = {item.review.memory.id: item.review for item in items}
            known = await self._storage.reviews.states(scope.key, list(reviews))
            draft = Draft(scope, "import")
            draft.reviews = [
                replace(review, scope=scope.key, memory=replace(review.memory, file=self._day_file(review.memory.at)))
                for identity, review in reviews.items()
                if identity not in known
            ]
            if not dry_run:
                await self._complete(draft)
        return _counts(items, len(draft.reviews))

    async def _complete(self, draft: Draft) -> None:
        for review in draft.reviews:
            draft.note("waits", review.reason, review.memory.id)
        if draft.added or draft.reviews or draft.retired:
            await self._executor.complete(draft)

    def _day_file(self, at: float) -> str:
        return day_file(self._runtime.day_of(at or self._runtime.timestamp()))

    async def _states(self, scope: Scope, ids: Sequence[str]) -> dict[str, str]:
        states: dict[str, str] = {}
        for start in range(0, len(ids), _CHUNK):
            known = await self._storage.ledger.states(scope.key, list(ids[start : start + _CHUNK]))
            states |= {identity: state for identity, (state, _) in known.items()}
        return states

    def _past(self, items: Sequence[MemoryItem], ids: Sequence[str], known: Mapping[str, str]) -> list[Retired]:
        """Return what was superseded at the source, for the history. known: ids that are known here, which stay."""
        past = {identity: item for item, identity in zip(items, ids, strict=True) if item.superseded}
        return [
            Retired(
                memory=replace(item.record, id=identity, text=text, file=self._day_file(item.record.at)),
                state="superseded",
                replaced_by=content_id(one_line(item.by)) if item.by else "",
            )
            for identity, item in past.items()
            if identity not in known and (text := one_line(item.record.text))
        ]

    def _decide(
        self,
        items: Sequence[tuple[MemoryItem, str]],
        known: KnownMemories,
        removed: Collection[str],
        withheld: Withheld,
        draft: Draft,
    ) -> Counter[str]:
        """Put the new memories into the draft, as added or as reviews, and return the counts. items: with their ids."""
        now = self._runtime.timestamp()
        reviews = self._runtime.settings.review.mode != "off"
        counts: Counter[str] = Counter()
        for item, identity in items:
            record, text = item.record, one_line(item.record.text)
            # What has no day of its own may have been said before it was forgotten, whenever its file was written.
            said_at = record.at if item.dated else 0.0
            is_forgotten = identity in removed or withheld.says(text, since=said_at)
            reason = "empty" if not text else "forgotten" if is_forgotten else ""
            if reason or not known.takes(identity, text, own_id=bool(record.id)):
                counts[reason or "known"] += 1
                continue
            at = min(max(0.0, record.at or now), now)
            size = len(text.encode()) + LINE_OVERHEAD
            waits = reviews and item.foreign and record.type != "S"
            curated = item.curated and record.type != "S" and not waits
            fits = curated and size <= draft.room
            draft.room -= size if fits else 0
            counts += Counter(
                added=not waits, to_log=curated and not fits, shortened=len(record.text) > MAX_TEXT_LENGTH
            )
            file = MEMORY_FILE if fits else day_file(self._runtime.day_of(at))
            memory = replace(record, id=identity, text=text, file=file, at=at)
            if waits:
                draft.reviews.append(Review(scope=draft.scope.key, memory=memory, reason="imported", at=now))
            else:
                draft.added.append(memory)
        return counts

    async def _notes(self, scope: Scope, items: Sequence[NoteItem], *, dry_run: bool) -> Mapping[str, int]:
        return _counts(items, sum([await self._note(scope, note, dry_run=dry_run) for note in items]))

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

    async def _summaries(self, scope: Scope, items: Sequence[SummaryItem], *, dry_run: bool) -> Mapping[str, int]:
        async with self._storage.documents.writing(scope):
            records = [item.record for item in items]
            return _counts(items, await self._storage.records.merge(scope, records, dry_run=dry_run))


def _counts(items: Sequence[object], added: int) -> Mapping[str, int]:
    return {"added": added, "known": len(items) - added}
