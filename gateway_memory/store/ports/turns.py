"""The port for accepted turns and the work on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from gateway_memory.store.patch import Patch
from gateway_memory.store.plan import Plan
from gateway_memory.store.ports.episodes import Episode
from gateway_memory.store.ports.sessions import Observation
from gateway_memory.store.report import ReplyReport
from notifier import Event

__all__ = ["UNNUMBERED", "NewTurn", "PendingTurn", "Queue", "Reply", "TurnState", "Turns"]

TurnState = Literal["accepted", "ruled"]
UNNUMBERED: Final = -1
"""In the place of the number of a turn that is durable on this host, where the database has still to number it."""
"""The next stage of a turn: the rules, or the batch that a model reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn to accept. Times are epoch seconds.

    turn_id: the caller's id. The same id in the same session key and scope is the same turn.
    recalled: the ids of the memories that were recalled for the reply.
    report: what was considered for it, if it is known.
    seen: the observations of the turn.
    extract: whether memories are extracted from it. episode: whether it is kept after it was processed.
    joined: the key of the shared scope that its session has joined, to which its decisions go, or "".
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
    report: ReplyReport | None = None
    seen: tuple[Observation, ...] = ()
    extract: bool = True
    episode: bool = False
    joined: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTurn:
    """An accepted turn that is not yet processed. `id` is its number; times are epoch seconds.

    extract, joined: see NewTurn. imported: it is an episode that another program recorded.
    """

    id: int
    scope: str
    session_key: str
    session_id: str
    user: str
    reply: str
    at: float
    accepted_at: float
    extract: bool = True
    imported: bool = False
    joined: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply: its turn, the ids of the memories that were recalled for it, and what was considered, if it is known.

    session_key: the key of its session.
    """

    turn: int
    at: float
    recalled: tuple[str, ...]
    session_key: str = ""
    report: ReplyReport | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The waiting work of all processes. Times are epoch seconds, 0 if nothing waits.

    rules, batch, parked, failed: turns. rules_at, batch_at: when the oldest was accepted.
    outbox: events to send.
    unreadable: damaged rows that were set aside.
    """

    rules: int = 0
    batch: int = 0
    parked: int = 0
    failed: int = 0
    rules_at: float = 0.0
    batch_at: float = 0.0
    outbox: int = 0
    outbox_at: float = 0.0
    unreadable: int = 0


class Turns(Protocol):
    """Every call may raise StoreError, and has then changed nothing.

    A process holds its turns by a lease. Once another process has taken over the lease, `finish` raises LeaseLostError.
    """

    async def accept(self, turn: NewTurn) -> int:
        """Store a turn until it is processed, and return its number. It is durable when this returns.

        UNNUMBERED in the place of a number that the database has not given yet; 0 if the database refuses the turn.
        """

    async def claim(
        self, state: TurnState, *, session_id: str | None = None, limit: int = 256, besides: Sequence[str] = ()
    ) -> list[PendingTurn]:
        """Return turns of this process's lease that wait for a stage, oldest first.

        besides: scopes, by key, whose turns are left out.
        """

    async def take_up(self, episodes: Sequence[Episode], at: float) -> int:
        """Let unread episodes wait as turns of this process for who has still to read them; return their number.

        Each is marked as read in the same transaction. Left out are those that another process took up meanwhile, and
        those without a text.

        episodes: with the text that may be told. at: the current time, in epoch seconds.
        """

    async def save_plan(self, plan: Plan, events: Sequence[Event] = ()) -> tuple[int, list[Event]]:
        """Write a plan ahead, with its events; return its number, and the events with their numbers."""

    async def plans(self) -> list[tuple[int, Plan]]:
        """Return the plans of this process's lease that are not recorded as completed, oldest first."""

    async def finish(self, plan: Plan, number: int | None, patches: Sequence[Patch] = ()) -> None:
        """Record in one transaction that a plan is completed, with its turns, receipt, history, reviews and events.

        After the rules, a turn that is to be kept becomes an episode. An imported one that the model could not read
        waits as an unread episode again.

        number: the number of a plan that was written ahead.
        patches: the edits of the plan's documents.

        Raises:
            LeaseLostError: another process has taken over the turns; nothing was recorded.
        """

    async def park(self, turn: int) -> None:
        """Set a turn aside on which processing failed. It waits for `unpark`."""

    async def unpark(self) -> None:
        """Return this process's parked turns to their stage."""

    async def adopt(self) -> int:
        """Take over the turns and plans of dead processes and of hooks, and return the number of those processes."""

    async def failed(self) -> int:
        """Return the number of turns, of all processes, whose model failed and that wait for `retry`."""

    async def leave_unsaid(self, turns: Sequence[int]) -> None:
        """Keep these waiting turns as no episodes."""

    async def retry(self) -> list[str]:
        """Return failed turns to the batch stage in this process; return the ids of their sessions."""

    async def last_reply(self, scope: str, session_id: str) -> Reply | None:
        """Return the last reply of a session, or None before the first reply."""

    async def replies(self, scope: str, *, before: int, limit: int) -> list[Reply]:
        """Return the newest replies of a scope whose turns have a number below `before`, newest first."""

    async def outcomes(self, scope: str, *, since: float, limit: int) -> list[tuple[float, str]]:
        """Return when the newest replies since a time were made (epoch seconds), and how recall went, newest first."""

    async def queue(self) -> Queue:
        """Return the waiting work of all processes."""

    async def tidy(self, *, before: float, now: float) -> None:
        """Delete what is no longer needed: of each scope all but the newest receipts, replies and changes for undo.

        A reply of the last week stays. before: turns whose model failed and observations go, if they are older.
        now: the current time. Both in epoch seconds.

        Raises:
            StoreBusyError: another process is tidying.
        """
