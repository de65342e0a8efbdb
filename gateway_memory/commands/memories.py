"""`/memory list`, `correct` and `pin`."""

from collections.abc import Sequence
from typing import Any, Final

from extractor import without_holes
from gateway_memory.capture.masked import secret_note
from gateway_memory.commands.answers import NotDone, as_id, iso_time, phrase, shown
from gateway_memory.commands.ports import CommandPorts
from gateway_memory.context.finder import as_query
from gateway_memory.runtime.clock import day_of
from gateway_memory.session import Session
from gateway_memory.store.documents import MEMORY_FILE, is_writable
from gateway_memory.store.markdown import one_line
from recall import Entry, Hit, Stored

__all__ = ["check_ours", "correct", "list_memories", "list_record", "memory_row", "pin"]

_LISTED: Final = 20


async def list_memories(ports: CommandPorts, session: Session, _: str) -> str:
    """Answer with the newest memories and their ids."""
    rows, total = await _newest(ports, session)
    if not rows:
        return phrase(session, "list_empty")
    zone = ports.memory.zone
    lines = [f"- {row.entry.id} · {day_of(row.entry.at, zone)} · {row.entry.text}" for row in rows]
    return "\n".join([phrase(session, "list_title", shown=len(rows), total=total), *lines])


async def list_record(ports: CommandPorts, session: Session, _: str) -> dict[str, Any]:
    """Return the newest memories as JSON values."""
    rows, total = await _newest(ports, session)
    return {"memories": [memory_row(ports, row.entry, row.file) for row in rows], "total": total}


def memory_row(ports: CommandPorts, memory: Entry | Hit, file: str) -> dict[str, Any]:
    """Return a memory as JSON values."""
    return {
        "id": memory.id,
        "text": memory.text,
        "at": iso_time(memory.at, ports.memory.zone),
        "type": memory.type,
        "category": memory.category,
        "file": file,
    }


async def correct(ports: CommandPorts, session: Session, rest: str) -> str:
    """Replace the text of a memory by the words behind its id."""
    identity, _, typed = rest.strip().partition(" ")
    query = as_query(typed)
    text = one_line(without_holes(query.text))
    if query.secrets and not text:
        raise NotDone(secret_note(typed))
    if not text:
        raise NotDone(phrase(session, "correct_usage"))
    stored = await _named_by_id(ports, session, identity)
    if text == stored.entry.text:
        raise NotDone(phrase(session, "correct_same", text=text))
    new = await ports.changes.correct(session.scope, stored, text)
    return phrase(session, "corrected", id=new.id, text=new.text)


async def pin(ports: CommandPorts, session: Session, identity: str) -> str:
    """Move a memory to MEMORY.md, which every session opens with."""
    if not identity.strip():
        raise NotDone(phrase(session, "pin_usage"))
    stored = await _named_by_id(ports, session, identity)
    if stored.file == MEMORY_FILE:
        raise NotDone(phrase(session, "pin_stands", text=stored.entry.text))
    if not await ports.changes.pin(session.scope, stored):
        raise NotDone(phrase(session, "pin_full"))
    return phrase(session, "pinned", text=stored.entry.text)


async def _named_by_id(ports: CommandPorts, session: Session, identity: str) -> Stored:
    """Return the memory of an id.

    Raises:
        NotDone: there is none, or its file is never written to.
    """
    await ports.storage.follower.refresh(session.scope)
    stored = await ports.storage.recaller.get(session.scope.key, as_id(identity))
    if stored is None or stored.entry.kind == "episode":
        raise NotDone(phrase(session, "forget_unknown", id=shown(identity)))
    check_ours(session, stored)
    return stored


def check_ours(session: Session, stored: Stored) -> None:
    """Raise NotDone for what stands in a file that is never written to."""
    if stored.entry.kind != "item" or not is_writable(stored.file):
        raise NotDone(phrase(session, "forget_not_ours", id=stored.entry.id, file=stored.file))


async def _newest(ports: CommandPorts, session: Session) -> tuple[Sequence[Stored], int]:
    await ports.storage.follower.refresh(session.scope)
    rows = await ports.storage.recaller.newest(session.scope.key, _LISTED)
    return rows, await ports.storage.recaller.count(session.scope.key)
