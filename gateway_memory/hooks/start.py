"""The opening for an editor: the same text that a gateway's session gets, built without an event loop."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from gateway_memory.context.opening_memory import Known
from gateway_memory.context.opening_text import Material, Opening, OpeningMemory, compose, days_back, query_of
from gateway_memory.errors import StoreError
from gateway_memory.hooks.state import settings_of, zone_of
from gateway_memory.hooks.words import best, lines_of
from gateway_memory.runtime.clock import day_of, local_time
from gateway_memory.store.journal.in_place import JournalInPlace
from gateway_memory.store.markdown import Block, parse
from gateway_memory.store.summaries import SESSIONS_FILE, last_record

__all__ = ["opening"]

_MIN_SHARE: Final = 0.35
"""The minimum share of the last session's words that an older memory must contain to be shown."""


def opening(workspace: Path, config: Path | None, now: float) -> Opening:
    """Return the opening of the owner's next session, and its memories; "" if openings are off. now: epoch seconds."""
    settings = settings_of(workspace, config)
    wanted = settings["opening"]
    if not wanted["enabled"]:
        return "", []
    zone = zone_of(settings)
    memory = _blocks(workspace, "MEMORY.md")
    last, known = _by_journal(workspace, [block.id for block in memory])
    query = query_of(last)
    lines = lines_of(workspace, zone, now) if query and wanted["maxFound"] else []
    return compose(
        Material(
            memory=memory,
            known=known,
            last=last,
            days=[
                (day, _blocks(workspace, f"memory/{day}.md"))
                for day in days_back(local_time(now, zone), wanted["days"])
            ],
            found=[
                OpeningMemory(id=line.id, day=day_of(line.at, zone), text=line.text)
                for line in best(lines, query, limit=wanted["maxFound"], min_score=_MIN_SHARE)
            ],
        ),
        max_tokens=wanted["maxTokens"],
        max_facts=wanted["maxFacts"],
        include_memory=wanted["includeMemoryMd"],
        left_out="left_out_editor",
    )


def _by_journal(workspace: Path, memory: Sequence[str]) -> tuple[Mapping[str, Any] | None, Mapping[str, Known]]:
    """Return the last session's record, without forgotten text if the journal can be read, and what it knows of lines.

    memory: the ids of the lines of MEMORY.md.
    """
    last, known = last_record(workspace / SESSIONS_FILE), {}
    with contextlib.suppress(StoreError, OSError):
        if (last or memory) and (workspace / "journal.sqlite").exists():
            with JournalInPlace.open(workspace) as journal:
                last = last and journal.withheld().record(last)
                known = {
                    identity: Known(category=category, high=importance == "high", at=at)
                    for identity, category, importance, at in journal.weights(memory)
                }
    return last, known


def _blocks(workspace: Path, file: str) -> list[Block]:
    try:
        return parse((workspace / file).read_text("utf-8", "surrogateescape"), file=file)
    except FileNotFoundError:
        return []
