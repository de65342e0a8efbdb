"""Accepted turns, and the work that they ask for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from gateway_memory.store.patch import Patch
from gateway_memory.store.plan import Plan
from gateway_memory.store.ports.sessions import Observation
from notifier import Event

__all__ = ["NewTurn", "PendingTurn", "Queue", "Reply", "TurnState", "Turns"]

TurnState = Literal["accepted", "ruled"]
"""What a turn waits for: the rules, or the batch that a model reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn as it is accepted; times in epoch seconds.

    turn_id: made by the caller. The same id in the same session key and scope is the same turn.
    recalled: the ids of the memories that were found for its reply. seen: what is observed of it.
    """

    turn_id: str
    scope: str
    session_key: str
    session_id: str
    user: str
    reply: str
    at: float
    accepted_at: float
    recalled: tuple[str, ...] = ()
    seen: tuple[Observation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTurn:
    """A turn that was accepted and isn't done yet; `id` is its number, times in epoch seconds."""

    id: int
    scope: str
    session_key: str
    session_id: str
    user: str
    reply: str
    at: float
    accepted_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The last reply of a session: its turn, and the ids of the memories that were recalled for it."""

    turn: int
    at: float
    recalled: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """What waits, of all processes. Times in epoch seconds, 0 where nothing waits.

    rules, batch, parked, failed: turns. outbox: events that are to be sent. unreadable: damaged rows set aside.
    """

    rules: int = 0
    batch: int = 0
    parked: int = 0
    failed: int = 0
    oldest_at: float = 0.0
    outbox: int = 0
    outbox_at: float = 0.0
    unreadable: int = 0


class Turns(Protocol):
    """Every call may raise StoreError; then nothing was changed.

    A process holds its turns by a lease. Once the lease has passed to another process, `finish` refuses.
    """

    async def accept(self, turn: NewTurn) -> int:
        """Keep a turn until it is processed; it is durable when this returns. Returns its number."""

    async def claim(self, state: TurnState, *, session_id: str | None = None, limit: int = 256) -> list[PendingTurn]:
        """Return turns of this process's lease that wait for a stage, oldest first."""

    async def save_plan(self, plan: Plan, events: Sequence[Event] = ()) -> tuple[int, list[Event]]:
        """Write a plan ahead, with what will be announced; return its number, and the events with theirs."""

    async def plans(self) -> list[tuple[int, Plan]]:
        """Return the plans of this process's lease that are not known to be carried out, oldest first."""

    async def finish(self, plan: Plan, number: int | None, patches: Sequence[Patch] = ()) -> None:
        """Record at once that a plan is carried out: turns, receipt, history, undo; its events may leave now.

        number: of a plan that was written ahead. patches: how its documents were edited.

        Raises:
            LeaseLostError: another process has taken the turns over; nothing was recorded.
        """

    async def park(self, turn: int) -> None:
        """Put a turn aside that something broke on; it waits for `unpark`."""

    async def unpark(self) -> None:
        """Let this process's parked turns wait for their stage again."""

    async def adopt(self) -> int:
        """Take over the turns and plans of processes that are gone; return how many processes that were."""

    async def failed(self) -> int:
        """Return how many turns wait for `retry` since their model failed, of all processes."""

    async def retry(self) -> list[str]:
        """Let them wait for their batch again, in this process; return the ids of their sessions."""

    async def last_reply(self, session_id: str) -> Reply | None:
        """Return the last reply of a session, None before the first one."""

    async def queue(self) -> Queue:
        """Return what waits, of all processes."""

    async def tidy(self, *, before: float) -> None:
        """Delete turns whose model failed before a time (epoch seconds), and old observations and receipts."""
