"""Memories as they are stored, what of them waits for a review, and the write-ahead plans that change them."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal

from extractor import Doubt, traits_of
from gateway_memory.ground import decoded
from gateway_memory.scope import Scope
from gateway_memory.store.documents import FileEdit, Patch, is_writable
from gateway_memory.store.markdown import Addition, MemoryType
from gateway_memory.store.report import Rated

SAID: Final = "said"
"""The category of text that the user said and asked to forget, but that was never a memory. No document contains it."""
EXCHANGE: Final = "exchange"
"""The category of a turn that was forgotten as a whole. Its text only names the turn."""
TALK: Final = "talk"
"""The category of a session that was forgotten as a whole. Its text is the session's id."""
UNWRITTEN: Final = frozenset({SAID, EXCHANGE, TALK})
_NOT_EXPORTED: Final = ("session_key", "session_id", "turn", "quote")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecord:
    """A memory. A new field needs a default, since older stored records lack it.

    at: when it was said, in epoch seconds.
    cues: words and short questions by which somebody may ask for it; they are searched, and never told.
    turn: the number of the turn that it was extracted from, or 0.
    expires: the last day (YYYY-MM-DD) on which it holds, or "".
    quote: the user's own words from which a model extracted it, or "".
    outdates: the id of an older memory that may no longer hold since this one was said, or "".
    speaker: in a room, the key of the scope of whoever said it, or "". The text begins with their name.
    annotations: what comments of its line say, as in OpenClaw's files. Its document alone keeps them.
    """

    id: str
    text: str
    file: str
    at: float
    session_key: str = ""
    session_id: str = ""
    type: MemoryType = "W"
    category: str = ""
    importance: Literal["high", "normal"] = "normal"
    confidence: float = 1.0
    entities: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    turn: int = 0
    expires: str = ""
    quote: str = ""
    outdates: str = ""
    speaker: str = ""
    annotations: tuple[str, ...] = ()

    @property
    def announced(self) -> bool:
        """Whether other sessions are notified of it. Stage summaries and text that was never a memory are excluded."""
        return self.type != "S" and self.category not in UNWRITTEN and traits_of(self.category).announced

    @property
    def distilled(self) -> bool:
        """Whether it may move to MEMORY.md if it qualifies."""
        return self.type != "S" and traits_of(self.category).distilled

    def exported(self) -> dict[str, Any]:
        """Return the record for an export: every field except those that are only meaningful in this store."""
        row = {name: value for name, value in asdict(self).items() if name not in _NOT_EXPORTED}
        at = datetime.fromtimestamp(self.at, UTC).isoformat()
        lists = {name: list(getattr(self, name)) for name in ("entities", "cues", "annotations")}
        return {**row, **lists, "at": at, "session": self.session_key}


RECORD_FIELDS: Final = tuple(field.name for field in fields(MemoryRecord))


# What waits for a person's review before it becomes a memory, and what a review decided.

ReviewState = Literal["waiting", "approved", "rejected", "never", "expired", "replaced", "forgotten"]
"""never: rejected, and nothing alike is asked about again. replaced: by a newer candidate that waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A candidate and why it waits. It is not recalled, found, announced, or part of an opening.

    scope: whose memory it would be. memory: as it would be kept; its id is that of the review. at: since when it waits,
    in epoch seconds. against: the line of MEMORY.md that it contradicts, or "". supersedes: the memories that it
    replaces, according to a model.
    """

    scope: str
    memory: MemoryRecord
    reason: Doubt
    at: float
    against: str = ""
    supersedes: tuple[str, ...] = ()
    state: ReviewState = "waiting"

    def stored(self) -> dict[str, Any]:
        """Return what has no column of its own, for JSON."""
        return {"memory": asdict(self.memory), "against": self.against, "supersedes": list(self.supersedes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What became of a review. An undo makes it wait again. was: its state before."""

    id: str
    state: ReviewState
    was: ReviewState = "waiting"


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
