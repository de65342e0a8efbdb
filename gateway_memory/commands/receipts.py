"""`/memory why`, `undo` and `history`: what was recalled and kept, how to take it back, and where a memory is from."""

from dataclasses import asdict
from typing import Any, Final

from gateway_memory.capture.ingest import Ingest
from gateway_memory.capture.undo import Refused
from gateway_memory.clock import local_time
from gateway_memory.commands.answers import NotDone, phrase
from gateway_memory.commands.ports import Commanded
from gateway_memory.context.builder import as_query
from gateway_memory.phrases import say
from gateway_memory.session import Session
from gateway_memory.store.journal.journal import Journal
from gateway_memory.store.journal.ledger import Ledger
from gateway_memory.store.plan import SAID
from recall import Recaller

__all__ = ["Receipts", "as_id", "shown"]

_RECEIPTS: Final = 20
_SHOWN: Final = 80
_LONGEST_NUMBER: Final = 6


def as_id(text: str) -> str:
    """Return an id as a person types or pastes it, bare."""
    return text.strip().strip("()[]`").lower()


def shown(typed: str) -> str:
    """Return the beginning of what was typed, fit to be said in an answer."""
    line = " ".join(as_query(typed).text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


class Receipts:
    """The commands about what was done, and why."""

    def __init__(
        self, memory: Commanded, *, ingest: Ingest, journal: Journal, ledger: Ledger, recaller: Recaller
    ) -> None:
        self._memory = memory
        self._ingest = ingest
        self._journal = journal
        self._ledger = ledger
        self._recaller = recaller

    async def why(self, session: Session) -> str:
        """Answer what was recalled for the session's last reply, and what became of its turn."""
        language = session.language
        reply = await self._ledger.reply(session.session_id)
        if reply is None:
            return say(language, "why_none")
        at = self._at(reply.at)
        known = await self._journal.memories(session.scope.key, reply.recalled)
        lines = [say(language, "why_recalled" if reply.recalled else "why_nothing", at=at)]
        for identity in reply.recalled:
            stored = await self._recaller.get(session.scope.key, identity)
            text = stored.entry.text if stored else known[identity].text if identity in known else ""
            lines.append(f"- {identity} · {text}".rstrip(" ·"))
        receipts = await self._ledger.receipts(limit=_RECEIPTS, turn=reply.turn)
        lines.append(say(language, "why_kept" if receipts else "why_waits"))
        for receipt in reversed(receipts):
            for outcome in receipt.outcomes:
                if outcome.turn == reply.turn and outcome.action == "masked":
                    lines.append(say(language, "why_masked"))
                elif outcome.turn == reply.turn:
                    named = f" · {outcome.id} · {outcome.text}" if outcome.id else ""
                    lines.append(f"- {receipt.stage}: {outcome.action} ({outcome.reason}){named}")
        return "\n".join(lines)

    async def undo(self, session: Session, identity: str) -> str:
        """Take back the newest change, or the newest one of a memory."""
        only = as_id(identity)
        language = session.language
        done = await self._ingest.undo(session.scope, only=only)
        if done is None:
            raise NotDone(phrase(session, "undo_unknown" if only else "undo_nothing", id=shown(only)))
        if isinstance(done, Refused):
            raise NotDone(self._refused(session, done))
        at, plan = done
        lines = [say(language, "undone", at=self._at(at))]
        removed = [item.memory for item in plan.retired if item.memory.type != "S" and item.memory.category != SAID]
        said = [item.memory for item in plan.retired if item.memory.category == SAID]
        restored = [memory for memory in plan.added if memory.type != "S"]  # summaries only follow what they say
        lines += [say(language, "undone_removed", id=memory.id, text=memory.text) for memory in removed]
        lines += [say(language, "undone_restored", id=memory.id, text=memory.text) for memory in restored]
        lines += [say(language, "undone_withheld", text=memory.text) for memory in said]
        lines += [say(language, "undone_moved", id=i.memory.id, file=i.memory.file) for i in plan.moved]
        if await self._journal.event_log.edited_since(session.scope.key, at):
            lines.append(say(language, "undo_by_hand"))
        return "\n".join(lines)

    def _refused(self, session: Session, refused: Refused) -> str:
        lines = [phrase(session, "undo_refused", at=self._at(refused.at))]
        for memory, now in refused.edited:
            name = "undo_edited" if now else "undo_deleted"
            lines.append(phrase(session, name, id=memory.id, text=memory.text, now=now))
        if refused.earlier:
            lines.append(phrase(session, "undo_earlier", id=refused.earlier.id, text=refused.earlier.text))
        return "\n".join(lines)

    async def history(self, session: Session, identity: str) -> str:
        """Answer what became of a memory, oldest first."""
        past = await self.past(session, identity)
        lines = [f"{past['id']} · {past['text']}", f"{past['file']} · {past['session']}".rstrip(" ·")]
        for event in past["events"]:
            other = f" · {event['other']} · {event['other_text']}" if event["other_text"] else ""
            lines.append(f"- {_people(event['at'])} · {event['event']}{other}")
        return "\n".join(lines)

    async def past(self, session: Session, identity: str) -> dict[str, Any]:
        """Return what became of a memory as what JSON can hold, oldest first.

        Raises:
            NotDone: nothing is known of it.
        """
        identity = as_id(identity)
        if not identity:
            raise NotDone(phrase(session, "history_usage"))
        past = await self._ledger.history(session.scope.key, identity)
        memory = (await self._journal.memories(session.scope.key, [identity])).get(identity)
        if not past or memory is None:
            raise NotDone(phrase(session, "history_unknown", id=shown(identity)))
        others = await self._journal.memories(session.scope.key, sorted({line.other for line in past if line.other}))
        return {
            "id": identity,
            "text": memory.text,
            "file": memory.file,
            "session": memory.session_key,
            "events": [
                {
                    "at": self._iso(line.at),
                    "event": line.event,
                    "other": line.other,
                    "other_text": others[line.other].text if line.other in others else "",
                }
                for line in past
            ],
        }

    async def recent(self, session: Session, number: str) -> str:
        """Answer what became of the last turns and commands, newest first."""
        receipts = await self.newest(session, number)
        lines: list[str] = []
        for receipt in receipts:
            lines.append(f"#{receipt['number']} · {_people(receipt['at'])} · {receipt['stage']}")
            for outcome in receipt["outcomes"]:
                named = f" · {outcome['id']} · {outcome['text']}" if outcome["id"] else ""
                turn = f"turn {outcome['turn']}: " if outcome["turn"] else ""
                lines.append(f"- {turn}{outcome['action']} ({outcome['reason']}){named}")
        return "\n".join(lines) or phrase(session, "receipts_none")

    async def newest(self, session: Session, number: str) -> list[dict[str, Any]]:
        """Return the newest receipts of the session's scope as what JSON can hold. number: how many, "" for a few."""
        number = number.strip() or str(_RECEIPTS)
        if not (number.isascii() and number.isdigit() and 0 < len(number.lstrip("0")) <= _LONGEST_NUMBER):
            raise NotDone(phrase(session, "receipts_usage"))
        found = await self._ledger.receipts(limit=int(number), scope=session.scope.key)
        return [asdict(receipt) | {"at": self._iso(receipt.at)} for receipt in found]

    def _iso(self, at: float) -> str:
        return local_time(at, self._memory.zone).isoformat(timespec="seconds")

    def _at(self, at: float) -> str:
        return f"{local_time(at, self._memory.zone):%Y-%m-%d %H:%M:%S}"


def _people(at: str) -> str:
    """Return a time as people read it: without its zone, which is theirs."""
    return at[:19].replace("T", " ")
