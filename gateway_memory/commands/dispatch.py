"""`/memory …` in the chat, and the same in a shell: the table's command is found, carried out and answered."""

from typing import Any, Final

from extractor import has_han
from gateway_memory.capture.forgetting import asked_to_forget
from gateway_memory.commands.answers import Answer, NotDone, phrase, shown
from gateway_memory.commands.forget import forget_named
from gateway_memory.commands.ports import CommandPorts
from gateway_memory.commands.table import find, listed, nearest
from gateway_memory.edge.phrases import CHAT
from gateway_memory.session import Session

__all__ = ["Commands", "may_change"]

_LONGEST: Final = 8000
"""Characters of a command that are read; no memory is longer."""
_CATCH_UP_SECONDS: Final = 2.0


def may_change(text: str) -> bool:
    """Return whether a message is a command that may change the memory or its session."""
    words = text.split(maxsplit=2)
    if not words or words[0].lower() != CHAT:
        return bool(asked_to_forget(text))
    command = find(words[1].lower()) if len(words) > 1 else None
    return command is not None and command.changes


class Commands:
    """Answers the commands of one memory."""

    def __init__(self, ports: CommandPorts) -> None:
        self._ports = ports

    async def answer(self, session: Session, text: str) -> Answer | None:
        """Return the answer to a command, or to "forget that …" in plain words; None if the text is neither."""
        words, language = text.split(maxsplit=2), session.language
        try:
            if not words or words[0].lower() != CHAT:
                said = await self._forget_in_words(session, text)
            else:
                name = words[1][:_LONGEST].lower() if len(words) > 1 else "status"
                rest = words[2][:_LONGEST].rstrip() if len(words) > 2 else ""  # noqa: PLR2004 - what is behind the name
                said = await self._run(session, name, rest)
        except NotDone as answer:
            return Answer(text=str(answer), done=False)
        finally:
            if session.scope.kind.is_shared:  # whoever asks next may be somebody else
                session.language = language
        return None if said is None else Answer(text=said)

    async def record(self, session: Session, name: str, rest: str) -> dict[str, Any]:
        """Return what a command tells as JSON values.

        Raises:
            NotDone: no such command tells anything, or it can't; the text says why.
        """
        command = find(name)
        if command is None or command.record is None:
            raise _unknown(session, name)
        await self._ports.caught_up(session.session_id, _CATCH_UP_SECONDS)
        return await command.record(self._ports, session, rest)

    async def _forget_in_words(self, session: Session, text: str) -> str | None:
        what = asked_to_forget(text)
        if not what:
            return None
        if has_han(text):
            session.language = "zh"
        await self._ports.caught_up(session.session_id, _CATCH_UP_SECONDS)
        return await forget_named(self._ports, session, what)

    async def _run(self, session: Session, name: str, rest: str) -> str:
        if has_han(name + rest):
            session.language = "zh"
        command = find(name)
        if command is None:
            raise _unknown(session, name)
        if command.waits:
            await self._ports.caught_up(session.session_id, _CATCH_UP_SECONDS)
        return await command.run(self._ports, session, rest)


def _unknown(session: Session, name: str) -> NotDone:
    near, commands = nearest(name), listed(session.language)
    return NotDone(
        phrase(session, "unknown_near" if near else "unknown_command", name=shown(name), near=near, commands=commands)
    )
