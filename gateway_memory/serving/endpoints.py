"""The calls that the service answers at /v1/…, one entry each. Routes and /openapi.json are made from them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, get_type_hints

from pydantic.json_schema import models_json_schema

from gateway_memory import __version__
from gateway_memory.serving import models
from gateway_memory.serving.calls import AgentCalls

__all__ = ["ENDPOINTS", "Endpoint", "document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """POST /v1/NAME. request, response: the models of its bodies. call: what carries it out. help: what it does."""

    name: str
    request: type[models.RequestBody]
    response: type[models.ResponseBody]
    call: Callable[[AgentCalls, Any], Awaitable[models.ResponseBody]]
    help: str


def _endpoint(call: Callable[[AgentCalls, Any], Awaitable[models.ResponseBody]], text: str) -> Endpoint:
    request, response = get_type_hints(call).values()
    return Endpoint(name=call.__name__, request=request, response=response, call=call, help=text)


ENDPOINTS: Final = (
    _endpoint(AgentCalls.before_reply, "What to add to the prompt of this reply."),
    _endpoint(AgentCalls.after_reply, "Keep a turn. It is durable when answered."),
    _endpoint(AgentCalls.command, "Answer a message if it is a command."),
    _endpoint(AgentCalls.search, "Search the speaker's memory."),
    _endpoint(AgentCalls.get, "A hit again, with what was said around it."),
    _endpoint(AgentCalls.observe, "Keep a tool call, a decision or an error."),
    _endpoint(AgentCalls.compaction, "The context is, or was, compacted."),
    _endpoint(AgentCalls.end_session, "End a session, or all of a key."),
    _endpoint(AgentCalls.flush, "Process all waiting turns now, and wait for it."),
    _endpoint(AgentCalls.save_fact, "Save a fact that the agent states."),
    _endpoint(AgentCalls.save_summary, "Save the agent's summary of its session."),
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
    wanted: list[tuple[type[models.RequestBody | models.ResponseBody], Literal["validation", "serialization"]]] = [
        (models.Error, "serialization")
    ]
    for each in ENDPOINTS:
        wanted += [(each.request, "validation"), (each.response, "serialization")]
    refs, schemas = models_json_schema(wanted, ref_template=_SCHEMAS + "{model}")
    paths: dict[str, Any] = {}
    errors = {"default": _response("An error.", "application/json", refs[models.Error, "serialization"])}
    for each in ENDPOINTS:
        body = {"required": True, "content": {"application/json": {"schema": refs[each.request, "validation"]}}}
        response = _response(each.help, "application/json", refs[each.response, "serialization"])
        paths[f"/v1/{each.name}"] = {
            "post": {
                "operationId": each.name,
                "summary": each.help,
                "requestBody": body,
                "responses": {"200": response, **errors},
            }
        }
    for path, text, media, security in _OTHERS:
        paths[path] = {
            "get": {"summary": text, "security": security, "responses": {"200": _response(text, media, {}), **errors}}
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


def _response(text: str, media: str, schema: Any) -> dict[str, Any]:
    return {"description": text, "content": {media: {"schema": schema}}}
