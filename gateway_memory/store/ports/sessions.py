"""The port for sessions: which are open, their observations and results, and how they ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from gateway_memory.store.ports.requests import Request

__all__ = [
    "COUNTED",
    "SHARED_KEY",
    "End",
    "EndState",
    "KeptObservation",
    "KnownSession",
    "Left",
    "Observation",
    "OpenSession",
    "Sessions",
]

EndState = Literal["saved", "unsaved", "nothing"]
COUNTED: Final = frozenset(
    "ended open errors followups doubles_prevented staged state.saved state.unsaved state.nothing layer.agent "
    "layer.followup layer.end layer.imported".split()
)
"""The fixed names in `counts`. A record's layer may be any name that its writer chooses."""
SHARED_KEY: Final = "a session key in two processes"
"""The place of the failure that is noted where a session is opened that another living process has open."""
_LONGEST_REASON: Final = 80
_LONGEST_ERROR: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """An observation of a session. A private one has no content."""

    kind: str
    content: str = ""
    tool: str = ""
    tags: str = ""
    private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptObservation:
    """An observation as it is stored, with its number and its session. at: epoch seconds."""

    number: int
    session_id: str
    session_key: str
    at: float
    kind: str
    tool: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """The results of a session, oldest first: facts, those facts that are decisions, and stage summaries."""

    facts: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a session ends, as reported by its host. error: what went wrong, or ""."""

    reason: str
    error: str = ""
    duration_ms: int | None = None

    @classmethod
    def of(cls, *, reason: str, error: str, duration_ms: int | None) -> "End":
        """Return an end whose texts are cleaned and shortened for storage."""
        from extractor import clean  # most hooks do not need this import

        return cls(
            reason=" ".join(clean(reason).text.split())[:_LONGEST_REASON],
            error=clean(error[: 2 * _LONGEST_ERROR]).text[:_LONGEST_ERROR],
            duration_ms=duration_ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """A session that has not ended. Times are epoch seconds."""

    session_id: str
    key: str
    scope: str
    opened_at: float
    seen_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSession:
    """The stored data of a session. switches: the features that the user switched, by name."""

    session_id: str
    key: str
    scope: str
    ended: bool
    switches: Mapping[str, bool]


class Sessions(Protocol):
    """Every call may raise StoreError, and has then changed nothing. Times are epoch seconds."""

    async def open(self, key: str, scope: str, session_id: str, at: float) -> tuple[str, bool]:
        """Return the id of the key's open session, and whether this call opened it, with the id `session_id`."""

    async def is_open_elsewhere(self, key: str, scope: str) -> bool:
        """Return whether another living process has the key's session open."""

    async def open_scopes(self, key: str) -> list[str]:
        """Return the scopes in which a key has an open session."""

    async def find(self, session_id: str) -> KnownSession | None:
        """Return the session of an id, or None."""

    async def switches(self, session_id: str) -> Mapping[str, bool]:
        """Return the features that the user switched in a session, or in its abandoned predecessor."""

    async def switch(self, session_id: str, said: Mapping[str, bool]) -> None:
        """Store the features that the user switched in a session, for every process."""

    async def observe(
        self, scope: str, session_id: str, observation: Observation, at: float, request: Request | None = None
    ) -> None:
        """Store an observation of a session. A request that is repeated stores nothing."""

    async def read(self, scope: str, session_id: str) -> tuple[list[Observation], Left]:
        """Return the observations of a session and its results that are still active, without forgotten text."""

    async def observations(self, scope: str, newest: int) -> list[KeptObservation]:
        """Return the newest observations of a scope that have a content, newest first. Forgotten text is in them."""

    async def observed_since_stage(self, scope: str, session_id: str) -> int:
        """Return the number of observations of a session since its last stage summary."""

    async def has_left_anything(self, scope: str, session_id: str) -> bool:
        """Return whether a fact or a stage summary of a session is active, on any day."""

    async def note_memory(self, scope: str, session_id: str, memory: str, kind: str, at: float) -> None:
        """Record that a session said a memory, even if the memory existed before. kind: W, B, O or S."""

    async def take_followup(self, session_id: str) -> bool:
        """Take the only follow-up of an open session; return False if it was taken before."""

    async def was_followed_up(self, session_id: str) -> bool:
        """Return whether the session's agent was asked to save the session."""

    async def close(self, session_id: str, end: End, *, state: EndState, at: float) -> float | None:
        """End a session, and return its duration in seconds; None if it is unknown or had ended before.

        Of a session that had ended, the state is set if it was not saved yet.
        """

    async def unsaved(self) -> list[tuple[OpenSession, End]]:
        """Return the sessions that ended and whose record could not be written, oldest first, and how they ended."""

    async def open_in(self, scopes: Sequence[str]) -> list[OpenSession]:
        """Return the open sessions of scopes, also those of other processes."""

    async def abandoned(self, *, idle_before: float, starting: bool) -> list[OpenSession]:
        """Return the open sessions that were idle since a time, or whose process is dead.

        starting: this process has opened no session yet, so sessions under its own lease belong to a dead process.
        """

    async def release(self) -> None:
        """Release this process's open sessions, so that another process can resume them."""

    async def counts(self) -> dict[str, int]:
        """Return how sessions ended and what saved them.

        The keys are ended, open, errors (ends with an error message), state.<state>, layer.<layer>, staged (sessions
        with a stage summary), followups and doubles_prevented.
        """

    async def knows(self, scope: str) -> bool:
        """Return whether a scope holds anything but documents."""

    async def scopes(self) -> list[str]:
        """Return the keys of the scopes that have sessions or memories."""
