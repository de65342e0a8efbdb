"""`/memory …` in the chat, and the same in a shell: the table's command is found, carried out and answered."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

from extractor import has_han
from gateway_memory import parts
from gateway_memory.capture.requests import request_in
from gateway_memory.commands.answers import Answer, NotDone, phrase, shown
from gateway_memory.commands.command import Command, CommandPorts, Option, Shell
from gateway_memory.commands.digest import digest, digest_record
from gateway_memory.commands.forgetting import clear, export, forget, forget_last, forget_named
from gateway_memory.commands.memories import coming, coming_record, correct, list_memories, list_record, pin, remember
from gateway_memory.commands.names import Names, Typed, behind_prefix
from gateway_memory.commands.proposals import meant_rather, proposals
from gateway_memory.commands.receipts import history, history_record, rate, receipts, receipts_record, undo, why
from gateway_memory.commands.restoring import restore
from gateway_memory.commands.review import approve, reject, review, review_record
from gateway_memory.commands.search import OPTIONS, search, search_record
from gateway_memory.commands.settings import link, pause, resume, switch, unlink
from gateway_memory.commands.status import privacy, status, status_record
from gateway_memory.edge.phrases import CHAT, Language
from gateway_memory.errors import place_of
from gateway_memory.ground import CATCH_UP_SECONDS
from gateway_memory.ground.logs import get_logger
from gateway_memory.sessions.session import Session

log = get_logger(__name__)


async def show_help(_: CommandPorts, session: Session, rest: str) -> str:
    """Answer with a line for each command, those that a person needs first before the others.

    rest: the name of a command, for its line alone and the other words for it.
    """
    language = session.language
    typed = read(f"{CHAT} {rest}") if rest.strip() else None
    if typed and typed.command:
        names = phrase(session, "comma").join(typed.command.also(language))
        if not names:
            return _line(typed.command, language)
        return f"{_line(typed.command, language)}\n{phrase(session, 'help_names', names=names)}"
    return "\n".join(
        [
            phrase(session, "help_first"),
            *(_line(command, language) for command in EVERYDAY),
            phrase(session, "help_also"),
            *(_line(command, language) for command in (*OTHERS, *_callable())),
            phrase(session, "help_more"),
        ]
    )


def _line(command: Command, language: Language) -> str:
    """Return how a command is written and what it does, on one line."""
    return f"{CHAT} {command.usage(language)} — {command.help[language]}"


def find(name: str) -> Command | None:
    """Return the command of a name, in either language."""
    return _names().find(name)


def read(text: str) -> Typed | None:
    """Return what a message types, None if it is no command."""
    return _names().read(text) if behind_prefix(text) else None  # few messages are any


_ID: Final = Shell(words="+", metavar="ID")
_MAYBE_ID: Final = Shell(words="*", metavar="ID")
_PERSON: Final = Shell(words="*", metavar="user:NAME")

EVERYDAY: Final = (
    Command(name="remember", run=remember, takes="words", changes=True),
    Command(
        name="search",
        run=search,
        record=search_record,
        takes="words",
        shell=Shell(words="*", metavar="QUERY", options=OPTIONS),
    ),
    Command(name="list", run=list_memories, record=list_record, takes="words", shell=Shell()),
    Command(name="forget", run=forget, takes="words", shell=_ID, changes=True),
    Command(name="correct", run=correct, takes="words", shell=_ID, changes=True),
    Command(name="undo", run=undo, takes="arguments", shell=_MAYBE_ID, changes=True),
    Command(name="why", run=why, takes="words"),
    Command(name="pause", run=pause, changes=True, waits=False),
    Command(name="resume", run=resume, changes=True, waits=False),
    Command(name="status", run=status, record=status_record, shell=Shell()),
    Command(name="help", run=show_help, takes="words", waits=False),
)
"""What a person needs first."""

OTHERS: Final = (
    Command(
        name="coming",
        run=coming,
        record=coming_record,
        takes="arguments",
        shell=Shell(words="*", metavar="DAYS"),
    ),
    Command(
        name="digest",
        run=digest,
        record=digest_record,
        takes="arguments",
        shell=Shell(words="*", metavar="day|week|month"),
    ),
    Command(
        name="restore", run=restore, takes="arguments", shell=Shell(words="*", metavar="no"), changes=True, waits=False
    ),
    Command(name="pin", run=pin, takes="words", shell=_ID, changes=True),
    Command(
        name="review", run=review, record=review_record, takes="arguments", shell=Shell(words="*", metavar="WORDS")
    ),
    Command(name="approve", run=approve, takes="arguments", shell=_ID, changes=True),
    Command(name="reject", run=reject, takes="arguments", shell=_ID, changes=True),
    Command(name="useful", run=partial(rate, verdict="useful"), takes="arguments", shell=_MAYBE_ID, changes=True),
    Command(name="wrong", run=partial(rate, verdict="wrong"), takes="arguments", shell=_MAYBE_ID, changes=True),
    Command(name="history", run=history, record=history_record, takes="arguments", shell=_ID),
    Command(
        name="receipts",
        run=receipts,
        record=receipts_record,
        takes="arguments",
        shell=Shell(options=(Option(command="receipts", name="limit", metavar="N", in_chat="{}"),)),
    ),
    Command(name="clear", run=clear, takes="arguments", changes=True),
    Command(name="export", run=export, waits=False),
    Command(name="privacy", run=privacy, waits=False),
    Command(name="on", run=partial(switch, on=True), takes="words", changes=True, waits=False),
    Command(name="off", run=partial(switch, on=False), takes="words", changes=True, waits=False),
    Command(name="link", run=link, takes="arguments", shell=_PERSON, changes=True),
    Command(name="unlink", run=unlink, takes="arguments", shell=_PERSON, changes=True),
)

COMMANDS: Final = (*EVERYDAY, *OTHERS)


@cache
def _names() -> Names:
    """Return the names of our commands, and of those of other packages, which may take a guess at one of ours."""
    return Names((*COMMANDS, *_callable()))


def _callable() -> Sequence[Command]:
    """Return the commands of other packages whose names are not those of ours."""
    ours = {name for command in COMMANDS for name in (command.name, command.chinese)}
    return [command for command in _brought() if command.name not in ours]


@cache
def _brought() -> tuple[Command, ...]:
    """Return the commands of other packages. One that fails is left out, and named in the log."""
    found = []
    for name in parts.names("command"):
        try:
            part: parts.ChatCommand = parts.make("command", name)
            help_texts = {"en": str(part.help["en"]), "zh": str(part.help["zh"])}
            changes = bool(part.changes)
        except LookupError as error:
            log.warning("command.not_brought", command=name, reason=str(error))
            continue
        except Exception as error:  # noqa: BLE001 - whatever another package raises
            log.warning("command.not_brought", command=name, error=type(error).__name__)
            continue
        own = {"chinese": name, "also": {"en": "", "zh": ""}, "help": help_texts}
        found.append(Command(name=name, run=partial(_run_brought, part, name), takes="words", changes=changes, own=own))
    return tuple(found)


async def _run_brought(part: parts.ChatCommand, name: str, ports: CommandPorts, session: Session, rest: str) -> str:
    """Run a command of another package. Raises NotDone: it failed."""
    try:
        return str(await part.run(ports.memory, session, rest))
    except Exception as error:
        log.warning("command.failed", command=name, error=type(error).__name__, place=place_of(error))
        raise NotDone(phrase(session, "command_failed", name=name, error=type(error).__name__)) from error


class Commands:
    """Answers the commands of one memory."""

    def __init__(self, ports: CommandPorts) -> None:
        self._ports = ports

    async def may_change(self, text: str) -> bool:
        """Return whether a message is a command, or a request in plain words, that may change the memory."""
        typed = read(text)
        if typed is None:
            return await request_in(self._ports.storage.recaller, text) is not None
        return typed.command is not None and typed.command.changes

    async def answer(self, session: Session, text: str) -> Answer | None:
        """Return the answer to a command, or to "forget that …" in plain words; None if the text is neither."""
        typed, language = read(text), session.language
        ports = replace(self._ports, sender=session.sender)  # now: the next message may be somebody else's
        try:
            if typed is None:
                response = await _forget_in_words(ports, session, text)
            else:
                response = await self._run(ports, session, typed, text)
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
            raise await self._unsure(
                session, "unknown_command", Typed(command=None, name=name, rest=rest, whole=f"{name} {rest}")
            )
        await self._ports.caught_up(session.session_id, CATCH_UP_SECONDS)
        return await command.record(self._ports, session, rest)

    async def _run(self, ports: CommandPorts, session: Session, typed: Typed, text: str) -> str:
        if has_han(text):
            session.language = "zh"
        command = typed.command
        if command is None:
            raise await self._unsure(session, "unknown_command", typed)
        asks = command.changes and typed.rest in ("?", "？")  # "private?" pauses nothing
        if session.commands_as == CHAT and (asks or await meant_rather(ports, session, _names(), typed, surely=True)):
            raise await self._unsure(session, "unsure_command", typed)
        if command.waits:
            await ports.caught_up(session.session_id, CATCH_UP_SECONDS)
        try:
            answer = await command.run(ports, session, typed.rest)
        except NotDone as refused:
            raise NotDone(await self._with_rather(session, typed, str(refused))) from None
        return await self._with_rather(session, typed, answer) if typed.is_question else answer

    async def _with_rather(self, session: Session, typed: Typed, answer: str) -> str:
        """Return an answer with the commands that may be meant rather than the one that has answered.

        Several may be where a question finds nothing: it may have asked about the memory. A shell has no names but its
        own.
        """
        if session.commands_as != CHAT:
            return answer
        meant = await meant_rather(self._ports, session, _names(), typed, surely=False)
        near = [meant] if meant else []
        if typed.is_question and answer == phrase(session, "search_empty"):
            possible = await proposals(self._ports, session, _names(), typed)
            near += [each for each in possible if each not in (meant, typed.command)]
        if not near:
            return answer
        lines = "\n".join(_line(each, session.language) for each in near)
        return f"{answer}\n{phrase(session, 'rather_command', near=lines)}"

    async def _unsure(self, session: Session, name: str, typed: Typed) -> NotDone:
        near = await proposals(self._ports, session, _names(), typed)
        lines = "\n".join(_line(command, session.language) for command in near)
        return NotDone(phrase(session, name, name=shown(typed.name), near=lines))


async def _forget_in_words(ports: CommandPorts, session: Session, text: str) -> str | None:
    """Forget what a message asks to forget, if it is certain; None where the assistant has to answer."""
    request = None if session.incognito else await request_in(ports.storage.recaller, text)
    if request is None or not request.sure or request.act not in ("forget", "forget_last"):
        return None
    if has_han(text):
        session.language = "zh"
    await ports.caught_up(session.session_id, CATCH_UP_SECONDS)
    if request.act == "forget_last":
        return await forget_last(ports, session)
    return await forget_named(ports, session, request.what) if request.what else None
