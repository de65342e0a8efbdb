"""The record of one memory, as it is stored, exported, imported and shown; and what of it waits for a review."""

from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from extractor import Doubt, traits_of
from gateway_memory.store.markdown import MemoryType

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


def decoded(kind: type[T], raw: object) -> T:
    """Return a value of a dataclass from what `asdict` and JSON made of one.

    A field that is missing has its default, and one that is unknown is left out: another version wrote it.

    Raises:
        ValueError: it is a value of another shape.
    """
    value: T = _adapter(kind).validate_python(raw)  # type: ignore[arg-type]  # mypy: a type is not Hashable
    return value


@cache
def _adapter(kind: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter  # hooks decode nothing

    return TypeAdapter(kind)


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
    turn: the number of the turn that it was extracted from, or 0.
    expires: the last day (YYYY-MM-DD) on which it holds, or "".
    quote: the user's own words from which a model extracted it, or "".
    outdates: the id of an older memory that may no longer hold since this one was said, or "".
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
    turn: int = 0
    expires: str = ""
    quote: str = ""
    outdates: str = ""
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
        lists = {"entities": list(self.entities), "annotations": list(self.annotations)}
        return {**row, **lists, "at": at, "session": self.session_key}


RECORD_FIELDS: Final = tuple(field.name for field in fields(MemoryRecord))


# What waits for a person's review before it becomes a memory, and what a review decided.

ReviewState = Literal["waiting", "approved", "rejected", "never", "expired", "replaced", "forgotten"]
"""never: rejected, and nothing alike is asked about again. replaced: by a newer candidate that waits."""
OPEN: Final = "waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A candidate and why it waits. It is neither recalled nor searched, announced or loaded.

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
