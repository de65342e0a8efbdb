"""What waits for a person's review before it becomes a memory, and what a review decided."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from extractor import Doubt
from gateway_memory.store.memory_record import MemoryRecord

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
