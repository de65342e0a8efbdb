"""What the commands need of an open memory: narrow protocols, and the bundle that every command function gets."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Protocol

from gateway_memory.capture.undo import Refused
from gateway_memory.config.settings import MemorySync
from gateway_memory.observability.metrics import Metrics
from gateway_memory.scope import Scope
from gateway_memory.session import Session
from gateway_memory.store.journal.ledger import HistoryLine, Reply, Spent
from gateway_memory.store.plan import Memory, Plan, Receipt
from notifier import NotifierStatus
from recall import Hit, Near, Stored, Vectors

__all__ = ["CommandPorts", "Commanded", "Edits", "Index", "Journal", "Ledger"]


class Commanded(Protocol):
    """The open memory."""

    zone: tzinfo | None
    settings: MemorySync
    metrics: Metrics

    def now(self) -> datetime:
        """Return the current time, aware."""

    async def search(self, session: Session, query: str, *, limit: int = 5, explain: bool = False) -> Sequence[Hit]:
        """Return the hits of a search, best first; it takes the filters of `as_filter` too."""

    async def session_counts(self) -> dict[str, int]:
        """Return how many sessions are open, ended, saved, unsaved or failed."""


class Edits(Protocol):
    """Changes a command can make to what is remembered."""

    async def forget(self, scope: Scope, stored: Stored, *, reason: str = "command") -> None:
        """Take a memory out of its file."""

    async def undo(self, scope: Scope, *, only: str = "") -> tuple[float, Plan] | Refused | None:
        """Undo the newest change of a scope, or of the memory `only`. Return when it was made and the undoing plan."""


class Index(Protocol):
    """The search index."""

    @property
    def replaced(self) -> int:
        """How often the index was found damaged, and built again, since it was opened."""

    async def newest(self, scope: str, limit: int) -> Sequence[Stored]:
        """Return the items inserted last, newest first."""

    async def count(self, scope: str) -> int:
        """Return how many items a scope has."""

    async def get(self, scope: str, id: str, /) -> Stored | None:  # noqa: A002 - its name everywhere here
        """Return the row of an id."""

    async def nearest(self, scope: str, text: str, limit: int) -> Sequence[Near]:
        """Return the items nearest to a text, lexically and semantically."""

    async def vectors(self) -> Vectors:
        """Return how many rows have vectors, over all scopes."""


class Journal(Protocol):
    """What the journal knows of memories and of waiting work."""

    async def memories(self, scope: str, ids: Sequence[str]) -> Mapping[str, Memory]:
        """Return what is known of these memories, by id."""

    async def queue(self) -> Mapping[str, float]:
        """Return what waits: turns, events, and since when."""


class Ledger(Protocol):
    """Receipts, history and budgets."""

    async def reply(self, session_id: str) -> Reply | None:
        """Return the last reply of a session."""

    async def receipts(self, *, limit: int, turn: int = 0, scope: str = "") -> Sequence[Receipt]:
        """Return the newest receipts, newest first."""

    async def history(self, scope: str, identity: str) -> Sequence[HistoryLine]:
        """Return what became of a memory, oldest first."""

    async def last_extraction(self) -> float:
        """Return when turns were last read, in epoch seconds; 0 if never."""

    async def spent(self, day: str) -> Spent:
        """Return the model's calls and tokens of a day (YYYY-MM-DD)."""

    async def failed(self) -> int:
        """Return how many turns wait for `gateway-memory retry`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPorts:
    """Everything that a command may use.

    refresh: indexes what changed in a scope's files. edited_since: whether a scope's files were edited by hand after
    a time in epoch seconds. caught_up: waits until a session's turns are processed, at most so many seconds. switched:
    makes a session's switches hold for every process. waiting: how many updates wait, for how many sessions.
    notifier: the state of the MQTT connection, None without one.
    """

    memory: Commanded
    edits: Edits
    index: Index
    journal: Journal
    ledger: Ledger
    refresh: Callable[[Scope], Awaitable[object]]
    edited_since: Callable[[str, float], Awaitable[bool]]
    caught_up: Callable[[str, float], Awaitable[None]]
    switched: Callable[[Session], Awaitable[None]]
    waiting: Callable[[], tuple[int, int]]
    notifier: Callable[[], NotifierStatus | None]
