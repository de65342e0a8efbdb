"""What a batch of turns has decided, whole enough to be carried out again after a crash: the write-ahead plan."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from gateway_memory.store.files import FileEdit, is_writable
from gateway_memory.store.markdown import Addition, MemoryType
from gateway_memory.store.patch import Patch

__all__ = ["SAID", "Memory", "Moved", "Outcome", "Plan", "Receipt", "Retired", "Stage"]

Stage = Literal["rules", "batch", "command", "expiry", "undo", "save", "summary", "distill", "import"]

SAID: Final = "said"
"""The category of what was said and asked to be forgotten, and was never a memory: it stands in no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory as the journal keeps it; `at` is in epoch seconds."""

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
    turn: int = 0
    """The turn that it was read from, 0 where it was from none."""
    expires: str = ""
    """The last day (YYYY-MM-DD) on which it holds, "" where it has no end."""
    quote: str = ""
    """The user's own words that a model read it from, "" where none did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """A memory that leaves its file, and why; its last text stays in the journal."""

    memory: Memory
    state: Literal["superseded", "forgotten", "expired", "undone"]
    replaced_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A memory that goes to another file and stays what it is, its id included: `memory.file` is where it goes."""

    memory: Memory
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One line of a receipt: what became of a turn (or of one candidate of it), and the reason."""

    turn: int
    action: str
    reason: str
    id: str = ""
    text: str = ""
    """The memory that came of it, as the journal knows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What one plan did; `number` grows with each, `at` is in epoch seconds."""

    number: int
    stage: Stage
    at: float
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one stage does with its turns (or a command, with none)."""

    scope: str
    folder: str
    stage: Stage
    at: float
    turns: tuple[int, ...] = ()
    added: tuple[Memory, ...] = ()
    retired: tuple[Retired, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    moved: tuple[Moved, ...] = ()
    failed: bool = False
    """Whether the model failed: then the turns wait for `retry` instead of being done."""
    restores: tuple[Patch, ...] = ()
    """The edits of the files that are taken back as they were made, where nobody has edited since."""

    @property
    def writes(self) -> bool:
        """Whether any file changes."""
        return bool(self.added or self.retired or self.moved)

    def edits(self) -> list[FileEdit]:
        """Return the edits of the Markdown files, one for each file."""
        removed = [item.memory for item in self.retired]
        removed += [replace(item.memory, file=item.source) for item in self.moved]
        added = [*self.added, *(item.memory for item in self.moved)]
        files = dict.fromkeys([memory.file for memory in removed] + [memory.file for memory in added])
        restores = {patch.file: patch for patch in self.restores}
        return [
            FileEdit(
                file=file,
                add=tuple(
                    Addition(id=memory.id, text=memory.text, type=memory.type, confidence=memory.confidence)
                    for memory in added
                    if memory.file == file
                ),
                remove=tuple(memory.id for memory in removed if memory.file == file),
                restore=restores.get(file),
            )
            for file in files
        ]

    def to_json(self) -> str:
        """Return the plan as the journal holds it."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, body: str) -> "Plan":
        """Return the plan that `to_json` wrote."""
        raw: dict[str, Any] = json.loads(body)
        raw["turns"] = tuple(raw["turns"])
        raw["added"] = tuple(_memory(item) for item in raw["added"])
        raw["retired"] = tuple(Retired(**{**item, "memory": _memory(item["memory"])}) for item in raw["retired"])
        raw["moved"] = tuple(Moved(**{**item, "memory": _memory(item["memory"])}) for item in raw.get("moved", ()))
        raw["outcomes"] = tuple(Outcome(**item) for item in raw["outcomes"])
        raw["restores"] = tuple(Patch.from_json(item) for item in raw.get("restores", ()))
        return cls(**raw)


def _memory(raw: Mapping[str, Any]) -> Memory:
    memory = Memory(**{**raw, "entities": tuple(raw["entities"])})
    if not isinstance(raw["text"], str) or not isinstance(raw["at"], int | float) or not is_writable(raw["file"]):
        raise ValueError("a memory of another shape")
    return memory
