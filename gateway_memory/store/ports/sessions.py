"""What is known of sessions: which are open, what was seen in them, what they have left, and how they ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol

__all__ = ["COUNTED", "End", "EndState", "KnownSession", "Left", "Observation", "OpenSession", "Sessions"]

EndState = Literal["saved", "unsaved", "nothing"]
COUNTED: Final = frozenset(
    "ended open errors followups doubles_prevented staged state.saved state.unsaved state.nothing layer.agent "
    "layer.followup layer.end layer.imported".split()
)
"""What `counts` tells that has a fixed name; a record's layer may be whatever its writer calls it."""
_LONGEST_REASON: Final = 80
_LONGEST_ERROR: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Something that happened in a session. A private one has no content at all."""

    kind: str
    content: str = ""
    tool: str = ""
    tags: str = ""
    private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a session has left behind, oldest first: its facts, those that are decisions, its stage summaries."""

    facts: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a session ends, as its host says. error: what went wrong, "" for nothing."""

    reason: str
    error: str = ""
    duration_ms: int | None = None

    @classmethod
    def of(cls, *, reason: str, error: str, duration_ms: int | None) -> "End":
        """Return an end whose words may be kept."""
        from extractor import clean  # which most hooks can do without

        return cls(
            reason=" ".join(clean(reason).text.split())[:_LONGEST_REASON],
            error=clean(error[: 2 * _LONGEST_ERROR]).text[:_LONGEST_ERROR],
            duration_ms=duration_ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """A session that has not ended; times in epoch seconds."""

    session_id: str
    key: str
    scope: str
    opened_at: float
    seen_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSession:
    """What is known of a session under its id. switches: what the user said of its features, by name."""

    session_id: str
    key: str
    scope: str
    ended: bool
    switches: Mapping[str, bool]


class Sessions(Protocol):
    """Every call may raise StoreError; then nothing was changed. Times in epoch seconds."""

    async def open(self, key: str, scope: str, session_id: str, at: float) -> tuple[str, bool]:
        """Return the id of the key's open session, and whether it was opened by this call, under `session_id`."""

    async def find(self, session_id: str) -> KnownSession | None:
        """Return the session of an id, None where there was none."""

    async def switches(self, session_id: str) -> Mapping[str, bool]:
        """Return what the user said of a session's features, also in a predecessor that was abandoned."""

    async def switch(self, session_id: str, said: Mapping[str, bool]) -> None:
        """Keep what the user said of a session's features, for every process."""

    async def observe(self, scope: str, session_id: str, observation: Observation, at: float) -> None:
        """Keep what was observed in a session."""

    async def read(self, scope: str, session_id: str) -> tuple[list[Observation], Left]:
        """Return what was seen in a session, and what it has left and still stands, without what was forgotten."""

    async def observed_since_stage(self, scope: str, session_id: str) -> int:
        """Return how many observations a session has since its last stage summary."""

    async def has_left_anything(self, scope: str, session_id: str) -> bool:
        """Return whether a fact or a stage summary of a session stands, of whichever day."""

    async def note_memory(self, scope: str, session_id: str, memory: str, kind: str, at: float) -> None:
        """Note that a session has said a memory, also where it stood already. kind: W, B, O or S."""

    async def take_followup(self, session_id: str) -> bool:
        """Take the one follow-up that an open session has; False where it was taken before."""

    async def was_followed_up(self, session_id: str) -> bool:
        """Return whether the session's agent was asked to save it."""

    async def close(self, session_id: str, end: End, *, state: EndState, at: float) -> float | None:
        """End a session; return how many seconds it lasted, None where it had ended before or is unknown."""

    async def abandoned(self, *, idle_before: float, starting: bool) -> list[OpenSession]:
        """Return the open sessions that were idle since a time, or whose process is gone.

        starting: this process has opened none yet, so those under its own lease are a dead process's.
        """

    async def release(self) -> None:
        """Leave this process's open sessions to whoever resumes them."""

    async def counts(self) -> dict[str, int]:
        """Return how sessions ended and who saved them.

        ended, open, errors (ends with an error message), state.<state>, layer.<layer>, staged (sessions with a stage
        summary), followups, doubles_prevented.
        """

    async def scopes(self) -> list[str]:
        """Return the keys of the scopes that sessions or memories were met of."""
