"""`/memory why`, `undo` and `history`: what was recalled and kept, how to take it back, and where a memory is from."""

from typing import TYPE_CHECKING, Final

from gateway_memory.clock import local_time
from gateway_memory.context import as_query
from gateway_memory.ingest import Ingest
from gateway_memory.phrases import say
from gateway_memory.session import Session
from gateway_memory.store.journal import Journal
from gateway_memory.store.ledger import Ledger
from gateway_memory.undo import Refused
from recall import Recaller

if TYPE_CHECKING:
    from gateway_memory.memory import GatewayMemory

__all__ = ["Receipts", "as_id", "shown"]

_RECEIPTS: Final = 20
_SHOWN: Final = 80


def as_id(text: str) -> str:
    """Return an id as a person types or pastes it, bare."""
    return text.strip().strip("()[]`").lower()


def shown(typed: str) -> str:
    """Return the beginning of what was typed, fit to be said in an answer."""
    line = " ".join(as_query(typed).split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


class Receipts:
    """The commands about what was done, and why."""

    def __init__(
        self, memory: "GatewayMemory", *, ingest: Ingest, journal: Journal, ledger: Ledger, recaller: Recaller
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
                if outcome.turn == reply.turn:
                    named = f" · {outcome.id} · {outcome.text}" if outcome.id else ""
                    lines.append(f"- {receipt.stage}: {outcome.action} ({outcome.reason}){named}")
        return "\n".join(lines)

    async def undo(self, session: Session, identity: str) -> str:
        """Take back the newest change, or the newest one of a memory."""
        only = as_id(identity)
        language = session.language
        done = await self._ingest.undo(session.scope, only=only)
        if done is None:
            return say(language, "undo_unknown" if only else "undo_nothing", id=shown(only))
        if isinstance(done, Refused):
            return self._refused(session, done)
        at, plan = done
        lines = [say(language, "undone", at=self._at(at))]
        lines += [say(language, "undone_removed", id=i.memory.id, text=i.memory.text) for i in plan.retired]
        lines += [say(language, "undone_restored", id=memory.id, text=memory.text) for memory in plan.added]
        lines += [say(language, "undone_moved", id=i.memory.id, file=i.memory.file) for i in plan.moved]
        if await self._journal.event_log.edited_since(session.scope.key, at):
            lines.append(say(language, "undo_by_hand"))
        return "\n".join(lines)

    def _refused(self, session: Session, refused: Refused) -> str:
        language = session.language
        lines = [say(language, "undo_refused", at=self._at(refused.at))]
        for memory, now in refused.edited:
            phrase = "undo_edited" if now else "undo_deleted"
            lines.append(say(language, phrase, id=memory.id, text=memory.text, now=now))
        if refused.earlier:
            lines.append(say(language, "undo_earlier", id=refused.earlier.id, text=refused.earlier.text))
        return "\n".join(lines)

    async def history(self, session: Session, identity: str) -> str:
        """Answer what became of a memory, oldest first."""
        identity = as_id(identity)
        if not identity:
            return say(session.language, "history_usage")
        past = await self._ledger.history(session.scope.key, identity)
        memory = (await self._journal.memories(session.scope.key, [identity])).get(identity)
        if not past or memory is None:
            return say(session.language, "history_unknown", id=shown(identity))
        others = await self._journal.memories(session.scope.key, sorted({line.other for line in past if line.other}))
        lines = [f"{identity} · {memory.text}", f"{memory.file} · {memory.session_key}".rstrip(" ·")]
        for line in past:
            other = f" · {line.other} · {others[line.other].text}" if line.other in others else ""
            lines.append(f"- {self._at(line.at)} · {line.event}{other}")
        return "\n".join(lines)

    def _at(self, at: float) -> str:
        return f"{local_time(at, self._memory.zone):%Y-%m-%d %H:%M:%S}"
