"""Merge one candidate with a scope's memories: compare it to the nearest, and add the decision to a draft."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from math import fsum
from operator import attrgetter, mul
from typing import Final

from extractor import (
    WEIGHED,
    Candidate,
    Decision,
    Doubt,
    Meaning,
    Part,
    as_taken_back,
    asked_for,
    bare,
    differ,
    does_of,
    doubt_of,
    frame_of,
    parts_of,
    runs_of,
    same_text,
    says,
    speak_of_the_same,
    stands_alone,
    statement_words,
    told_in_part,
    understood,
    with_one_wish,
)
from gateway_memory.capture.executor import Draft, PlanExecutor, decided, drafted, in_time, known, record_of_candidate
from gateway_memory.capture.meanings import meanings_of
from gateway_memory.capture.reader import NEAREST, NEAREST_SECONDS, TWIN
from gateway_memory.ground.holds import plain_of
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.threads import compute
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.store.documents import MEMORY_FILE, day_file, is_writable
from gateway_memory.store.journal.ledger import MEMORY_FULL
from gateway_memory.store.journal.speakers import unnamed
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.markdown import new_id, one_line
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.plan import Retired
from gateway_memory.store.reviewed import Review, Settled
from gateway_memory.sync.entries import record_of
from gateway_memory.sync.storage import Storage
from recall import Near, Stored, text_overlap

_LOADING_SECONDS: Final = 10
_LONGEST_LEANING: Final = 100  # characters of a message that only takes back or corrects the one before
"""How long a sentence that no rule reads waits for its vector: an encoder takes long to load on a busy machine."""
_LOOKED_BACK: Final = 200
"""The newest changes among which a retraction looks for what the memory had replaced."""

_MADE_OF: Final = 0.5
"""The share of a line within quotations from which on their entries were made of it."""

LINE_OVERHEAD: Final = 40
"""The bytes of a line besides its text: the bullet, the comment and the line end."""


class Merger:
    """Makes decisions about candidates.

    is_corrected: whether a capable model will read what the rules read. They then change nothing by an estimate.

    Call `draft_…` and `room` only within the documents' `writing`. They change the draft, and the notice that MEMORY.md
    is full.
    """

    def __init__(self, runtime: Runtime, storage: Storage, is_corrected: Callable[[], bool]) -> None:
        self._runtime = runtime
        self._storage = storage
        self._is_corrected = is_corrected

    def expect(self, candidate: Candidate) -> None:
        """Start to encode a candidate for which `near` will be called."""
        self._storage.recaller.expect(one_line(candidate.content))

    async def understood(self, candidates: Sequence[Candidate], message: str) -> list[Candidate | None]:
        """Return candidates of a message with what their vectors tell of them; None for one that says nothing to keep.

        Without a vector, what the rules have read stands alone.
        """
        if not candidates:
            return []
        contents = [one_line(candidate.content) for candidate in candidates]
        said = [one_line(candidate.sentence) or text for candidate, text in zip(candidates, contents, strict=True)]
        whole = frame_of(message)
        seconds = _LOADING_SECONDS if any(candidate.only_as for candidate in candidates) else NEAREST_SECONDS
        meanings = await meanings_of(self._storage.recaller, [*contents, *said, whole], seconds)
        found = [
            understood(candidate, meanings.get(content), meanings.get(sentence), meanings.get(whole))
            for candidate, content, sentence in zip(candidates, contents, said, strict=True)
        ]
        for number, (candidate, sentence) in enumerate(zip(candidates, said, strict=True)):
            kept = found[number]
            if "part" in candidate.only_as and (kept is None or kept.only_as):
                runs = runs_of(sentence, meanings.get(sentence))
                of_runs = await meanings_of(self._storage.recaller, runs, NEAREST_SECONDS)
                found[number] = told_in_part(candidate, meanings.get(whole), of_runs) or kept
        found = with_one_wish(candidates, found)
        if any(found) and (parts := parts_of(message)):
            found = as_taken_back(found, message, await self._parts(message, parts))
        return [replace(each, content=asked_for(each.content)) if each and each.explicit else each for each in found]

    async def meanings(self, texts: Sequence[str]) -> Mapping[str, Meaning]:
        """Return what texts tell, without those whose vector is not there while nobody waits for it."""
        return await meanings_of(self._storage.recaller, texts, _LOADING_SECONDS)

    async def _parts(self, message: str, parts: Sequence[range]) -> list[tuple[range, Part | None]]:
        """Return the parts of a message, each with what it does to the others; nothing where its vector is late."""
        lines = [one_line(message[part.start : part.stop]) for part in parts]
        encoder, vectors = await self._storage.recaller.encoded([bare(line) for line in lines], NEAREST_SECONDS)
        return [
            (part, None if vector is None else does_of(line, vector.tolist(), encoder))
            for part, line, vector in zip(parts, lines, vectors, strict=True)
        ]

    async def does_to_the_one_before(self, message: str) -> Part | None:
        """Return whether a message takes back the one before it ("just kidding"), or corrects it ("no, Thursday")."""
        if len(message) > _LONGEST_LEANING:
            return None
        line = one_line(message)
        encoder, (vector,) = await self._storage.recaller.encoded([bare(line)], NEAREST_SECONDS)
        return None if vector is None else does_of(line, vector.tolist(), encoder, alone=True)

    async def near(
        self, scope: Scope, candidates: Sequence[Candidate], speakers: Sequence[str]
    ) -> list[tuple[Near, ...]]:
        """Return the memories to compare each candidate with: of a room, those of the same speaker, without the name.

        speakers: who says each candidate, as in `PendingTurn`.
        """
        texts = [one_line(candidate.content) for candidate in candidates]
        recaller = self._storage.recaller
        found = await recaller.nearest_each(scope.key, texts, NEAREST, timeout_seconds=NEAREST_SECONDS)
        if scope.kind.is_shared:
            ids = sorted({item.stored.entry.id for near in found for item in near})
            records = await self._storage.ledger.memories(scope.key, ids)
            of = {identity: record.speaker for identity, record in records.items()}
            found = [
                tuple(_unnamed(item, speaker, text) for item in near if of.get(item.stored.entry.id, "") == speaker)
                for near, speaker, text in zip(found, speakers, texts, strict=True)
            ]
        noted = {
            item.stored.entry.text
            for near, speaker in zip(found, speakers, strict=True)
            for item in near
            if item.vectors and (speaker or plain_of(item.stored.entry.text) != item.stored.entry.text)
        }
        if not noted:
            return found
        # Neither what stands at a line's end of its days, nor the name before it, is a part of what it says.
        encoder, vectors = await recaller.encoded([plain_of(text) for text in noted], NEAREST_SECONDS)
        said = zip(noted, vectors, strict=True)
        plain = {text: tuple(vector.tolist()) for text, vector in said if vector is not None}
        return [tuple(_said_plainly(item, encoder, plain) for item in near) for near in found]

    async def draft_candidate(
        self, turn: PendingTurn, candidate: Candidate, nearest: Sequence[Near], draft: Draft
    ) -> None:
        """Decide about one candidate, and add the result to the draft. nearest: what `near` returned."""
        candidate = in_time(candidate, self._runtime.date_of(turn.at))
        text = one_line(candidate.content)
        near = {item.stored.entry.id: item for item in nearest}
        named = await self._named(candidate, turn, near, draft)
        # Of the rules' lines, a model's entry takes the place where it says them: `draft_reworded`.
        apart = {item.memory.id for item in draft.retired} | {memory.id for memory in named}
        if _is_read(candidate):
            apart |= {memory.id for memory in draft.by_rules if same_text(_plain(memory)) != same_text(text)}
        compared = [known(item) for identity, item in near.items() if identity not in apart]
        compared += nlargest(
            NEAREST,
            (drafted(memory, text, turn.id) for memory in draft.added if memory.speaker == turn.speaker),
            key=attrgetter("overlap"),
        )
        decision = await compute(decided, candidate, compared)
        if draft.cause == "rules" and (decision.reason in WEIGHED or decision.against) and self._is_corrected():
            decision = Decision(action="add", target=None, reason="new")
        if candidate.only_as:
            changed = _changed(decision, near, draft)
            if changed is None:
                if all(outcome.turn != turn.id for outcome in draft.outcomes):
                    draft.note("skipped", "nothing_to_keep", turn=turn.id)
                return
            candidate = await compute(_as_change, candidate, changed)
        await self.draft_decision(turn, candidate, decision, near, draft, named)

    async def draft_decision(
        self,
        turn: PendingTurn,
        candidate: Candidate,
        decision: Decision,
        near: Mapping[str, Near],
        draft: Draft,
        named: Sequence[MemoryRecord] = (),
    ) -> None:
        """Add what was decided about a candidate to the draft.

        near: the stored memories to which it was compared, by id. named: memories that it says it replaces.
        """
        candidate = in_time(candidate, self._runtime.date_of(turn.at))
        if decision.action == "skip":
            for memory in named:  # another one says already what it says in their place
                self._supersede(memory, decision.target or "", draft)
            draft.note("skipped", decision.reason, decision.target or "", turn=turn.id)
            return
        target = near.get(decision.target) if decision.target else None
        if target and turn.imported and target.stored.entry.at > turn.at:  # an imported turn may be older
            draft.note("skipped", "older", target.stored.entry.id, turn=turn.id)
            return
        if await self._waits(turn, candidate, decision, draft):
            return
        identity = new_id()
        replaced = list(named)
        drafted_before = next((memory for memory in draft.added if memory.id == decision.target), None)
        if drafted_before:  # corrected within one batch: the first version reaches no file, and is not quoted either
            draft.added.remove(drafted_before)
            replaced.append(drafted_before)
        elif target and not is_writable(target.stored.file):  # never change a person's own note
            decision = Decision(action="add", target=None, reason="not_ours")
        elif target:
            replaced.insert(0, await self.memory(draft.scope, target.stored))
        for memory in replaced:
            self._supersede(memory, identity, draft)
        file = await self._file_of(turn, candidate, replaced, draft)
        memory = record_of_candidate(candidate, turn, identity=identity, file=file)
        draft.added.append(replace(memory, outdates=decision.outdates))
        if named and decision.action == "add":
            draft.note("supersede", "model", identity, turn=turn.id)
        else:
            draft.note(decision.action, decision.reason, identity, turn=turn.id)
        await self._ask(turn, decision, identity, draft)

    async def _file_of(
        self, turn: PendingTurn, candidate: Candidate, replaced: Sequence[MemoryRecord], draft: Draft
    ) -> str:
        """Return the file to which a candidate goes: MEMORY.md if it matters, does not pass, and has room there."""
        settings = self._runtime.settings_of(turn.session_key).auto_extract
        curated = candidate.importance == "high" or settings.memory_md_threshold == "normal"
        curated = curated and not (candidate.holds and candidate.holds.passes)
        curated = curated or any(memory.file == MEMORY_FILE for memory in replaced)
        size = len(one_line(candidate.content).encode()) + LINE_OVERHEAD
        if curated and size > draft.room:
            self._runtime.metrics.count("store.memory_md_full")
            await self._storage.ledger.set_notice(draft.scope.key, MEMORY_FULL)
            curated = False
        draft.room -= size if curated else 0
        return MEMORY_FILE if curated else day_file(self._runtime.day_of(turn.at))

    async def _ask(self, turn: PendingTurn, decision: Decision, identity: str, draft: Draft) -> None:
        """Let the person be asked whether an older memory still holds beside a new one. See `capture/asking.py`."""
        if decision.asks and not turn.imported:
            await self._storage.ledger.set_notice(draft.scope.key, f"question ask {identity} {decision.asks} 0")

    async def draft_reworded(self, draft: Draft, candidates: Sequence[Candidate]) -> None:
        """Let a model's entries take the place of the rules' lines of the same turns that they say, together.

        Their content tells, and never their quotation alone: a model may quote a whole message for one fact of it.
        """
        read = {one_line(candidate.content) for candidate in candidates if _is_read(candidate)}
        for memory in list(draft.by_rules):
            entries = [each for each in draft.added if each.turn == memory.turn and _plain(each) in read]
            contents = [_plain(each) for each in entries]
            text = _plain(memory)
            quoted = _share_within(text, [each.quote for each in entries]) >= _MADE_OF
            # A number may be worded otherwise: "at eight", 20:00.
            of_it = any(same_text(each.quote) == same_text(text) for each in entries)
            said = of_it or (bool(entries) and says("\n".join(contents), text, quoted=quoted))
            if said and await self._is_unedited(draft.scope, memory):
                words = statement_words(text)
                nearest = max(entries, key=lambda each: len(words & statement_words(each.text)))
                self._supersede(memory, nearest.id, draft)
                draft.note("update", "reworded", nearest.id, turn=memory.turn)

    async def _named(
        self, candidate: Candidate, turn: PendingTurn, near: Mapping[str, Near], draft: Draft
    ) -> list[MemoryRecord]:
        """Return the memories that a candidate names as replaced, where both speak of the same thing.

        Nothing that somebody wrote or edited by hand is replaced, and by an imported turn nothing that is newer.
        """
        retired = {item.memory.id for item in draft.retired}
        named = []
        for identity in dict.fromkeys(candidate.supersedes):
            item = near.get(identity)
            stored = item.stored if item else await self._storage.recaller.get(draft.scope.key, identity)
            if stored is None or identity in retired or not is_writable(stored.file):
                continue
            plain = plain_of(stored.entry.text)
            if same_text(plain) == same_text(candidate.content) or (turn.imported and stored.entry.at > turn.at):
                continue
            # The rules' line of the same message is the user's own sentence, which the model has read.
            is_said = any(memory.id == identity for memory in draft.by_rules)
            if is_said or speak_of_the_same(candidate.content, plain, item.cosine if item else None):
                memory = await self.memory(draft.scope, stored)
                named += [memory] if memory.speaker == turn.speaker else []
        return named

    @staticmethod
    def _supersede(memory: MemoryRecord, by: str, draft: Draft) -> None:
        draft.retired.append(Retired(memory=memory, state="superseded", replaced_by=by))
        draft.by_rules = [each for each in draft.by_rules if each.id != memory.id]

    async def draft_retraction(self, identity: str, draft: Draft) -> None:
        """Take back an unedited memory that the rules were wrong to keep, and restore what it had replaced.

        Another memory gives way if one that stands says it as well.
        """
        scope = draft.scope
        memory = next((each for each in draft.by_rules if each.id == identity), None)
        if memory is None:
            await self._draft_twin(identity, draft)
            return
        if not await self._is_unedited(scope, memory):
            return
        draft.by_rules.remove(memory)
        draft.retire(memory, "retracted", "taken_back" if draft.cause == "rules" else "model", turn=memory.turn)
        changes = await self._storage.ledger.undoable(scope.key, _LOOKED_BACK)
        replaced = {
            item.memory.id: item.memory
            for change in changes
            for item in change.plan.retired
            if item.replaced_by == memory.id
        }
        for before, state in (await self._storage.ledger.states(scope.key, list(replaced))).items():
            if state == ("superseded", memory.id):
                draft.added.append(replaced[before])
                draft.note("restored", "model", before, turn=memory.turn)

    async def _draft_twin(self, identity: str, draft: Draft) -> None:
        stored = await self._storage.recaller.get(draft.scope.key, identity)
        if stored is None or not is_writable(stored.file):
            return
        text = plain_of(stored.entry.text)
        (near,) = await self._storage.recaller.nearest_each(draft.scope.key, [text], NEAREST, timeout_seconds=None)
        others = [item for item in near if item.stored.entry.id != identity and (item.cosine or 0.0) >= TWIN]
        other = next((item for item in others if not differ(text, plain_of(item.stored.entry.text))), None)
        if other:
            memory = await self.memory(draft.scope, stored)
            if memory.speaker != (await self.memory(draft.scope, other.stored)).speaker:
                return  # two people may say the same
            self._supersede(memory, other.stored.entry.id, draft)
            draft.note("update", "known", other.stored.entry.id)

    async def _is_unedited(self, scope: Scope, memory: MemoryRecord) -> bool:
        stored = await self._storage.recaller.get(scope.key, memory.id)
        return stored is not None and (stored.file, stored.entry.text) == (memory.file, memory.text)

    async def _waits(self, turn: PendingTurn, candidate: Candidate, decision: Decision, draft: Draft) -> bool:
        """Let a candidate wait if it is doubtful, and return whether it is, so that it must not be kept.

        If it repeats what waits already or was rejected for good, only the receipt names it.
        """
        if draft.reviewed or decision.action == "skip":
            return False
        settings = self._runtime.settings_of(turn.session_key).review
        doubt = await compute(
            doubt_of,
            candidate,
            decision,
            mode=settings.mode,
            min_confidence=settings.min_confidence,
            of_guest=draft.scope.key != OWNER_KEY,
            owner_names=settings.owner_names,
        )
        if turn.imported and settings.mode != "off":
            doubt = doubt or "imported"
        if doubt:
            await self._wait(turn, candidate, doubt, draft, against=decision.against)
        return bool(doubt)

    async def _wait(self, turn: PendingTurn, candidate: Candidate, doubt: Doubt, draft: Draft, *, against: str) -> None:
        scope = draft.scope.key
        refused = [each for each in await self._storage.reviews.declined(scope) if each.memory.speaker == turn.speaker]
        closed = {each.id for each in draft.settled}
        waiting = [*await self._storage.reviews.waiting(scope), *draft.reviews]
        waiting = [
            review for review in waiting if review.memory.id not in closed and review.memory.speaker == turn.speaker
        ]
        decision = await compute(_alike, candidate, refused)
        if decision.action in ("skip", "update"):
            reason = "rejected_before"
        else:
            decision = await compute(_alike, candidate, waiting)
            reason = "waits_already" if decision.action == "skip" else ""
        if reason:
            draft.note("skipped", reason, decision.target or "", turn=turn.id)
            return
        if decision.target:  # a better or newer version of what waits
            draft.reviews = [review for review in draft.reviews if review.memory.id != decision.target]
            draft.settled.append(Settled(id=decision.target, state="replaced"))
        memory = record_of_candidate(candidate, turn, identity=new_id(), file=day_file(self._runtime.day_of(turn.at)))
        draft.reviews.append(
            Review(
                scope=scope,
                memory=memory,
                reason=doubt,
                at=self._runtime.timestamp(),
                against=against,
                supersedes=candidate.supersedes,
            )
        )
        draft.note("waits", doubt, memory.id, turn=turn.id)

    async def room(self, scope: Scope) -> int:
        """Return the number of bytes by which MEMORY.md may still grow."""
        _, size = (await self._storage.documents.scan(scope)).get(MEMORY_FILE, (0, 0))
        room = self._runtime.settings.store.max_memory_md_bytes - size
        if room > LINE_OVERHEAD:
            await self._storage.ledger.clear_notice(scope.key, MEMORY_FULL)
        return room

    async def memory(self, scope: Scope, stored: Stored) -> MemoryRecord:
        """Return a memory with its stored data, and with its current text and file."""
        if scope.kind.is_shared:  # `near` leaves out who says it
            stored = await self._storage.recaller.get(scope.key, stored.entry.id) or stored
        known = await self._storage.ledger.memories(scope.key, [stored.entry.id])
        return record_of(stored, known.get(stored.entry.id))


class Changer:
    """What changes memories: it decides with the merger, and writes with the executor."""

    def __init__(self, runtime: Runtime, storage: Storage, merger: Merger, executor: PlanExecutor) -> None:
        self._runtime = runtime
        self._storage = storage
        self._merger = merger
        self._executor = executor


def _is_read(candidate: Candidate) -> bool:
    """Return whether a model has said what a message means, and did not only point at it."""
    return bool(candidate.quote) and not candidate.only_as


def _share_within(text: str, quotations: Sequence[str]) -> float:
    """Return the share of a text's letters that stand in quotations of it, or in whose place it stands."""
    plain = same_text(text)
    held = [False] * len(plain)
    for quotation in map(same_text, quotations):
        if plain in quotation:
            return 1.0
        at = plain.find(quotation) if quotation else -1
        if at >= 0:
            held[at : at + len(quotation)] = [True] * len(quotation)
    return sum(held) / max(1, len(plain))


def _plain(memory: MemoryRecord) -> str:
    """Return what a memory says, without who says it and without the note of its days."""
    return plain_of(unnamed(memory.text, memory.speaker))


def _unnamed(near: Near, speaker: str, content: str) -> Near:
    """Return a memory of a speaker without the name, as it is compared with what the same speaker says now."""
    entry = near.stored.entry
    text = unnamed(entry.text, speaker)
    if text == entry.text:
        return near
    stored = replace(near.stored, entry=replace(entry, text=text))
    return replace(near, stored=stored, overlap=text_overlap(plain_of(text), content))


def _said_plainly(near: Near, encoder: str, plain: Mapping[str, tuple[float, ...]]) -> Near:
    """Return a memory with the vector of its text without the note at its end. plain: the vectors by texts."""
    older = plain.get(near.stored.entry.text)
    if older is None or near.vectors is None or near.vectors[0] != encoder:
        return near
    return replace(near, vectors=(encoder, near.vectors[1], older), cosine=fsum(map(mul, near.vectors[1], older)))


def _changed(decision: Decision, near: Mapping[str, Near], draft: Draft) -> MemoryRecord | None:
    """Return the memory that a candidate changes, or perhaps changes."""
    identity = decision.target if decision.action == "supersede" else decision.outdates or decision.asks
    if not identity:
        return None
    if identity in near:
        return record_of(near[identity].stored, None)
    return next((memory for memory in draft.added if memory.id == identity), None)


def _as_change(candidate: Candidate, changed: MemoryRecord) -> Candidate:
    """Return a candidate that changes a memory as one of its kind, in a form that stands alone."""
    return replace(
        candidate,
        content=stands_alone(candidate.content, changed.text),
        category=changed.category or candidate.category,
        type="W" if changed.type == "S" else changed.type,
        importance=changed.importance,
    )


def _alike(candidate: Candidate, reviews: Sequence[Review]) -> Decision:
    """Return what merging would do with a candidate if the reviews were memories."""
    content = candidate.content
    return decided(replace(candidate, supersedes=()), [drafted(review.memory, content) for review in reviews])
