"""What a shell or a hook asks of an open memory: a command of the chat, or the hits of a search."""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from extractor import traits_of
from gateway_memory.calls.memories import MemoryCalls
from gateway_memory.commands.answers import Answer
from gateway_memory.edge.phrases import CHAT, SHELL, Language
from gateway_memory.scope import KINDS, OWNER, OWNER_KEY, Whose, owner_unless_named
from recall import asks_what_was

_INJECTED: Final = ("memory", "note")
"""The kinds of hits that are injected beside an editor's prompt."""


async def settle(memory: MemoryCalls, whose: Whose) -> None:
    """Wait until what stands in a scope's files has vectors: this process may have opened the memory just now."""
    await memory.visit(**whose)
    await memory.flush()


async def answer_in_shell(
    memory: MemoryCalls, name: str, rest: str, whose: Whose, *, language: Language, as_json: bool
) -> Answer | None:
    """Return the answer to a command with what is behind its name, in a language; None if commands are off."""
    session = await memory.visit(**whose)
    session.commands_as, session.language = SHELL, language
    if as_json and session.settings.commands.enabled:
        return Answer(text=json.dumps(await memory.record(session, name, rest), ensure_ascii=False))
    return await memory.answer(session, f"{CHAT} {name} {rest}")


async def found_in_shell(memory: MemoryCalls, whose: Whose, *, query: str, limit: int) -> dict[str, Any]:
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


async def _for_prompt(memory: MemoryCalls, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return which memories of the owner and of a project a prompt needs, best first: {"rows": [{id, text, at}]}.

    at: epoch seconds.
    """
    session = await memory.visit(user=OWNER, project=request.get("project"))
    hits = await memory.search(session, request["prompt"], limit=2 * request["limit"], kinds=_INJECTED)
    past = asks_what_was(request["prompt"])
    holding = [hit for hit in hits if past or hit.state != "over"]
    relevant = [hit for hit in holding if hit.score >= request["min_score"] and traits_of(hit.category).recalled]
    return {"rows": [{"id": hit.id, "text": hit.text, "at": hit.at} for hit in relevant[: request["limit"]]]}


async def answer_request(memory: MemoryCalls, request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a search that came by the socket; {} for what the asking process must do itself."""
    if request.get("agent") != memory.agent:
        return {}
    if "prompt" in request:
        return await _for_prompt(memory, request)
    whose = owner_unless_named(cast("Whose", {name: request.get(name) for name in KINDS if name != OWNER_KEY}))
    if "query" in request:
        return await found_in_shell(memory, whose, query=request["query"], limit=request["limit"])
    language: Language = "zh" if request.get("language") == "zh" else "en"
    as_json = request.get("json") is True
    answer = await answer_in_shell(memory, "search", request["rest"], whose, language=language, as_json=as_json)
    return {} if answer is None else {"text": answer.text, "done": answer.done}
