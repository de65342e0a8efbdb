"""What waits for a person's review before it becomes a memory, and what a review decided."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from extractor import Doubt
from gateway_memory.store.record import MemoryRecord

__all__ = ["OPEN", "Review", "ReviewState", "Settled"]

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

    def to_json(self) -> dict[str, Any]:
        """Return what has no column of its own as a mapping for JSON."""
        return {"memory": self.memory.to_json(), "against": self.against, "supersedes": list(self.supersedes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What became of a review. An undo makes it wait again. was: its state before."""

    id: str
    state: ReviewState
    was: ReviewState = "waiting"
