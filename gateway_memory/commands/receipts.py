"""`/memory why`, `undo`, `history` and `receipts`."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from gateway_memory.capture.undoing import UndoRefused
from gateway_memory.commands.answers import NotDone, as_id, iso_time, phrase, readable_time, shown
from gateway_memory.commands.command import CommandPorts
from gateway_memory.commands.names import says_more
from gateway_memory.edge.phrases import coded, say
from gateway_memory.ground.times import day_of
from gateway_memory.sessions.session import Session
from gateway_memory.store.journal.links import below
from gateway_memory.store.journal.turns import Reply
from gateway_memory.store.memory_record import TALK, UNWRITTEN
from gateway_memory.store.plan import Receipt
from gateway_memory.store.report import Verdict

_RECEIPTS: Final = 20
_LATEST: Final = 2**62
"""Above the number of every turn."""
_LONGEST_NUMBER: Final = 6
"""Digits."""


async def why(ports: CommandPorts, session: Session, _: str) -> str:
    """Answer with the memories recalled for the session's last reply, and the outcomes of its turn.

    Where the session has none, as that of an MCP client or a new one, it is the last reply of its scope. What was
    forgotten since is named by its id alone.
    """
    language, turns = session.language, ports.storage.turns
    reply = await turns.last_reply(session.scope.key, session.session_id)
    elsewhere: list[str] = []
    if reply is None:
        reply = next(iter(await turns.replies(session.scope.key, before=_LATEST, limit=1)), None)
        elsewhere = [say(language, "why_elsewhere", session=reply.session_key)] if reply else []
    if reply is None:
        return say(language, "why_none")
    known = await ports.storage.ledger.without_forgotten(session.scope.key, reply.recalled)
    mark = say(language, "why_held")
    in_context = {row.id for row in reply.report.rows if row.fate == "held"} if reply.report else set()
    lines = [*elsewhere, say(language, "why_recalled" if reply.recalled else "why_nothing", at=_time(ports, reply.at))]
    for identity in reply.recalled:
        hits = await ports.memory.get(session, identity, around=0)
        text = hits[0].text if hits else known[identity].text if identity in known else ""
        lines.append(f"- {identity} · {text}".rstrip(" ·") + (mark if identity in in_context else ""))
    receipts = await _receipts_of(ports, session, reply.turn)
    lines.append(say(language, "why_kept" if receipts else "why_waits"))
    for receipt in reversed(receipts):
        for outcome in receipt.outcomes:
            if outcome.turn == reply.turn and outcome.action == "masked":
                lines.append(say(language, "why_masked"))
            elif outcome.turn == reply.turn:
                lines.append(_line(session, coded(language, receipt.stage), asdict(outcome)))
    return "\n".join(lines)


async def _receipts_of(ports: CommandPorts, session: Session, turn: int) -> Sequence[Receipt]:
    """Return the receipts of a turn. Before a link, it was recorded in the scope that was linked."""
    scope = session.scope.key
    for name in (scope, *below(await ports.storage.links.of(scope), scope)):
        if receipts := await ports.storage.ledger.receipts(limit=_RECEIPTS, turn=turn, scope=name):
            return receipts
    return ()


async def undo(ports: CommandPorts, session: Session, identity: str) -> str:
    """Undo the newest change, or the newest change of one memory."""
    only = as_id(identity) if says_more(identity) else ""  # 撤销上一步
    language = session.language
    scope = session.scope
    done = await ports.changes.undo(scope, only=only, sender=ports.sender)
    for joined in session.who.joined if only else ():  # a memory that is named may be a project's
        if done is None:
            scope, done = joined, await ports.changes.undo(joined, only=only, sender=ports.sender)
    if done is None:
        raise NotDone(phrase(session, "undo_unknown" if only else "undo_nothing", id=shown(only)))
    if isinstance(done, UndoRefused):
        raise NotDone(_refused(ports, session, done))
    at, plan = done
    lines = [say(language, "undone", at=_time(ports, at))]
    removed = [
        item.memory for item in plan.retired if item.memory.type != "S" and item.memory.category not in UNWRITTEN
    ]
    unwritten = [item.memory for item in plan.retired if item.memory.category in UNWRITTEN]
    # A session stands for its exchanges.
    unwritten = [memory for memory in unwritten if memory.category == TALK] or unwritten
    restored = [memory for memory in plan.added if memory.type != "S"]  # stage summaries follow their facts unasked
    lines += [say(language, "undone_removed", id=memory.id, text=memory.text) for memory in removed]
    lines += [say(language, "undone_restored", id=memory.id, text=memory.text) for memory in restored]
    for each in plan.settled:
        review = await ports.storage.reviews.find(scope.key, each.id)
        lines.append(say(language, "undone_review", id=each.id, text=review.memory.text if review else each.id))
    zone = ports.memory.zone
    lines += [say(language, "undone_withheld", day=day_of(memory.at, zone), text=memory.text) for memory in unwritten]
    moved = [item.memory for item in plan.moved]
    lines += [say(language, "undone_moved", id=each.id, file=each.file, text=each.text) for each in moved]
    if await ports.storage.event_log.edited_since(scope.key, at):
        lines.append(say(language, "undo_by_hand"))
    return "\n".join(lines)


def _refused(ports: CommandPorts, session: Session, refused: UndoRefused) -> str:
    lines = [phrase(session, "undo_refused", at=_time(ports, refused.at))]
    for memory, now in refused.edited:
        name = "undo_edited" if now else "undo_deleted"
        lines.append(phrase(session, name, id=memory.id, text=memory.text, now=now))
    if refused.earlier:
        lines.append(phrase(session, "undo_earlier", id=refused.earlier.id, text=refused.earlier.text))
    return "\n".join(lines)


async def history(ports: CommandPorts, session: Session, identity: str) -> str:
    """Answer with the history of a memory, oldest first."""
    past = await history_record(ports, session, identity)
    lines = [f"{past['id']} · {past['text']}".rstrip(" ·"), f"{past['file']} · {past['session']}".rstrip(" ·")]
    for event in past["events"]:
        other = f" · {event['other']} · {event['other_text']}" if event["other_text"] else ""
        lines.append(f"- {readable_time(event['at'])} · {coded(session.language, event['event'])}{other}")
    return "\n".join(lines)


async def history_record(ports: CommandPorts, session: Session, identity: str) -> dict[str, Any]:
    """Return the history of a memory as JSON, oldest first. What was forgotten since has no text.

    Raises:
        NotDone: nothing is known of it.
    """
    identity = as_id(identity)
    if not identity:
        raise NotDone(phrase(session, "history_usage"))
    by_scope = {scope: await ports.storage.ledger.history(scope.key, identity) for scope in session.who.scopes}
    scope, past = next(((scope, past) for scope, past in by_scope.items() if past), (session.scope, ()))
    memory = (await ports.storage.ledger.without_forgotten(scope.key, [identity])).get(identity)
    if not past or memory is None:
        raise NotDone(phrase(session, "history_unknown", id=shown(identity)))
    others = await ports.storage.ledger.without_forgotten(
        scope.key, sorted({line.other for line in past if line.other})
    )
    return {
        "id": identity,
        "text": memory.text,
        "file": memory.file,
        "session": memory.session_key,
        "events": [
            {
                "at": iso_time(line.at, ports.memory.zone),
                "event": line.event,
                "other": line.other,
                "other_text": others[line.other].text if line.other in others else "",
            }
            for line in past
        ],
    }


async def receipts(ports: CommandPorts, session: Session, number: str) -> str:
    """Answer with the receipts of the last turns and commands, newest first. number: how many, "" for 20."""
    lines: list[str] = []
    for receipt in (await receipts_record(ports, session, number))["receipts"]:
        stage = coded(session.language, receipt["stage"])
        lines.append(f"#{receipt['number']} · {readable_time(receipt['at'])} · {stage}")
        for outcome in receipt["outcomes"]:
            turn = phrase(session, "receipt_turn", turn=outcome["turn"]) if outcome["turn"] else ""
            lines.append(_line(session, turn, outcome))
    return "\n".join(lines) or phrase(session, "receipts_none")


def _line(session: Session, where: str, outcome: Mapping[str, Any]) -> str:
    """Return a line of a receipt. where: its turn or its stage, "" for neither."""
    codes = {name: coded(session.language, outcome[name]) for name in ("action", "reason")}
    named = f" · {outcome['id']} · {outcome['text']}".rstrip(" ·") if outcome["id"] else ""
    return phrase(session, "receipt_line" if where else "receipt_done", where=where, **codes) + named


async def receipts_record(ports: CommandPorts, session: Session, number: str) -> dict[str, Any]:
    """Return the newest receipts of the session's scope as JSON values. number: how many, "" for 20.

    Raises:
        NotDone: that is no number from 1 to 999999.
    """
    number = number.strip() or str(_RECEIPTS)
    if not (number.isascii() and number.isdigit() and 0 < len(number.lstrip("0")) <= _LONGEST_NUMBER):
        raise NotDone(phrase(session, "receipts_usage"))
    newest = await ports.storage.ledger.receipts(limit=int(number), scope=session.scope.key)
    return {"receipts": [asdict(each) | {"at": iso_time(each.at, ports.memory.zone)} for each in newest]}


def _time(ports: CommandPorts, at: float) -> str:
    return readable_time(iso_time(at, ports.memory.zone))


_TURN: Final = re.compile(r"#(\d{1,18})")


async def counted(ports: CommandPorts, session: Session, *, since: float = 0.0) -> dict[str, int]:
    """Return how often each verdict was given. since: epoch seconds."""
    verdicts = Counter(each.verdict for each in await ports.storage.ledger.rated(session.scope.key, since=since))
    return {"useful": verdicts["useful"], "wrong": verdicts["wrong"]}


async def rate(ports: CommandPorts, session: Session, rest: str, *, verdict: Verdict) -> str:
    """Say that a memory was of use, or should not have been injected; or the same of the reply as a whole.

    rest: the memory's id, "" for the reply; and the reply, as #TURN.
    """
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
    if not turn and not session.detached:
        return await ports.storage.turns.last_reply(session.scope.key, session.session_id)
    before = turn + 1 if turn else _LATEST
    replies = await ports.storage.turns.replies(session.scope.key, before=before, limit=1)
    return replies[0] if replies and turn in (0, replies[0].turn) else None
