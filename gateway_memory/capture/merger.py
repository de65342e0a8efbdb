"""Merge one candidate with a scope's memories: compare it to the nearest, and add the decision to a draft."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from operator import attrgetter
from typing import Final

from extractor import OPEN, Candidate, Decision, Known, decide, meaning_of, says, stands_alone, understood
from gateway_memory.capture.draft import Doubts, Draft, drafted, known, record_of_candidate
from gateway_memory.capture.reader import NEAREST, NEAREST_SECONDS
from gateway_memory.runtime.runtime import Runtime, compute
from gateway_memory.scope import Scope
from gateway_memory.store.documents import MEMORY_FILE, day_file, is_writable
from gateway_memory.store.journal.ledger import MEMORY_FULL
from gateway_memory.store.journal.turns import PendingTurn
from gateway_memory.store.markdown import new_id, one_line
from gateway_memory.store.plan import CandidateOutcome, Retired
from gateway_memory.store.record import MemoryRecord
from gateway_memory.sync.storage import Storage, record_of
from recall import Near, Stored

__all__ = ["LINE_OVERHEAD", "Merger"]

_LOADING_SECONDS: Final = 10
"""How long a sentence that no rule reads waits for its vector: an encoder takes long to load on a busy machine."""
_LOOKED_BACK: Final = 200
"""The newest changes among which a retraction looks for what the memory had replaced."""

LINE_OVERHEAD: Final = 40
"""The bytes of a line besides its text: the bullet, the comment and the line end."""


class Merger:
    """Makes decisions, and writes only to the draft. Call it only while the workspace's lock is held."""

    def __init__(self, runtime: Runtime, storage: Storage) -> None:
        self._runtime = runtime
        self._storage = storage
        self._doubts = Doubts(runtime, storage.reviews)

    def expect(self, candidate: Candidate) -> None:
        """Start to encode a candidate for which `near` will be called."""
        self._storage.recaller.expect(one_line(candidate.content))

    async def understood(self, candidates: Sequence[Candidate]) -> list[Candidate | None]:
        """Return candidates of the rules as what their vectors tell; None for those that say nothing lasting.

        Without a vector, what the rules have read stands alone.
        """
        unread = any(candidate.only_as for candidate in candidates)
        contents = [one_line(candidate.content) for candidate in candidates]
        said = [one_line(candidate.sentence) or text for candidate, text in zip(candidates, contents, strict=True)]
        texts = list(dict.fromkeys([*contents, *said]))
        encoder, vectors = await self._storage.recaller.encoded(texts, _LOADING_SECONDS if unread else NEAREST_SECONDS)
        meanings = {
            text: None if vector is None else meaning_of(text, vector.tolist(), encoder)
            for text, vector in zip(texts, vectors, strict=True)
        }
        return [
            understood(candidate, meanings[content], meanings[sentence])
            for candidate, content, sentence in zip(candidates, contents, said, strict=True)
        ]

    async def near(self, scope: Scope, candidates: Sequence[Candidate]) -> list[tuple[Near, ...]]:
        """Return the memories to compare each candidate with."""
        texts = [one_line(candidate.content) for candidate in candidates]
        return await self._storage.recaller.nearest_each(scope.key, texts, NEAREST, timeout_seconds=NEAREST_SECONDS)

    async def merge(
        self, scope: Scope, turn: PendingTurn, candidate: Candidate, found: Sequence[Near], draft: Draft, room: int
    ) -> int:
        """Decide about one candidate, add the result to the draft, and return the bytes that it takes in MEMORY.md.

        found: what `near` returned.
        """
        text = one_line(candidate.content)
        near = {item.stored.entry.id: item for item in found}
        reworded = [memory for memory in draft.by_rules if await self._rewords(scope, candidate, turn, memory, near)]
        gone = {item.memory.id for item in draft.retired} | {memory.id for memory in reworded}
        compared = [known(item) for identity, item in near.items() if identity not in gone]
        compared += nlargest(
            NEAREST, (drafted(memory, text, turn.id) for memory in draft.added), key=attrgetter("overlap")
        )
        decision = await compute(self._decision, candidate, compared, reworded, draft)
        if candidate.only_as:
            changed = _changed(decision, near, draft)
            if changed is None:
                _nothing_changed(turn, draft)
                return 0
            candidate = await compute(_as_change, candidate, changed)
        return await self.apply(scope, turn, candidate, decision, near, draft, room, reworded)

    async def apply(
        self,
        scope: Scope,
        turn: PendingTurn,
        candidate: Candidate,
        decision: Decision,
        near: Mapping[str, Near],
        draft: Draft,
        room: int,
        reworded: Sequence[MemoryRecord] = (),
    ) -> int:
        """Add what was decided about a candidate to the draft, and return the bytes that it takes in MEMORY.md.

        near: the stored memories to which it was compared, by id. reworded: memories of the draft that it replaces.
        """
        text = one_line(candidate.content)
        if decision.action == "skip":
            draft.outcomes.append(
                CandidateOutcome(turn=turn.id, action="skipped", reason=decision.reason, id=decision.target or "")
            )
            return 0
        standing = near.get(decision.target) if turn.imported and decision.target else None
        if standing and standing.stored.entry.at > turn.at:  # what an import says was said before what stands
            draft.outcomes.append(
                CandidateOutcome(turn=turn.id, action="skipped", reason="older", id=standing.stored.entry.id)
            )
            return 0
        if await self._doubts.hold(scope, turn, candidate, decision, draft):
            return 0
        settings = self._runtime.settings_of(turn.session_key).auto_extract
        identity = new_id()
        drafted_before = next((memory for memory in draft.added if memory.id == decision.target), None)
        curated = candidate.importance == "high" or settings.memory_md_threshold == "normal"
        if drafted_before:  # corrected within one batch: the first version never reaches a file
            draft.added.remove(drafted_before)
        elif decision.target is not None and decision.target in near:
            stored = near[decision.target].stored
            if not is_writable(stored.file):  # never change a person's own note
                decision = Decision(action="add", target=None, reason="not_ours")
            else:
                old = await self.memory(scope, stored)
                curated = curated or old.file == MEMORY_FILE
                draft.retired.append(Retired(memory=old, state="superseded", replaced_by=identity))
        for memory in reworded:
            curated = curated or memory.file == MEMORY_FILE
            draft.by_rules.remove(memory)
            draft.retired.append(Retired(memory=memory, state="superseded", replaced_by=identity))
        size = len(text.encode()) + LINE_OVERHEAD
        if curated and size > room:
            self._runtime.metrics.count("store.memory_md_full")
            await self._storage.ledger.set_notice(scope.key, MEMORY_FULL)
            curated = False
        file = MEMORY_FILE if curated else day_file(self._runtime.day_of(turn.at))
        memory = record_of_candidate(candidate, turn, identity=identity, file=file)
        draft.added.append(replace(memory, outdates=decision.outdates))
        action, reason = decision.action, decision.reason
        if reworded and action == "add":
            action, reason = "update", "reworded"
        draft.outcomes.append(CandidateOutcome(turn=turn.id, action=action, reason=reason, id=identity))
        return size if curated else 0

    async def retract(self, scope: Scope, memory: MemoryRecord, draft: Draft) -> None:
        """Take back an unedited memory that the rules were wrong to keep, and restore what it had replaced."""
        if not await self._is_unedited(scope, memory):
            return
        draft.by_rules.remove(memory)
        draft.retired.append(Retired(memory=memory, state="retracted"))
        draft.outcomes.append(CandidateOutcome(turn=memory.turn, action="retracted", reason="model", id=memory.id))
        changes = await self._storage.ledger.undoable(scope.key, _LOOKED_BACK)
        replaced = {
            item.memory.id: item.memory
            for change in changes
            for item in change.plan.retired
            if item.replaced_by == memory.id
        }
        for identity, standing in (await self._storage.ledger.states(scope.key, list(replaced))).items():
            if standing == ("superseded", memory.id):
                draft.added.append(replaced[identity])
                draft.outcomes.append(
                    CandidateOutcome(turn=memory.turn, action="restored", reason="model", id=identity)
                )

    async def _is_unedited(self, scope: Scope, memory: MemoryRecord) -> bool:
        stored = await self._storage.recaller.get(scope.key, memory.id)
        return stored is not None and (stored.file, stored.entry.text) == (memory.file, memory.text)

    async def _rewords(
        self,
        scope: Scope,
        candidate: Candidate,
        turn: PendingTurn,
        memory: MemoryRecord,
        near: Mapping[str, Near],
    ) -> bool:
        """Return whether a candidate of a model rewords an unedited memory that the rules read from the same turn.

        Its content tells, and never its quotation: a model may quote a whole message for one fact of it.
        """
        if not candidate.quote or memory.turn != turn.id:
            return False
        cosine = near[memory.id].cosine if memory.id in near else None
        return says(candidate.content, memory.text, cosine) and await self._is_unedited(scope, memory)

    @staticmethod
    def _decision(
        candidate: Candidate, compared: Sequence[Known], reworded: Sequence[MemoryRecord], draft: Draft
    ) -> Decision:
        """Return the decision about a candidate: by the rules, or by the model if the rules were unsure."""
        if reworded and candidate.doubt:
            return Decision(action="skip", target=reworded[0].id, reason="known")
        decision = decide(candidate, compared)
        asked = draft.settled.get(candidate)
        if asked is None or decision.reason not in OPEN:
            return decision
        standing = {memory.id for memory in compared}
        return asked if asked.target is None or asked.target in standing else decision

    async def room(self, scope: Scope) -> int:
        """Return the number of bytes by which MEMORY.md may still grow."""
        _, size = (await self._storage.documents.scan(scope)).get(MEMORY_FILE, (0, 0))
        room = self._runtime.settings.store.max_memory_md_bytes - size
        if room > LINE_OVERHEAD:
            await self._storage.ledger.clear_notice(scope.key, MEMORY_FULL)
        return room

    async def memory(self, scope: Scope, stored: Stored) -> MemoryRecord:
        """Return a memory with its stored data, and with its current text and file."""
        known = await self._storage.ledger.memories(scope.key, [stored.entry.id])
        return record_of(stored, known.get(stored.entry.id))


def _changed(decision: Decision, near: Mapping[str, Near], draft: Draft) -> MemoryRecord | None:
    """Return the memory that a candidate changes, or perhaps changes."""
    identity = decision.target if decision.action == "supersede" else decision.outdates
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


def _nothing_changed(turn: PendingTurn, draft: Draft) -> None:
    """Note that a turn has nothing to keep, unless something of it was noted already."""
    if all(outcome.turn != turn.id for outcome in draft.outcomes):
        draft.outcomes.append(CandidateOutcome(turn=turn.id, action="skipped", reason="nothing_to_keep"))
