"""`/memory …` in the chat, and the same in a shell: the table's command is found, carried out and answered."""

import json
from collections.abc import Mapping
from typing import Any, Final, Protocol, Unpack, cast

from extractor import has_han, traits_of
from gateway_memory.capture.requests import asked_to_forget
from gateway_memory.commands.command import Answer, Commanded, CommandPorts, NotDone, phrase, shown
from gateway_memory.commands.memories import forget_named
from gateway_memory.commands.table import find, listed, nearest
from gateway_memory.edge.phrases import CHAT, SHELL
from gateway_memory.runtime.ground import CATCH_UP_SECONDS
from gateway_memory.scope import KINDS, OWNER, OWNER_KEY, Whose, owner_unless_named
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


# What a shell or a hook asks of an open memory: a command of the chat, or the hits of a search.

_INJECTED: Final = ("memory", "note")
"""The kinds of hits that are injected beside an editor's prompt."""


class InShell(Commanded, Protocol):
    """The open memory, as a shell uses it."""

    agent: str

    async def visit(self, **whose: Unpack[Whose]) -> Session:
        """Return a session for commands outside a conversation."""

    async def flush(self) -> None:
        """Process all waiting turns, and wait until semantic search finds the results."""

    async def answer(self, session: Session, text: str) -> Answer | None:
        """Return the answer to a command; None if commands are off."""

    async def record(self, session: Session, command: str, rest: str = "") -> dict[str, Any]:
        """Return the result of a command as a value for JSON."""


async def settle(memory: InShell, whose: Whose) -> None:
    """Wait until what stands in a scope's files has vectors: this process may have opened the memory just now."""
    await memory.visit(**whose)
    await memory.flush()


async def answer_in_shell(memory: InShell, name: str, rest: str, whose: Whose, *, as_json: bool) -> Answer | None:
    """Return the answer to a command with what is behind its name; None if commands are off."""
    session = await memory.visit(**whose)
    session.commands_as = SHELL
    if as_json and session.settings.commands.enabled:
        return Answer(text=json.dumps(await memory.record(session, name, rest), ensure_ascii=False))
    return await memory.answer(session, f"{CHAT} {name} {rest}")


async def found_in_shell(memory: InShell, whose: Whose, *, query: str, limit: int) -> dict[str, Any]:
    """Return the hits of a search as values for JSON: {"rows": [{text, type, score, file, at}], "semantic", "outcome"}.

    at: epoch seconds. semantic, outcome: see `Found`.
    """
    session = await memory.visit(**whose)
    hits = await memory.search(session, query, limit=limit)
    rows = [
        {"text": hit.text, "type": hit.type, "score": round(hit.score, 3), "file": hit.file, "at": hit.at}
        for hit in hits
    ]
    return {"rows": rows, "semantic": hits.semantic, "outcome": hits.outcome}


async def _for_prompt(memory: InShell, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return which memories of the owner and of a project a prompt needs, best first: {"rows": [{id, text, at}]}.

    at: epoch seconds.
    """
    session = await memory.visit(user=OWNER, project=request.get("project"))
    hits = await memory.search(session, request["prompt"], limit=request["limit"], kinds=_INJECTED)
    relevant = [hit for hit in hits if hit.score >= request["min_score"] and traits_of(hit.category).recalled]
    return {"rows": [{"id": hit.id, "text": hit.text, "at": hit.at} for hit in relevant]}


async def answer_request(memory: InShell, request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a search that came by the socket; {} for what the asking process must do itself."""
    if request.get("agent") != memory.agent:
        return {}
    if "prompt" in request:
        return await _for_prompt(memory, request)
    whose = owner_unless_named(cast("Whose", {name: request.get(name) for name in KINDS if name != OWNER_KEY}))
    if "query" in request:
        return await found_in_shell(memory, whose, query=request["query"], limit=request["limit"])
    answer = await answer_in_shell(memory, "search", request["rest"], whose, as_json=request.get("json") is True)
    return {} if answer is None else {"text": answer.text, "done": answer.done}
