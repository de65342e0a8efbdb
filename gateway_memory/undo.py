"""Taking back what a receipt changed: the files as they were, byte for byte where nobody has edited them since."""

from collections.abc import Mapping
from dataclasses import replace

from gateway_memory.plan import Memory, Moved, Outcome, Plan, Retired
from gateway_memory.store.ledger import Change

__all__ = ["inverse"]


def inverse(
    change: Change, states: Mapping[str, tuple[str, str]], standing: Mapping[str, Memory], *, at: float, only: str = ""
) -> Plan | None:
    """Return the plan that takes a change back, None where nothing of it stands any more.

    states: (state, replaced by) of the change's memories now. standing: those that were moved, as they stand now. only:
    the one memory that is meant, with what it replaced or was replaced by.
    """
    plan = change.plan
    added = [memory for memory in plan.added if states.get(memory.id, ("", ""))[0] == "active"]
    gone = {memory.id for memory in added}
    retired = [
        item
        for item in plan.retired
        if states.get(item.memory.id) == (item.state, item.replaced_by)
        and (not item.replaced_by or item.replaced_by in gone)
    ]
    if only:
        meant = {only} | {item.replaced_by for item in retired if item.memory.id == only}
        added = [memory for memory in added if memory.id in meant]
        retired = [item for item in retired if item.memory.id == only or item.replaced_by in meant - {""}]
    moved = [
        Moved(memory=replace(now, file=item.source), source=now.file)
        for item in plan.moved
        if (now := standing.get(item.memory.id)) and now.file == item.memory.file and only in ("", now.id)
    ]
    if not added and not retired and not moved:
        return None
    whole = (len(added), len(retired)) == (len(plan.added), len(plan.retired))
    whole = whole and [item.memory.text for item in moved] == [item.memory.text for item in plan.moved]
    outcomes = [Outcome(turn=0, action="undone", reason="command", id=memory.id) for memory in added]
    outcomes += [Outcome(turn=0, action="restored", reason="command", id=item.memory.id) for item in retired]
    outcomes += [Outcome(turn=0, action="restored", reason="command", id=item.memory.id) for item in moved]
    return Plan(
        scope=plan.scope,
        folder=plan.folder,
        stage="undo",
        at=at,
        added=tuple(replace(item.memory) for item in retired),
        retired=tuple(Retired(memory=memory, state="undone") for memory in added),
        moved=tuple(moved),
        outcomes=tuple(outcomes),
        restores=change.patches if whole else (),
    )
