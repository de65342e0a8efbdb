"""Undoes the changes of a receipt. Files are restored byte for byte if nobody has edited them since."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gateway_memory.store.journal.ledger import UndoEntry
from gateway_memory.store.memory_record import UNWRITTEN, MemoryRecord
from gateway_memory.store.plan import Moved, Plan, ReceiptLine, Retired
from gateway_memory.store.reviewed import Settled


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryState:
    """The state of a memory and its replacement in the journal, and its text in the files ("" if gone)."""

    state: str
    replaced_by: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRefused:
    """The reason why the newest change is not undone: a person has edited everything that it added.

    edited: (the memory as stored, its current text or "" if deleted).
    earlier: a memory whose change can be undone instead, or None.
    """

    at: float
    edited: tuple[tuple[MemoryRecord, str], ...]
    earlier: MemoryRecord | None = None


def inverse(
    change: UndoEntry,
    states: Mapping[str, MemoryState],
    placed: Mapping[str, MemoryRecord],
    again: tuple[Settled, ...] = (),
    *,
    at: float,
    only: str = "",
) -> Plan | UndoRefused | None:
    """Return the plan that undoes a change, or None if nothing of it is active any more.

    Later edits by hand are kept.

    states: the current states of the change's memories.
    placed: the moved memories, as the files have them.
    again: the candidates that the change settled, and that wait again.
    at: epoch seconds.
    only: restrict the undo to this memory, with its replacement or what it replaced.
    """
    plan = change.plan
    # What an import recorded as replaced was never in these files.
    replaced = () if plan.stage == "import" else plan.retired
    gone = MemoryState(state="")
    present = [memory for memory in plan.added if states.get(memory.id, gone).state in ("active", "deleted")]
    added = [memory for memory in present if states[memory.id].text in (memory.text, "")]
    removed = {memory.id for memory in added}
    retired = [
        item
        for item in replaced
        if (state := states.get(item.memory.id)) and (state.state, state.replaced_by) == (item.state, item.replaced_by)
        if not item.replaced_by or item.replaced_by in removed
    ]
    if only:
        ids = {only} | {item.replaced_by for item in retired if item.memory.id == only}
        # Summaries that contained the forgotten text follow it.
        present = [memory for memory in present if memory.id in ids]
        added = [memory for memory in added if memory.id in ids or memory.type == "S"]
        retired = [
            item
            for item in retired
            if item.memory.id == only or item.replaced_by in ids - {""} or item.memory.type == "S"
        ]
    moved = [
        Moved(memory=replace(now, file=item.source), source=now.file)
        for item in plan.moved
        if (now := placed.get(item.memory.id)) and now.file == item.memory.file and only in ("", now.id)
    ]
    # A memory that was deleted by hand only matters for what it had replaced.
    freed = {item.replaced_by for item in retired}
    added = [memory for memory in added if states[memory.id].text or memory.id in freed]
    # The candidates wait again only if all that the change added is taken back.
    settled = () if only or len(added) < len(plan.added) else again
    if not added and not retired and not moved and not settled:
        edited = tuple((memory, states[memory.id].text) for memory in present)
        return UndoRefused(at=plan.at, edited=edited) if edited else None
    whole = (len(added), len(retired)) == (len(plan.added), len(replaced))
    whole = whole and [item.memory.text for item in moved] == [item.memory.text for item in plan.moved]
    outcomes = [ReceiptLine(turn=0, action="undone", reason="command", id=memory.id) for memory in added]
    outcomes += [ReceiptLine(turn=0, action="restored", reason="command", id=item.memory.id) for item in retired]
    outcomes += [ReceiptLine(turn=0, action="restored", reason="command", id=item.memory.id) for item in moved]
    outcomes += [ReceiptLine(turn=0, action="waits", reason="undone", id=each.id) for each in settled]
    return Plan(
        scope=plan.scope,
        folder=plan.folder,
        stage="undo",
        at=at,
        added=tuple(replace(item.memory) for item in retired if item.memory.category not in UNWRITTEN),
        retired=(
            # What waits for review again is not withheld where it was said.
            *(Retired(memory=memory, state="retracted" if settled else "undone") for memory in added),
            # It was never a memory and becomes none: it is only no longer withheld.
            *(replace(item, state="expired") for item in retired if item.memory.category in UNWRITTEN),
        ),
        moved=tuple(moved),
        outcomes=tuple(outcomes),
        restores=change.patches if whole else (),
        settled=settled,
    )
