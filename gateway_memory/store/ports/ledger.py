"""What is known of memories and money: what became of each memory, what undo needs, what models cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final, Protocol

from gateway_memory.store.patch import Patch
from gateway_memory.store.plan import Plan, Receipt
from gateway_memory.store.record import MemoryRecord
from gateway_memory.store.withheld import Withheld

__all__ = ["MEMORY_FULL", "HistoryLine", "Ledger", "Spent", "UndoEntry", "Uses"]

MEMORY_FULL: Final = "memory_md_full"
"""The one-time notice of a scope whose MEMORY.md takes no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a day's model calls took; `reserved` tokens belong to calls that have not come back."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reserved: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One thing that became of a memory; `other` is the memory that it replaced, or that replaced it."""

    at: float
    event: str
    other: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoEntry:
    """What a receipt changed, and how its documents were edited."""

    receipt: int
    plan: Plan
    patches: tuple[Patch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """How often a memory was recalled and said again, and on how many days one of the two."""

    recalled: int = 0
    repeated: int = 0
    days: int = 0


class Ledger(Protocol):
    """Every call may raise StoreError; then nothing was changed. Times in epoch seconds, days as YYYY-MM-DD."""

    # Memories

    async def memories(self, scope: str, ids: Sequence[str]) -> dict[str, MemoryRecord]:
        """Return what is known of these memories, by id."""

    async def of_turns(self, scope: str, turns: Sequence[int]) -> list[MemoryRecord]:
        """Return the memories that stand and were read from these turns."""

    async def stages(self, scope: str) -> list[MemoryRecord]:
        """Return the stage summaries that stand, each with its session."""

    async def expired(self, scope: str, day: str) -> list[str]:
        """Return the ids of the memories that stand and whose last day was before `day`."""

    async def states(self, scope: str, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return (state, replaced by) of each of these memories that is known."""

    async def withheld(self, scope: str) -> Withheld:
        """Return what was forgotten in a scope and is not remembered again."""

    async def history(self, scope: str, identity: str) -> list[HistoryLine]:
        """Return what became of a memory, oldest first."""

    async def receipts(self, *, limit: int, after: int = 0, turn: int = 0, scope: str = "") -> list[Receipt]:
        """Return the newest receipts numbered above `after`, newest first, with the texts of the memories they name.

        turn, scope: only those of it; 0 and "" for all.
        """

    async def last_extraction(self) -> float:
        """Return when turns were last read, by rules or by a model; 0 if never."""

    async def undoable(self, scope: str, limit: int) -> list[UndoEntry]:
        """Return the newest changes of a scope that an undo may take back, newest first."""

    async def useful(self, scope: str, *, min_uses: int, min_days: int, zone: tzinfo | None) -> list[tuple[str, Uses]]:
        """Return the memories that may have earned a place in MEMORY.md, the most used first.

        Those of use so often on so many days, and the important ones; none that was moved there before.
        zone: in which a day is counted; None is the host's.
        """

    # What models cost

    async def reserve(self, day: str, *, calls: int, tokens: int, wanted: int) -> bool:
        """Count a call against a day's limits, with the tokens that it may take; False, and nothing, past a limit.

        What is reserved stays counted until `settle`, also when the process dies: rather too little is spent.
        """

    async def settle(self, day: str, *, reserved: int, input_tokens: int, output_tokens: int) -> None:
        """Count what a call took in place of what was reserved for it. No number takes a budget back."""

    async def spent(self, day: str) -> Spent:
        """Return what was spent on a day."""

    # One-time notices of a scope, each delivered by exactly one process

    async def set_notice(self, scope: str, name: str) -> None:
        """Note that something holds of a scope, until `clear_notice`; it is told once."""

    async def clear_notice(self, scope: str, name: str) -> None:
        """Note that it holds no longer."""

    def may_be_due(self, scope: str, name: str) -> bool:
        """Return whether `take_notice` is worth a call: by what this process has set, or found when it looked last."""

    async def look_for_notices(self) -> None:
        """Take note of what other processes have set."""

    async def take_notice(self, scope: str, name: str) -> bool:
        """Return whether it is to be told now: it holds and nobody has told it yet."""
