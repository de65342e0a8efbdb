"""`/memory forget`: a memory, an exchange or a session, by its id or by words; and "forget that …" in plain words."""

import re
from collections.abc import Sequence
from typing import Final

from extractor import has_han
from gateway_memory.capture.forgetting import named
from gateway_memory.commands.answers import NotDone, as_id, phrase, shown
from gateway_memory.commands.memories import check_ours
from gateway_memory.commands.ports import CommandPorts
from gateway_memory.context.finder import as_query
from gateway_memory.scope import Scope
from gateway_memory.session import Session
from gateway_memory.store.withheld import Forgotten, Withheld
from gateway_memory.sync.episodes import turn_of
from recall import Hit, Stored

__all__ = ["forget", "forget_named"]

_CANDIDATES: Final = 5
_NEAREST: Final = 8
_EXCHANGES: Final = 20
"""The exchanges that are looked through for the words of a request."""
_POSSIBLE_SCORE: Final = 0.2
_SESSION: Final = frozenset({"session", "会话"})
_LAST: Final = frozenset({"last", "上次", "上一次"})
_CATCH_UP_SECONDS: Final = 2.0
_WORD: Final = re.compile(r"[^\W_]+")


async def forget(ports: CommandPorts, session: Session, rest: str) -> str:
    """Forget what an id names: a memory, an exchange or a session; without such an id, what the words name."""
    what, identity = rest.strip(), as_id(rest)
    if not identity:
        raise NotDone(phrase(session, "forget_usage"))
    if what.split(maxsplit=1)[0].lower() in _SESSION:
        answer = await _forget_session(ports, session, what.partition(" ")[2].strip())
        if answer is not None:
            return answer
    await ports.storage.follower.refresh(session.scope)
    stored = await ports.storage.recaller.get(session.scope.key, identity)
    if stored is not None and stored.entry.kind != "episode":
        check_ours(session, stored)
        return await _forget_memory(ports, session, stored)
    if turn := turn_of(identity):
        answer = await _forget_exchange(ports, session, turn)
        if answer is None:
            raise NotDone(phrase(session, "forget_unknown", id=shown(what)))
        return answer
    answer = await forget_named(ports, session, what)  # words may look like an id
    if answer is None:
        raise NotDone(await _candidates(ports, session, what) or phrase(session, "forget_unknown", id=shown(what)))
    return answer


async def forget_named(ports: CommandPorts, session: Session, what: str) -> str | None:
    """Forget what the words name for certain: a memory, or the one exchange that has them; None if they name nothing.

    Raises:
        NotDone: several memories or exchanges are possible; the text lists them.
    """
    await ports.storage.follower.refresh(session.scope)
    near = await ports.storage.recaller.nearest(session.scope.key, as_query(what).text, _NEAREST)
    found = named(what, near)
    said = await _exchanges_with(ports, session, what)
    meant = [found.certain] if found.certain else list(found.possible)
    said = await _still_saying(ports, session.scope, what, meant, said)
    if found.certain and not said:
        return await _forget_memory(ports, session, found.certain, reason="asked")
    turns = {hit.turn for hit in said}
    if len(turns) == 1 and turns.issuperset(stored.entry.turn for stored in meant):
        return await _forget_exchange(ports, session, turns.pop())  # with the memory that was learnt from it, if any
    choices = [*((stored.entry.id, stored.entry.text) for stored in meant), *_choices(said)]
    if not choices:
        return None
    raise NotDone(_which(session, choices))


async def _forget_memory(ports: CommandPorts, session: Session, stored: Stored, *, reason: str = "command") -> str:
    gone = await ports.changes.forgetter.memory(session.scope, stored, reason=reason)
    return "\n".join(phrase(session, "forgotten", id=memory.id, text=memory.text) for memory in gone)


async def _forget_exchange(ports: CommandPorts, session: Session, turn: int) -> str | None:
    said = await ports.changes.forgetter.exchange(session.scope, turn)
    return None if said is None else phrase(session, "forgotten_exchange", text=shown(said))


async def _forget_session(ports: CommandPorts, session: Session, which: str) -> str | None:
    """Forget this session, the last one before it, or that of an id or a key; None for words that name none."""
    session_id = await _session_of(ports, session, which)
    if not session_id and len(which.split()) != 1:
        return None
    if session_id:
        await ports.caught_up(session_id, _CATCH_UP_SECONDS)
    done = await ports.changes.forgetter.session(session.scope, session_id) if session_id else None
    if done is None:
        raise NotDone(phrase(session, "forget_session_none", id=shown(which or session_id)))
    exchanges, memories = done
    return phrase(session, "forgotten_session", id=session_id, exchanges=exchanges, memories=memories)


async def _session_of(ports: CommandPorts, session: Session, which: str) -> str:
    scope, storage = session.scope, ports.storage
    if which.lower() in _LAST or (not which and session.beside):  # a shell has no session of its own
        latest = await storage.episodes.latest(scope.key, session.session_id, 1)
        return latest[0].session_id if latest else ""
    if not which:
        return session.session_id
    if found := await storage.episodes.session_of(scope.key, which):
        return found
    known = await storage.sessions.find(which)
    if known and known.scope == scope.key:
        return which
    rows = await storage.records.read(scope)
    return next((str(row["session_id"]) for row in rows if which in (row.get("id"), row["session_id"])), "")


async def _exchanges_with(ports: CommandPorts, session: Session, what: str) -> list[Hit]:
    """Return the exchanges in which the words of a request stand, best first, one hit each."""
    hits = await ports.memory.search(session, what, limit=_EXCHANGES, kinds=["episode"])
    return list({hit.turn: hit for hit in reversed(hits) if _has(hit.text, what)}.values())[::-1]


async def _still_saying(
    ports: CommandPorts, scope: Scope, what: str, memories: Sequence[Stored], said: Sequence[Hit]
) -> list[Hit]:
    """Return those exchanges that would still tell the words if these memories were forgotten."""
    known = await ports.storage.ledger.memories(scope.key, [stored.entry.id for stored in memories])
    texts = {text for each in known.values() for text in (each.quote,)} | {stored.entry.text for stored in memories}
    at = ports.memory.now().timestamp()
    hidden = Withheld(Forgotten(text=text, at=at) for text in texts)
    sources = {stored.entry.turn for stored in memories}
    told = await ports.storage.episodes.told(scope.key, [hit.turn for hit in said])
    found: list[Hit] = []
    for hit in said:
        sides = told.sides(hit.turn, past=True) or ("", "")
        words = hidden.words_of(*sides)
        rest = tuple(hidden.cut(side, words=words) for side in sides)
        if _has(" ".join(rest), what) and not (rest == sides and hit.turn in sources):
            found.append(hit)
    return found


async def _candidates(ports: CommandPorts, session: Session, what: str) -> str | None:
    """List what a search finds for words that name nothing for certain."""
    hits = await ports.memory.search(session, what, limit=_CANDIDATES)
    found = [(hit.id, hit.text) for hit in hits if hit.related and hit.score >= _POSSIBLE_SCORE]
    return _which(session, found) if found else None


def _which(session: Session, possible: Sequence[tuple[str, str]]) -> str:
    if len(possible) == 1:
        ((identity, text),) = possible
        return phrase(session, "forget_this", id=identity, text=shown(text))
    return "\n".join([phrase(session, "forget_which"), *(f"- {identity} · {text}" for identity, text in possible)])


def _choices(hits: Sequence[Hit]) -> list[tuple[str, str]]:
    return [(f"e{hit.turn}", shown(hit.text)) for hit in hits[:_CANDIDATES]]


def _has(text: str, what: str) -> bool:
    """Return whether words stand in a text, whatever their case and punctuation."""
    there, words = (" ".join(_WORD.findall(part.casefold())) for part in (text, what))
    return bool(words) and (words in there if has_han(words) else f" {words} " in f" {there} ")
