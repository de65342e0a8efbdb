"""The opening for an editor: the same text that a gateway's session gets, built without an event loop."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta, tzinfo
from itertools import zip_longest
from pathlib import Path
from typing import Any

from extractor import LEAST_TELLING
from gateway_memory.context.about_user import (
    BEGINNING,
    LEAST_RELATED,
    PASSAGES,
    OpeningMemory,
    last_session_of,
    opening_memories,
    own_words_of,
    profile,
)
from gateway_memory.context.coming import MOST, ahead_of
from gateway_memory.context.memory_block import LineFacts
from gateway_memory.context.opening_text import Material, Opening, compose, lines_that_hold, queries_of
from gateway_memory.errors import StoreError
from gateway_memory.ground.times import date_of, day_of
from gateway_memory.hooks.state import settings_of, zone_of
from gateway_memory.hooks.words import lines_of, told_lines
from gateway_memory.scope import OWNER_KEY, Scope
from gateway_memory.store.disk.own import NotOwnError, Owned, open_own
from gateway_memory.store.disk.records import DiskRecords
from gateway_memory.store.disk.workspace import INDEX_FILE
from gateway_memory.store.documents import MEMORY_FILE, text_from
from gateway_memory.store.journal.episodes import Episode, Quotable, latest_of, quotable_of
from gateway_memory.store.journal.in_place import JournalInPlace, weights_of
from gateway_memory.store.journal.withheld import told_record
from gateway_memory.store.markdown import Block, parse
from gateway_memory.store.summaries import SESSIONS_FILE
from gateway_memory.store.validity import Today, Validity
from gateway_memory.store.withheld import Withheld
from recall import Entry, Line, RecallError, peek, related


def opening(workspace: Path, session_id: str, config: Path | None, now: float, joined: Scope | None = None) -> Opening:
    """Return the opening of the owner's next session, and its memories; "" if openings are off.

    now: epoch seconds. joined: the project that the session has joined.
    """
    settings = settings_of(workspace, config)
    wanted = settings["opening"]
    if not wanted["enabled"]:
        return "", []
    zone = zone_of(settings)
    memory = _memory(workspace)
    passages = _passages(workspace) if settings["episodes"]["enabled"] else []
    known = _by_journal(workspace, session_id, [block.id for block in memory], passages, Today(now, zone))
    lines = told_lines(lines_of(workspace, zone), known.validity)
    others = [line for line in lines if line.file != MEMORY_FILE]
    shared = told_lines(lines_of(workspace, zone, joined), known.validity) if joined else []

    def day(at: float) -> str:
        return day_of(at, zone)

    day_now = date_of(now, zone)
    days = wanted["comingDays"]
    coming = ahead_of(lines, day_now, day_now + timedelta(days=days), day)[:MOST] if days else []
    about = profile(others, passages, known.sides, day) if wanted["profileTokens"] else []
    hits = _find_related(lines, queries_of(known.last), wanted["maxFound"], now, zone)
    return compose(
        Material(
            memory=lines_that_hold(memory, known.lines, known.validity),
            known=known.lines,
            about=about,
            coming=coming,
            last=known.last,
            last_session=last_session_of(known.first, known.quotable, day) if known.quotable else None,
            related=hits,
            joined=[(joined.kind, _shared(shared, day))] if joined else (),
        ),
        max_tokens=wanted["maxTokens"],
        profile_tokens=wanted["profileTokens"],
        include_memory=wanted["includeMemoryMd"],
        left_out="left_out_editor",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Journal:
    """What the journal holds, without forgotten text.

    last: the last session's record. lines: what is known of lines, by id. sides: the user's words that may be quoted,
    by turn. first: the first exchanges of the last session. quotable: what may be quoted of them. validity: what holds.
    """

    validity: Validity

    last: Mapping[str, Any] | None = None
    lines: Mapping[str, LineFacts] = field(default_factory=dict)
    sides: Mapping[int, str] = field(default_factory=dict)
    first: Sequence[Episode] = ()
    quotable: Quotable | None = None


def _by_journal(
    workspace: Path, session_id: str, memory: Sequence[str], passages: Sequence[Entry], today: Today
) -> _Journal:
    """Return what the journal holds; if it can't be read, the last session record as it is.

    memory: the ids of the lines of MEMORY.md.
    """
    last = DiskRecords(workspace / SESSIONS_FILE).last()
    with contextlib.suppress(StoreError, OSError):
        if (workspace / "journal.sqlite").exists():
            with JournalInPlace.open(workspace) as journal, journal.transaction() as database:
                first = latest_of(database, OWNER_KEY, session_id, BEGINNING)
                turns = [*(passage.turn for passage in passages), *(episode.turn for episode in first)]
                quotable = quotable_of(database, OWNER_KEY, turns, today)
                return _Journal(
                    validity=quotable.validity,
                    last=last and told_record(database, OWNER_KEY, last, today),
                    lines={
                        identity: LineFacts(
                            category=category, high=importance == "high", at=at, day=day_of(at, today.zone)
                        )
                        for identity, category, importance, at in weights_of(database, memory)
                    },
                    sides=own_words_of(quotable),
                    first=first,
                    quotable=quotable,
                )
    return _Journal(last=last, validity=Validity(Withheld(()), today=today))


def _memory(workspace: Path) -> list[Block]:
    try:
        with open_own(Owned(workspace), MEMORY_FILE) as stream:
            return parse(text_from(stream.read()), file=MEMORY_FILE)
    except (FileNotFoundError, NotOwnError):
        return []


def _passages(workspace: Path) -> list[Entry]:
    """Return the owner's most significant passages; none if there is no index of this version."""
    with contextlib.suppress(RecallError), peek(workspace / INDEX_FILE) as index:
        return index.telling(OWNER_KEY, LEAST_TELLING, PASSAGES)
    return []


def _shared(lines: Sequence[Line], day: Callable[[float], str]) -> list[OpeningMemory]:
    """Return what is known in a shared scope, the newest first, without orders to the assistant."""
    if not lines:  # as for most hooks, which do not need the rules
        return []
    from extractor import permitted_text

    newest = sorted(lines, key=lambda line: -line.at)
    permitted = [line for line in newest if permitted_text(line.text, by_owner=False) == line.text]
    return opening_memories(permitted, day)


def _find_related(
    lines: Sequence[Line], queries: Sequence[str], limit: int, now: float, zone: tzinfo | None
) -> list[OpeningMemory]:
    """Return the memories that are related to what the last session left open, one for each in turn."""
    searches = [related(lines, query, limit=limit, min_score=LEAST_RELATED, now=now, zone=zone) for query in queries]
    in_turn = {hit[1].id: hit[1] for hits in zip_longest(*searches) for hit in hits if hit}
    return opening_memories(list(in_turn.values())[:limit], lambda at: day_of(at, zone))
