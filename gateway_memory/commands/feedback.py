"""`/memory useful` and `/memory wrong`: what a person says of a memory that a reply was given, or of the reply."""

import re
from collections import Counter
from typing import Final

from gateway_memory.commands.answers import NotDone, as_id, phrase, shown
from gateway_memory.commands.ports import CommandPorts
from gateway_memory.session import Session
from gateway_memory.store.journal.turns import Reply
from gateway_memory.store.report import Verdict

__all__ = ["counted", "useful", "wrong"]

_TURN: Final = re.compile(r"#(\d{1,18})")
_LATEST: Final = 2**62


async def useful(ports: CommandPorts, session: Session, rest: str) -> str:
    """Say that a memory was of use. rest: its id, "" for the reply as a whole; and the reply, as #TURN."""
    return await _rate(ports, session, rest, "useful")


async def wrong(ports: CommandPorts, session: Session, rest: str) -> str:
    """Say that a memory should not have been told, or that the reply is wrong. rest: as for `useful`."""
    return await _rate(ports, session, rest, "wrong")


async def counted(ports: CommandPorts, session: Session, *, since: float = 0.0) -> dict[str, int]:
    """Return how often each verdict was given. since: epoch seconds."""
    found = Counter(each.verdict for each in await ports.storage.ledger.rated(session.scope.key, since=since))
    return {"useful": found["useful"], "wrong": found["wrong"]}


async def _rate(ports: CommandPorts, session: Session, rest: str, verdict: Verdict) -> str:
    named = _TURN.search(rest)
    identity = as_id(_TURN.sub("", rest))
    reply = await _reply(ports, session, int(named[1]) if named else 0)
    if reply is None:
        raise NotDone(phrase(session, "feedback_no_reply"))
    considered = {row.id for row in reply.report.rows} if reply.report else set()
    if identity and identity not in {*reply.recalled, *considered}:
        raise NotDone(phrase(session, "feedback_unknown", id=shown(identity)))
    await ports.changes.rate(session.scope, reply.turn, identity, verdict)
    return phrase(session, f"feedback_{verdict}", what=identity or f"#{reply.turn}")


async def _reply(ports: CommandPorts, session: Session, turn: int) -> Reply | None:
    """Return the reply of a turn, or for 0 the session's last one; in a shell, the scope's."""
    if not turn and not session.beside:
        return await ports.storage.turns.last_reply(session.scope.key, session.session_id)
    before = turn + 1 if turn else _LATEST
    found = await ports.storage.turns.replies(session.scope.key, before=before, limit=1)
    return found[0] if found and turn in (0, found[0].turn) else None
