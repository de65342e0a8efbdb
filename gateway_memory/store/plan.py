"""The write-ahead plans that change memories, and what caused them."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Literal

from gateway_memory.ground.texts import decoded
from gateway_memory.scope import Scope
from gateway_memory.store.document_store import FileEdit
from gateway_memory.store.documents import is_writable
from gateway_memory.store.markdown import Addition
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.patches import Patch
from gateway_memory.store.report import Rated
from gateway_memory.store.reviewed import Review, Settled

Cause = Literal[
    "rules",
    "batch",
    "command",
    "expiry",
    "undo",
    "save",
    "summary",
    "distill",
    "import",
    "link",
    "review",
    "feedback",
    "by_hand",
    "rename",
]


State = Literal["superseded", "forgotten", "expired", "undone", "retracted", "deleted"]
"""Why a memory was removed from its file. deleted: by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """A memory that is removed from its file, and the reason. The journal keeps its last text."""

    memory: MemoryRecord
    state: State
    replaced_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A memory that keeps its id, and gets another file or another name before it. `memory` is as it becomes."""

    memory: MemoryRecord
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """A member of a room who has another name now. speaker: the key of the scope that is theirs alone."""

    speaker: str
    was: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptLine:
    """One line of a receipt: the result for a turn, or for one of its candidates, and the reason."""

    turn: int
    action: str
    reason: str
    id: str = ""
    text: str = ""
    """The text of the resulting memory, as stored in the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The result of one plan. `number` increases with each receipt; `at` is epoch seconds."""

    number: int
    stage: Cause
    at: float
    outcomes: tuple[ReceiptLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All changes of one step to one scope: of a stage, for its turns; or of a command, without turns."""

    scope: str
    folder: str
    stage: Cause
    at: float
    turns: tuple[int, ...] = ()
    added: tuple[MemoryRecord, ...] = ()
    retired: tuple[Retired, ...] = ()
    outcomes: tuple[ReceiptLine, ...] = ()
    moved: tuple[Moved, ...] = ()
    failed: bool = False
    """Whether the model gave no answer. The turns then wait for `retry`; imported ones become unread episodes again."""
    imported: bool = False
    """Whether its turns are episodes that another program recorded. Their memories are not announced."""
    restores: tuple[Patch, ...] = ()
    """Earlier edits to revert exactly, if nobody has edited the files since."""
    reviews: tuple[Review, ...] = ()
    """Candidates that wait for a person from now on."""
    settled: tuple[Settled, ...] = ()
    """What becomes of candidates that waited."""
    rated: tuple[Rated, ...] = ()
    """What a person says of memories in replies."""
    renamed: tuple[Renamed, ...] = ()
    """Whose words, in this scope, are told under another name from now on. Their lines are among `moved`."""

    @property
    def writes(self) -> bool:
        """Whether the plan changes any file."""
        return bool(self.added or self.retired or self.moved)

    @property
    def target(self) -> Scope:
        """The scope whose memories change."""
        return Scope(self.scope, self.folder)

    def records(self) -> Iterator[MemoryRecord]:
        """Yield the memories that the plan changes."""
        yield from self.added
        yield from (item.memory for item in self.retired)
        yield from (item.memory for item in self.moved)

    def edits(self) -> list[FileEdit]:
        """Return the edits of the Markdown files, one a file."""
        removed = [item.memory for item in self.retired]
        removed += [replace(item.memory, file=item.source) for item in self.moved]
        added = [*self.added, *(item.memory for item in self.moved)]
        files = dict.fromkeys([memory.file for memory in removed] + [memory.file for memory in added])
        restores = {patch.file: patch for patch in self.restores}
        return [
            FileEdit(
                file=file,
                add=tuple(
                    Addition(
                        id=memory.id,
                        text=memory.text,
                        type=memory.type,
                        confidence=memory.confidence,
                        annotations=memory.annotations,
                    )
                    for memory in added
                    if memory.file == file
                ),
                remove=tuple(memory.id for memory in removed if memory.file == file),
                restore=restores.get(file),
            )
            for file in files
        ]

    def to_json(self) -> str:
        """Return the plan in the form that the journal stores."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, body: str) -> "Plan":
        """Return the plan from the result of `to_json`.

        Raises:
            ValueError: it is none.
        """
        plan = decoded(cls, json.loads(body))
        memories = [*plan.records(), *(review.memory for review in plan.reviews)]
        if not all(is_writable(memory.file) for memory in memories):
            raise ValueError("a memory of a document that is not ours")
        return plan
