"""`/memory forget` and `clear`: a memory, an exchange or a session, by its id or by words."""

import re
import shlex
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from extractor import has_han
from gateway_memory.capture.requests import memories_meant
from gateway_memory.commands.answers import NotDone, as_id, for_each, ids_in, phrase, shown
from gateway_memory.commands.command import CommandPorts
from gateway_memory.commands.memories import SUGGESTED, check_ours, of_id, suggested, which
from gateway_memory.commands.names import says_more
from gateway_memory.edge.content import as_query
from gateway_memory.ground import CATCH_UP_SECONDS
from gateway_memory.ground.times import local_time
from gateway_memory.scope import Scope
from gateway_memory.sessions.session import Session
from gateway_memory.store.withheld import Forgotten, Withheld
from gateway_memory.sync.episodes import turn_of
from recall import Hit, Stored

_NEAREST: Final = 8
_EXCHANGES: Final = 20
"""The exchanges that are looked through for the words of a request."""
_SESSION: Final = frozenset({"session", "会话"})
_LAST: Final = frozenset({"last", "上次", "上一次"})
_WORD: Final = re.compile(r"[^\W_]+")
_ID: Final = re.compile(r"[a-z2-7]{8}")
_MOST_IDS: Final = 50


async def forget(ports: CommandPorts, session: Session, rest: str) -> str:
    """Forget what ids name: memories, exchanges or a session; without such an id, what the words name."""
    if several := await _several(ports, session, rest):
        return await for_each(several, partial(forget, ports, session))
    what, identity = rest.strip(), as_id(rest)
    if not identity:
        raise NotDone(phrase(session, "forget_usage"))
    if what.split(maxsplit=1)[0].lower() in _SESSION:
        answer = await _forget_session(ports, session, what.partition(" ")[2].strip())
        if answer is not None:
            return answer
    if place := await of_id(ports, session, identity):
        scope, stored = place
        check_ours(session, stored)
        return await _forget_memory(ports, session, scope, stored)
    if turn := turn_of(identity):
        answer = await _forget_exchange(ports, session, turn)
        if answer is None:
            raise NotDone(phrase(session, "forget_unknown", id=shown(what)))
        return answer
    answer = await forget_named(ports, session, what)  # words may look like an id
    if answer is None:
        possible = await suggested(ports, session, what)
        raise NotDone(which(session, "forget", possible, what))
    return answer


async def _several(ports: CommandPorts, session: Session, rest: str) -> list[str]:
    """Return the ids in what is typed, if there are several; none for words. A known one makes ids of the others."""
    identities = ids_in(rest)
    if not 1 < len(identities) <= _MOST_IDS:
        return []
    if all(map(turn_of, identities)):
        return identities
    known = [await of_id(ports, session, identity) for identity in identities if _ID.fullmatch(identity)]
    return identities if any(known) else []


async def forget_named(ports: CommandPorts, session: Session, what: str) -> str | None:
    """Forget what the words name for certain: a memory, or the one exchange that has them; None if they name nothing.

    Raises:
        NotDone: several memories or exchanges are possible; the text lists them.
    """
    await ports.storage.follower.refresh(session.scope)
    near = await ports.storage.recaller.nearest(session.scope.key, as_query(what).text, _NEAREST)
    others = await ports.not_theirs(session.scope, [item.stored.entry.id for item in near])
    memories = memories_meant(what, [item for item in near if item.stored.entry.id not in others])
    if others and not memories.possible and memories_meant(what, near).certain:
        raise NotDone(phrase(session, "not_said_by_you"))
    hits = await _theirs(ports, session, await ports.memory.search(session, what, limit=_EXCHANGES, kinds=["episode"]))
    exchanges = list({hit.turn: hit for hit in reversed(hits) if _has(hit.text, what)}.values())[::-1]
    meant = [memories.certain] if memories.certain else list(memories.possible)
    exchanges = await _still_saying(ports, session.scope, what, meant, exchanges)
    if memories.certain and not exchanges:
        return await _forget_memory(ports, session, session.scope, memories.certain, reason="asked")
    turns = {hit.turn for hit in exchanges}
    if len(turns) == 1 and turns.issuperset(stored.entry.turn for stored in meant):
        return await _forget_exchange(ports, session, turns.pop())  # with the memory that was learnt from it, if any
    choices = [*((stored.entry.id, stored.entry.text) for stored in meant), *_choices(exchanges)]
    if not choices:
        return await _forget_joined(ports, session, what)
    raise NotDone(which(session, "forget", choices, what))


async def _theirs(ports: CommandPorts, session: Session, hits: Iterable[Hit]) -> list[Hit]:
    """Return the exchanges that the sender may forget: in a room, their own."""
    if ports.sender.is_host or not session.scope.kind.is_shared:
        return list(hits)
    known = (await ports.storage.episodes.quotable(session.scope.key, [hit.turn for hit in hits])).episodes
    return [hit for hit in hits if hit.turn in known and ports.sender.may_change(known[hit.turn].speaker)]


async def forget_last(ports: CommandPorts, session: Session) -> str | None:
    """Forget the last exchange of the session, with what was learnt from it; None if there is none."""
    return await _forget_exchange(ports, session, session.last_turn) if session.last_turn else None


async def _forget_joined(ports: CommandPorts, session: Session, what: str) -> str | None:
    """Forget what the words name for certain in a shared scope that the session has joined; None for nothing."""
    for scope in session.who.joined:
        await ports.storage.follower.refresh(scope)
        near = await ports.storage.recaller.nearest(scope.key, as_query(what).text, _NEAREST)
        if certain := memories_meant(what, near).certain:
            return await _forget_memory(ports, session, scope, certain, reason="asked")
    return None


async def _forget_memory(
    ports: CommandPorts, session: Session, scope: Scope, stored: Stored, *, reason: str = "command"
) -> str:
    await ports.check_theirs(session, scope, stored.entry.id)
    removed = await ports.changes.forgetter.memory(scope, stored, reason=reason)
    return "\n".join(phrase(session, "forgotten", id=memory.id, text=memory.text) for memory in removed)


async def _forget_exchange(ports: CommandPorts, session: Session, turn: int) -> str | None:
    said = (await ports.storage.episodes.quotable(session.scope.key, [turn])).episodes.get(turn)
    if said and session.scope.kind.is_shared and not ports.sender.may_change(said.speaker):
        raise NotDone(phrase(session, "not_said_by_you"))
    text = await ports.changes.forgetter.exchange(session.scope, turn)
    return None if text is None else phrase(session, "forgotten_exchange", text=shown(text))


async def _forget_session(ports: CommandPorts, session: Session, which: str) -> str | None:
    """Forget this session, the last one before it, or that of an id or a key; None for words that name none."""
    ports.check_host(session)
    session_id = await _session_of(ports, session, which)
    if not session_id and len(which.split()) != 1:
        return None
    if session_id:
        await ports.caught_up(session_id, CATCH_UP_SECONDS)
    done = await ports.changes.forgetter.session(session.scope, session_id) if session_id else None
    if done is None:
        raise NotDone(phrase(session, "forget_session_none", id=shown(which or session_id)))
    exchanges, memories = done
    return phrase(session, "forgotten_session", id=session_id, exchanges=exchanges, memories=memories)


async def _session_of(ports: CommandPorts, session: Session, which: str) -> str:
    scope, storage = session.scope, ports.storage
    if which.lower() in _LAST or (not which and session.detached):  # a shell has no session of its own
        latest = await storage.episodes.latest(scope.key, session.session_id, 1)
        return latest[0].session_id if latest else ""
    if not which:
        return session.session_id
    if session_id := await storage.episodes.session_of(scope.key, which):
        return session_id
    known = await storage.sessions.find(which)
    if known and known.scope == scope.key:
        return which
    rows = await storage.records.read(scope)
    return next((str(row["session_id"]) for row in rows if which in (row.get("id"), row["session_id"])), "")


async def _still_saying(
    ports: CommandPorts, scope: Scope, what: str, memories: Sequence[Stored], hits: Sequence[Hit]
) -> list[Hit]:
    """Return the exchanges that would still contain the words if these memories were forgotten."""
    known = await ports.storage.ledger.memories(scope.key, [stored.entry.id for stored in memories])
    texts = {text for each in known.values() for text in (each.quote,)} | {stored.entry.text for stored in memories}
    at = ports.memory.now().timestamp()
    hidden = Withheld(Forgotten(text=text, at=at) for text in texts)
    sources = {stored.entry.turn for stored in memories}
    quotable = await ports.storage.episodes.quotable(scope.key, [hit.turn for hit in hits])
    remaining: list[Hit] = []
    for hit in hits:
        sides = quotable.sides(hit.turn) or ("", "")
        words = hidden.words_of(*sides)
        rest = tuple(hidden.cut(side, words=words) for side in sides)
        if _has(" ".join(rest), what) and not (rest == sides and hit.turn in sources):
            remaining.append(hit)
    return remaining


def _choices(hits: Sequence[Hit]) -> list[tuple[str, str]]:
    return [(f"e{hit.turn}", shown(hit.text)) for hit in hits[:SUGGESTED]]


def _has(text: str, what: str) -> bool:
    """Return whether words stand in a text, whatever their case and punctuation."""
    there, words = (" ".join(_WORD.findall(part.casefold())) for part in (text, what))
    return bool(words) and (words in there if has_han(words) else f" {words} " in f" {there} ")


_SURE: Final = frozenset({"yes", "sure", "是", "是的", "确认", "確認"})
_TODAY: Final = frozenset({"today", "今天"})


async def clear(ports: CommandPorts, session: Session, rest: str) -> str:
    """Forget all of today, everything if the person is sure, or what is named; say how, where none is said."""
    which, now = rest.strip().lower(), ports.memory.now()
    if which in _TODAY or which in _SURE:
        ports.check_host(session)
        midnight = local_time(now.timestamp(), ports.memory.zone).replace(hour=0, minute=0, second=0, microsecond=0)
        since = midnight.timestamp() if which in _TODAY else 0.0
        exchanges, memories = await ports.changes.forgetter.since(session.scope, since)
        if not (exchanges or memories):
            raise NotDone(phrase(session, "forget_since_none"))
        return phrase(session, "forgotten_since", exchanges=exchanges, memories=memories)
    if says_more(rest):  # "clear k7f3q2a1"
        return await forget(ports, session, rest)
    scope = session.scope.key
    memories, exchanges = await ports.storage.recaller.count(scope), await ports.storage.episodes.count(scope)
    text = phrase(session, "clear_how", memories=memories, exchanges=exchanges, scope=shlex.quote(scope))
    raise NotDone(text)


async def export(_: CommandPorts, session: Session, __: str) -> str:
    """Say how everything is written to files, and how another assistant's is brought in."""
    raise NotDone(phrase(session, "export_how"))
