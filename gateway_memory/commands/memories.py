"""`/memory remember`, `list`, `coming`, `correct` and `pin`."""

import re
from collections.abc import Collection, Sequence
from datetime import date, timedelta
from functools import partial
from typing import Any, Final

from extractor import without_holes
from gateway_memory.capture.requests import memories_meant
from gateway_memory.capture.unkept import secret_note
from gateway_memory.commands.answers import NotDone, as_id, for_each, ids_in, phrase, shown
from gateway_memory.commands.command import CommandPorts
from gateway_memory.commands.names import says_more
from gateway_memory.commands.search import memory_row, search
from gateway_memory.context.coming import DAYS, READ, ahead_of
from gateway_memory.context.hits import told_hits
from gateway_memory.edge.content import as_query
from gateway_memory.ground.calendar import Span
from gateway_memory.ground.times import date_of, day_of
from gateway_memory.scope import Scope
from gateway_memory.sessions.session import Session
from gateway_memory.store.documents import MEMORY_FILE, is_writable
from gateway_memory.store.markdown import one_line
from recall import Hit, Stored

_LISTED: Final = 20
SUGGESTED: Final = 5
_POSSIBLE_SCORE: Final = 0.2
_BECOMES: Final = re.compile(r"\s*(?:改成|改为|换成|→|->|\b(?:in)?to\b)\s*")
_MOST_DAYS: Final = 366


_ASKED: Final = re.compile(r"[吗?？][\s!！.。~]*\Z")


async def remember(ports: CommandPorts, session: Session, rest: str) -> str:
    """Keep the words as a memory. A question is searched: 记得我的生日吗."""
    words = rest.strip()
    if not says_more(words):  # "keep recording"
        raise NotDone(phrase(session, "remember_usage"))
    if _ASKED.search(words):
        return await search(ports, session, words)
    kept, note = await ports.remember(session, words, ports.sender), secret_note(words)
    if kept is None:
        name = "remember_refused" if session.may_save else "remember_paused"
        raise NotDone(note or phrase(session, name))
    name = {"waits": "remember_waits", "skipped": "approved_known"}.get(kept.action, "approved")
    place = await of_id(ports, session, kept.id)
    text = place[1].entry.text if place else words
    return "\n".join(filter(None, (phrase(session, name, text=text, id=kept.id), note)))


async def list_memories(ports: CommandPorts, session: Session, rest: str) -> str:
    """Answer with the newest memories and their ids; with words, with those that have to do with them."""
    if says_more(rest):
        return await search(ports, session, rest)
    newest = await list_record(ports, session, "")
    if not newest["memories"]:
        return phrase(session, "list_empty")
    lines = [f"- {row['id']} · {row['at'][:10]} · {row['text']}" for row in newest["memories"]]
    return "\n".join([phrase(session, "list_title", shown=len(lines), total=newest["total"]), *lines])


async def list_record(ports: CommandPorts, session: Session, _: str) -> dict[str, Any]:
    """Return the newest memories as JSON values."""
    await ports.storage.follower.refresh(session.scope)
    rows = await ports.storage.recaller.newest(session.scope.key, _LISTED)
    total = await ports.storage.recaller.count(session.scope.key)
    hits = told_hits(map(Hit.of, rows), {session.scope.key: await ports.validity(session.scope)}, past=True)
    return {"memories": [memory_row(ports, hit) for hit in hits], "total": total}


async def coming(ports: CommandPorts, session: Session, rest: str) -> str:
    """Answer what comes in the next days, the soonest first. rest: how many days, two weeks where it is empty."""
    record = await coming_record(ports, session, rest)
    if not record["coming"]:
        return phrase(session, "coming_empty", days=record["days"])
    lines = [
        f"- {row['id']} · {Span(*map(date.fromisoformat, (row['day'], row['last']))).iso} {row['time']}".rstrip()
        + f" · {row['text']}"
        for row in record["coming"]
    ]
    return "\n".join([phrase(session, "coming_title", days=record["days"]), *lines])


async def coming_record(ports: CommandPorts, session: Session, rest: str) -> dict[str, Any]:
    """Return what comes as JSON values: each with its day, and its last day and its time where they are known.

    Raises:
        NotDone: that is no number of days.
    """
    words = rest.strip()
    if words and not (words.isdecimal() and 1 <= int(words) <= _MOST_DAYS):
        raise NotDone(phrase(session, "coming_usage"))
    days = int(words or DAYS)
    zone = ports.memory.zone
    today = date_of(ports.memory.now().timestamp(), zone)
    await ports.storage.follower.refresh(session.scope)
    rows = await ports.storage.recaller.coming(session.scope.key, today.isoformat(), READ)
    ahead = ahead_of((row.entry for row in rows), today, today + timedelta(days=days), lambda at: day_of(at, zone))
    listed = [
        {
            "id": each.id,
            "text": each.text,
            "day": each.days.first.isoformat(),
            "last": each.days.last.isoformat(),
            "time": each.time,
        }
        for each in ahead
    ]
    return {"days": days, "coming": listed}


async def correct(ports: CommandPorts, session: Session, rest: str) -> str:
    """Replace the text of a memory by the words behind its id. Of words without an id, say which memory they mean."""
    if not says_more(rest):
        raise NotDone(phrase(session, "correct_usage"))
    identity, _, typed = rest.strip().partition(" ")
    query = as_query(typed)
    text = one_line(without_holes(query.text))
    if query.secrets and not text:
        raise NotDone(secret_note(typed))
    if not await _is_id(ports, session, as_id(identity)):
        what, *becomes = _BECOMES.split(rest.strip(), maxsplit=1)
        possible = await suggested(ports, session, what, kinds=["memory"])
        wanted = "".join(becomes) or phrase(session, "correct_new")
        raise NotDone(which(session, "correct", possible, what, new=shown(wanted)))
    if not text:
        raise NotDone(phrase(session, "correct_usage"))
    scope, stored = await _named_by_id(ports, session, identity)
    if text == stored.entry.text:
        raise NotDone(phrase(session, "correct_same", text=text))
    new = await ports.changes.correct(scope, stored, text)
    return phrase(session, "corrected", id=new.id, text=new.text)


async def pin(ports: CommandPorts, session: Session, rest: str) -> str:
    """Move memories to MEMORY.md, which every session opens with. rest: their ids, or words that name one."""
    if not says_more(rest):
        raise NotDone(phrase(session, "pin_usage"))
    identities = ids_in(rest)
    if not any([await _is_id(ports, session, identity) for identity in identities]):
        near = await ports.storage.recaller.nearest(session.scope.key, as_query(rest).text, SUGGESTED)
        certain = memories_meant(rest, near).certain
        if certain is None:
            raise NotDone(which(session, "pin", await suggested(ports, session, rest, kinds=["memory"]), rest))
        identities = [certain.entry.id]
    return await for_each(identities, partial(_pin, ports, session))


async def _is_id(ports: CommandPorts, session: Session, word: str) -> bool:
    """Return whether a word is the id of a memory, or of one that was there."""
    known = await of_id(ports, session, word) is not None
    return known or bool(await ports.storage.ledger.states(session.scope.key, [word]))


async def _pin(ports: CommandPorts, session: Session, identity: str) -> str:
    scope, stored = await _named_by_id(ports, session, identity)
    if stored.file == MEMORY_FILE:
        raise NotDone(phrase(session, "pin_stands", text=stored.entry.text))
    if not await ports.changes.pin(scope, stored):
        raise NotDone(phrase(session, "pin_full"))
    return phrase(session, "pinned", text=stored.entry.text)


async def _named_by_id(ports: CommandPorts, session: Session, identity: str) -> tuple[Scope, Stored]:
    """Return the memory of an id, and the scope that has it.

    Raises:
        NotDone: there is none, or its file is never written to.
    """
    place = await of_id(ports, session, as_id(identity))
    if place is None:
        raise NotDone(phrase(session, "forget_unknown", id=shown(identity)))
    check_ours(session, place[1])
    await ports.check_theirs(session, place[0], identity=place[1].entry.id)
    return place


async def of_id(ports: CommandPorts, session: Session, identity: str) -> tuple[Scope, Stored] | None:
    """Return the memory or note of an id, and the scope that has it: the session's own, or one that it has joined."""
    for scope in session.who.scopes:
        await ports.storage.follower.refresh(scope)
        stored = await ports.storage.recaller.get(scope.key, identity)
        if stored is not None and stored.entry.kind != "episode":
            return scope, stored
    return None


async def suggested(
    ports: CommandPorts, session: Session, what: str, *, kinds: Collection[str] | None = None
) -> list[tuple[str, str]]:
    """Return the ids and texts of what a search finds for words that name nothing for certain."""
    hits = await ports.memory.search(session, what, limit=SUGGESTED, kinds=kinds)
    return [(hit.id, hit.text) for hit in hits if hit.related and hit.score >= _POSSIBLE_SCORE]


def which(session: Session, command: str, possible: Sequence[tuple[str, str]], what: str, **values: str) -> str:
    """Return the question which memory is meant, with how a command is called on one; or that there is none."""
    if not possible:
        return phrase(session, "forget_unknown", id=shown(what))
    if len(possible) == 1:
        ((identity, text),) = possible
        return phrase(session, f"{command}_this", id=identity, text=shown(text), **values)
    listed = (f"- {identity} · {text}" for identity, text in possible)
    return "\n".join([phrase(session, f"{command}_which", **values), *listed])


def check_ours(session: Session, stored: Stored) -> None:
    """Raise NotDone for what stands in a file that is never written to."""
    if stored.entry.kind != "item" or not is_writable(stored.file):
        raise NotDone(phrase(session, "forget_not_ours", id=stored.entry.id, file=stored.file))
