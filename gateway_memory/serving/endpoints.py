"""The calls that the service answers at /v1/…, one entry each. Routes and /openapi.json are made from them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from pydantic.json_schema import models_json_schema

from gateway_memory import __version__
from gateway_memory.serving import models
from gateway_memory.serving.calls import AgentCalls

__all__ = ["ENDPOINTS", "Endpoint", "document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """POST /v1/NAME. asked, answered: the models of its bodies. call: what carries it out. help: what it does."""

    name: str
    asked: type[models.Asked]
    answered: type[models.Answered]
    call: Callable[[AgentCalls, Any], Awaitable[models.Answered]]
    help: str


def _endpoint(
    call: Callable[[AgentCalls, Any], Awaitable[models.Answered]],
    asked: type[models.Asked],
    answered: type[models.Answered],
    told: str,
) -> Endpoint:
    return Endpoint(name=call.__name__, asked=asked, answered=answered, call=call, help=told)


ENDPOINTS: Final = (
    _endpoint(
        AgentCalls.before_reply,
        models.BeforeReply,
        models.ToldBefore,
        "What to add to the prompt of this reply.",
    ),
    _endpoint(AgentCalls.after_reply, models.AfterReply, models.KeptTurn, "Keep a turn. It is durable when answered."),
    _endpoint(AgentCalls.command, models.CommandText, models.CommandAnswer, "Answer a message if it is a command."),
    _endpoint(AgentCalls.search, models.Search, models.FoundHits, "Search the speaker's memory."),
    _endpoint(AgentCalls.get, models.Get, models.FoundHits, "A hit again, with what was said around it."),
    _endpoint(AgentCalls.observe, models.Observe, models.Done, "Keep a tool call, a decision or an error."),
    _endpoint(AgentCalls.compaction, models.Compaction, models.Compacted, "The context is, or was, compacted."),
    _endpoint(AgentCalls.end_session, models.EndSession, models.Ended, "End a session, or all of a key."),
    _endpoint(AgentCalls.flush, models.Flush, models.Done, "Process all waiting turns now, and wait for it."),
    _endpoint(AgentCalls.save_fact, models.Fact, models.SavedFact, "Save a fact that the agent states."),
    _endpoint(AgentCalls.save_summary, models.Summary, models.SavedSummary, "Save the agent's summary of its session."),
)


# /openapi.json: the description of the service, made from its models.

_SCHEMAS: Final = "#/components/schemas/"
_TOKEN: Final = [{"token": list[str]()}]
_OTHERS: Final[tuple[tuple[str, str, str, list[dict[str, list[str]]]], ...]] = (
    ("/healthz", "Whether the process runs.", "application/json", []),
    ("/readyz", "Whether the memories are open; 503 until they are.", "application/json", []),
    ("/metrics", "The metrics of all agents, for Prometheus.", "text/plain", _TOKEN),
    ("/v1/changes", "The changes of the agent's memories, as server-sent events.", "text/event-stream", _TOKEN),
)


@cache
def document() -> dict[str, Any]:
    """Return the description in the form of OpenAPI 3.1."""
    wanted: list[tuple[type[models.Asked | models.Answered], Literal["validation", "serialization"]]] = [
        (models.Error, "serialization")
    ]
    for each in ENDPOINTS:
        wanted += [(each.asked, "validation"), (each.answered, "serialization")]
    refs, schemas = models_json_schema(wanted, ref_template=_SCHEMAS + "{model}")
    paths: dict[str, Any] = {}
    errors = {"default": _answer("An error.", "application/json", refs[models.Error, "serialization"])}
    for each in ENDPOINTS:
        body = {"required": True, "content": {"application/json": {"schema": refs[each.asked, "validation"]}}}
        answer = _answer(each.help, "application/json", refs[each.answered, "serialization"])
        paths[f"/v1/{each.name}"] = {
            "post": {
                "operationId": each.name,
                "summary": each.help,
                "requestBody": body,
                "responses": {"200": answer, **errors},
            }
        }
    for path, told, media, security in _OTHERS:
        paths[path] = {
            "get": {"summary": told, "security": security, "responses": {"200": _answer(told, media, {}), **errors}}
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "gateway-memory", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": _TOKEN,
    }


def _answer(told: str, media: str, schema: Any) -> dict[str, Any]:
    return {"description": told, "content": {media: {"schema": schema}}}
