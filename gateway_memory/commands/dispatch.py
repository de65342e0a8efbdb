"""`/memory …` in the chat, and the same in a shell: the table's command is found, carried out and answered."""

from difflib import get_close_matches
from functools import partial
from typing import Any, Final

from extractor import has_han
from gateway_memory.capture.requests import asked_to_forget
from gateway_memory.commands.command import Answer, Command, CommandPorts, NotDone, Option, Shell, phrase, shown
from gateway_memory.commands.memories import (
    coming,
    coming_record,
    correct,
    forget,
    forget_named,
    list_memories,
    list_record,
    pin,
)
from gateway_memory.commands.receipts import (
    history,
    history_record,
    rate,
    receipts,
    receipts_record,
    undo,
    why,
)
from gateway_memory.commands.review import approve, reject, review, review_record
from gateway_memory.commands.search import OPTIONS, search, search_record
from gateway_memory.commands.settings import link, switch, unlink
from gateway_memory.commands.status import digest, digest_record, status, status_record
from gateway_memory.edge.phrases import CHAT, Language
from gateway_memory.ground import CATCH_UP_SECONDS
from gateway_memory.session import Session

_LONGEST: Final = 8000
"""Characters of a command that are read; no memory is longer."""


def may_change(text: str) -> bool:
    """Return whether a message is a command that may change the memory or its session."""
    words = text.split(maxsplit=2)
    if not words or words[0].lower() != CHAT:
        return bool(asked_to_forget(text))
    command = find(words[1].lower()) if len(words) > 1 else None
    return command is not None and command.changes


async def show_help(_: CommandPorts, session: Session, __: str) -> str:
    """Answer with the commands and their arguments."""
    return listed(session.language)


def listed(language: Language) -> str:
    """Return all commands with their arguments, on one line; in Chinese with their Chinese names."""
    if language == "zh":
        return f"{CHAT} " + "· ".join(f"{command.usage('zh')}（{command.chinese}）" for command in COMMANDS)
    return f"{CHAT} " + " · ".join(command.usage("en") for command in COMMANDS)


def find(name: str) -> Command | None:
    """Return the command of an English or Chinese name, in lower case."""
    return _BY_NAME.get(name)


def nearest(name: str) -> str:
    """Return the name that is most like `name`, or "" if none is."""
    return next(iter(get_close_matches(name, _BY_NAME, n=1)), "")


_ID: Final = Shell(words="+", metavar="ID")
_MAYBE_ID: Final = Shell(words="*", metavar="ID")
_PERSON: Final = Shell(words="*", metavar="user:NAME")

COMMANDS: Final = (
    Command(name="status", run=status, record=status_record, shell=Shell()),
    Command(name="search", run=search, record=search_record, shell=Shell(words="*", metavar="QUERY", options=OPTIONS)),
    Command(name="list", run=list_memories, record=list_record, shell=Shell()),
    Command(name="coming", run=coming, record=coming_record, shell=Shell(words="*", metavar="DAYS")),
    Command(name="forget", run=forget, shell=_ID, changes=True),
    Command(name="correct", run=correct, shell=_ID, changes=True),
    Command(name="pin", run=pin, shell=_ID, changes=True),
    Command(name="review", run=review, record=review_record, shell=Shell(words="*", metavar="WORDS")),
    Command(name="approve", run=approve, shell=_ID, changes=True),
    Command(name="reject", run=reject, shell=_ID, changes=True),
    Command(name="why", run=why),
    Command(name="useful", run=partial(rate, verdict="useful"), shell=_MAYBE_ID, changes=True),
    Command(name="wrong", run=partial(rate, verdict="wrong"), shell=_MAYBE_ID, changes=True),
    Command(name="undo", run=undo, shell=_MAYBE_ID, changes=True),
    Command(name="history", run=history, record=history_record, shell=_ID),
    Command(name="digest", run=digest, record=digest_record, shell=Shell(words="*", metavar="day|week|month")),
    Command(
        name="receipts",
        run=receipts,
        record=receipts_record,
        shell=Shell(options=(Option(command="receipts", name="limit", metavar="N", in_chat="{}"),)),
    ),
    Command(name="on", run=partial(switch, on=True), changes=True, waits=False),
    Command(name="off", run=partial(switch, on=False), changes=True, waits=False),
    Command(name="link", run=link, shell=_PERSON, changes=True),
    Command(name="unlink", run=unlink, shell=_PERSON, changes=True),
    Command(name="help", run=show_help),
)

_BY_NAME: Final = {name: command for command in COMMANDS for name in (command.name, command.chinese)}


class Commands:
    """Answers the commands of one memory."""

    def __init__(self, ports: CommandPorts) -> None:
        self._ports = ports

    async def answer(self, session: Session, text: str) -> Answer | None:
        """Return the answer to a command, or to "forget that …" in plain words; None if the text is neither."""
        words, language = text.split(maxsplit=2), session.language
        try:
            if not words or words[0].lower() != CHAT:
                response = await self._forget_in_words(session, text)
            else:
                name = words[1][:_LONGEST].lower() if len(words) > 1 else "status"
                rest = words[2][:_LONGEST].rstrip() if len(words) > 2 else ""  # noqa: PLR2004 - what is behind the name
                response = await self._run(session, name, rest)
        except NotDone as answer:
            return Answer(text=str(answer), done=False)
        finally:
            if session.scope.kind.is_shared:  # whoever asks next may be somebody else
                session.language = language
        return None if response is None else Answer(text=response)

    async def record(self, session: Session, name: str, rest: str) -> dict[str, Any]:
        """Return what a command tells as JSON values.

        Raises:
            NotDone: no such command tells anything, or it can't; the text says why.
        """
        command = find(name)
        if command is None or command.record is None:
            raise _unknown(session, name)
        await self._ports.caught_up(session.session_id, CATCH_UP_SECONDS)
        return await command.record(self._ports, session, rest)

    async def _forget_in_words(self, session: Session, text: str) -> str | None:
        what = asked_to_forget(text)
        if not what:
            return None
        if has_han(text):
            session.language = "zh"
        await self._ports.caught_up(session.session_id, CATCH_UP_SECONDS)
        return await forget_named(self._ports, session, what)

    async def _run(self, session: Session, name: str, rest: str) -> str:
        if has_han(name + rest):
            session.language = "zh"
        command = find(name)
        if command is None:
            raise _unknown(session, name)
        if command.waits:
            await self._ports.caught_up(session.session_id, CATCH_UP_SECONDS)
        return await command.run(self._ports, session, rest)


def _unknown(session: Session, name: str) -> NotDone:
    near, commands = nearest(name), listed(session.language)
    return NotDone(
        phrase(session, "unknown_near" if near else "unknown_command", name=shown(name), near=near, commands=commands)
    )
