"""What a shell or a hook asks of an open memory: a command of the chat, or the hits of a search."""

import json
from collections.abc import Mapping
from typing import Any, Final, Protocol

from extractor import traits_of
from gateway_memory.commands.answers import Answer
from gateway_memory.commands.ports import Commanded
from gateway_memory.edge.phrases import CHAT, SHELL
from gateway_memory.scope import OWNER, Owner
from gateway_memory.session import Session

__all__ = ["InShell", "answer_in_shell", "answer_request", "found_in_shell", "settle"]


_TOLD: Final = ("memory", "note")
"""The kinds of hits that an editor's prompt is told."""


class InShell(Commanded, Protocol):
    """The open memory, as a shell uses it."""

    agent: str

    async def visit(self, *, user: Owner | str | None = None, room: str | None = None) -> Session:
        """Return a session for commands outside a conversation."""

    async def flush(self) -> None:
        """Process all waiting turns, and wait until semantic search finds the results."""

    async def answer(self, session: Session, text: str) -> Answer | None:
        """Return the answer to a command; None if commands are off."""

    async def record(self, session: Session, command: str, rest: str = "") -> dict[str, Any]:
        """Return the result of a command as a value for JSON."""


async def settle(memory: InShell, user: str | None, room: str | None) -> None:
    """Wait until what stands in a scope's files has vectors: this process may have opened the memory just now."""
    await _visit(memory, user, room)
    await memory.flush()


async def answer_in_shell(
    memory: InShell, name: str, rest: str, *, user: str | None, room: str | None, as_json: bool
) -> Answer | None:
    """Return the answer to a command with what is behind its name; None if commands are off.

    user, room: select the scope; without both, the owner's.
    """
    session = await _visit(memory, user, room)
    session.commands_as = SHELL
    if as_json and session.settings.commands.enabled:
        return Answer(text=json.dumps(await memory.record(session, name, rest), ensure_ascii=False))
    return await memory.answer(session, f"{CHAT} {name} {rest}")


async def found_in_shell(
    memory: InShell, *, query: str, limit: int, user: str | None, room: str | None
) -> dict[str, Any]:
    """Return the hits of a search as values for JSON: {"rows": [{text, type, score, file, at}], "semantic", "outcome"}.

    at: epoch seconds. semantic, outcome: see `Found`.
    """
    session = await _visit(memory, user, room)
    hits = await memory.search(session, query, limit=limit)
    rows = [
        {"text": hit.text, "type": hit.type, "score": round(hit.score, 3), "file": hit.file, "at": hit.at}
        for hit in hits
    ]
    return {"rows": rows, "semantic": hits.semantic, "outcome": hits.outcome}


async def _for_prompt(memory: InShell, prompt: str, limit: int, min_score: float) -> dict[str, Any]:
    """Return which of the owner's memories a prompt needs, best first: {"rows": [{id, text, at}]}.

    at: epoch seconds.
    """
    session = await _visit(memory, None, None)
    hits = await memory.search(session, prompt, limit=limit, kinds=_TOLD)
    told = [hit for hit in hits if hit.score >= min_score and traits_of(hit.category).recalled]
    return {"rows": [{"id": hit.id, "text": hit.text, "at": hit.at} for hit in told]}


async def answer_request(memory: InShell, request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a search that came by the socket; {} for what the asking process must do itself."""
    if request.get("agent") != memory.agent:
        return {}
    if "prompt" in request:
        return await _for_prompt(memory, request["prompt"], request["limit"], request["min_score"])
    user, room = request.get("user"), request.get("room")
    if "query" in request:
        return await found_in_shell(memory, query=request["query"], limit=request["limit"], user=user, room=room)
    answer = await answer_in_shell(
        memory, "search", request["rest"], user=user, room=room, as_json=request.get("json") is True
    )
    return {} if answer is None else {"text": answer.text, "done": answer.done}


async def _visit(memory: InShell, user: str | None, room: str | None) -> Session:
    return await memory.visit(user=OWNER if (user, room) == (None, None) else user, room=room)
