"""The port for the ledger: the history of memories, the data for undo, and the costs of models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final, Protocol

from gateway_memory.store.patch import Patch
from gateway_memory.store.plan import Plan, Receipt
from gateway_memory.store.record import MemoryRecord
from gateway_memory.store.report import Rated
from gateway_memory.store.withheld import Withheld

__all__ = ["MEMORY_FULL", "HistoryLine", "Ledger", "Spent", "UndoEntry", "Uses"]

MEMORY_FULL: Final = "memory_md_full"
"""The name of the one-time notice that MEMORY.md of a scope is full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The usage of models on one day. `reserved` tokens belong to calls that have not returned."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reserved: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One event in the history of a memory. `other` is the memory that it replaced, or that replaced it."""

    at: float
    event: str
    other: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoEntry:
    """The changes of a receipt, and the patches that revert its edits."""

    receipt: int
    plan: Plan
    patches: tuple[Patch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """How often a memory was recalled and repeated, and the number of days with either."""

    recalled: int = 0
    repeated: int = 0
    days: int = 0


class Ledger(Protocol):
    """Every call may raise StoreError, and has then changed nothing. Times are epoch seconds, days YYYY-MM-DD."""

    # Memories

    async def memories(self, scope: str, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """Return the stored data of these memories, by id."""

    async def told(self, scope: str, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """Return the same for people and models, by id: what was forgotten since has no text, quote or names."""

    async def of_session(self, scope: str, session_id: str) -> list[MemoryRecord]:
        """Return the active memories and stage summaries that a session has said or left."""

    async def of_turns(self, scope: str, turns: Sequence[int]) -> list[MemoryRecord]:
        """Return the active memories that were extracted from these turns."""

    async def stages(self, scope: str) -> list[MemoryRecord]:
        """Return the active stage summaries, each with its session."""

    async def expired(self, scope: str, day: str) -> list[str]:
        """Return the ids of the active memories whose last day is before `day`."""

    async def states(self, scope: str, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return (state, id of the replacement) of each of these memories that is known."""

    async def outdated(self, scope: str) -> dict[str, str]:
        """Return the ids of the memories that may no longer hold, each with the id of the standing one that says so."""

    async def withheld(self, scope: str, *, undone: bool = True, besides: Sequence[str] = ()) -> Withheld:
        """Return what was forgotten in a scope and has not been restored.

        undone: also what was undone. besides: ids of what is left out.
        """

    async def forgotten(self, scope: str) -> Mapping[str, float]:
        """Return the texts that were forgotten in a scope and that no memory has again, each with its last time."""

    async def imported_past(self, scope: str) -> list[tuple[MemoryRecord, str]]:
        """Return what an import put into the history, each with the text of the standing memory that replaced it."""

    async def history(self, scope: str, identity: str) -> list[HistoryLine]:
        """Return the history of a memory, oldest first."""

    async def receipts(
        self, *, limit: int, after: int = 0, turn: int = 0, scope: str = "", since: float = 0.0, imports: bool = True
    ) -> list[Receipt]:
        """Return receipts with a number above `after`, newest first, with the texts of the memories that they name.

        limit: the maximum number of receipts.
        turn, scope: return only the receipts of this turn and scope; 0 and "" for all.
        since: return only those from a time on, in epoch seconds.
        imports: whether those of imports are returned, which name thousands of memories.
        """

    async def last_extraction(self) -> float:
        """Return when rules or a model last extracted from turns, in epoch seconds; 0 if never."""

    async def undoable(self, scope: str, limit: int) -> list[UndoEntry]:
        """Return the newest changes of a scope that an undo may revert, newest first."""

    async def uses_of(self, scope: str, memory: str, *, zone: tzinfo | None) -> Uses:
        """Return how often a memory was of use. zone: in which days are counted."""

    async def useful(self, scope: str, *, min_uses: int, min_days: int, zone: tzinfo | None) -> list[tuple[str, Uses]]:
        """Return the memories that may qualify for MEMORY.md, the most used first.

        These are the memories with enough uses on enough days, and the important ones. Memories that were moved there
        before are left out.

        min_uses, min_days: the minimum numbers of uses and of days with a use.
        zone: the zone in which days are counted; None is the host's.
        """

    async def rated(self, scope: str, *, turns: Sequence[int] = (), since: float = 0.0) -> list[Rated]:
        """Return what a person said of memories in replies, oldest first.

        turns: only of the replies of these turns; () for all. since: only from a time on, in epoch seconds.
        """

    # Costs of models

    async def reserve(self, day: str, *, calls: int, tokens: int, wanted: int) -> bool:
        """Reserve a call and its tokens against the limits of a day. Past a limit, reserve nothing and return False.

        A reservation counts until `settle`, even if the process dies, so that the limits hold.

        calls, tokens: the limits of the day.
        wanted: the tokens that the call may use.
        """

    async def settle(self, day: str, *, reserved: int, input_tokens: int, output_tokens: int) -> None:
        """Replace a reservation with the tokens that the call used. Negative numbers never increase the budget."""

    async def spent(self, day: str) -> Spent:
        """Return the usage of a day."""

    # One-time notices of a scope, each delivered by exactly one process

    async def set_notice(self, scope: str, name: str) -> None:
        """Set a notice of a scope, until `clear_notice`. It is delivered once."""

    async def clear_notice(self, scope: str, name: str) -> None:
        """Clear a notice."""

    def may_be_due(self, scope: str, name: str) -> bool:
        """Return whether `take_notice` is worth a call, by what this process has set or last read."""

    async def look_for_notices(self) -> None:
        """Read the notices that other processes have set."""

    async def take_notice(self, scope: str, name: str) -> bool:
        """Return whether to deliver the notice now: it is set and no process has delivered it."""
