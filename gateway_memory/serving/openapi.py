"""/openapi.json: the description of the service, made from its models."""

from functools import cache
from typing import Any, Final, Literal

from pydantic.json_schema import models_json_schema

from gateway_memory import __version__
from gateway_memory.serving import models
from gateway_memory.serving.endpoints import ENDPOINTS

__all__ = ["document"]

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
