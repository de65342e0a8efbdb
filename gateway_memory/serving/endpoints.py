"""The table of the calls, from which routes and /openapi.json are made."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_type_hints

from pydantic.json_schema import models_json_schema

from gateway_memory import __version__
from gateway_memory.serving import models
from gateway_memory.serving.calls import AgentCalls


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """POST /v1/NAME. request, response: the models of its bodies. call: what carries it out. help: what it does."""

    name: str
    request: type[models.RequestBody]
    response: type[models.ResponseBody]
    call: Callable[[AgentCalls, Any], Awaitable[models.ResponseBody]]
    help: str


def _endpoint(call: Callable[[AgentCalls, Any], Awaitable[models.ResponseBody]]) -> Endpoint:
    """Return the endpoint of a call: its models are those of its signature, and its help begins its docstring."""
    request, response = get_type_hints(call).values()
    help_text = (call.__doc__ or "").partition("\n")[0]
    return Endpoint(name=call.__name__, request=request, response=response, call=call, help=help_text)


ENDPOINTS: Final = tuple(_endpoint(call) for name, call in vars(AgentCalls).items() if not name.startswith("_"))


@cache
def document() -> dict[str, Any]:
    """Return the description in the form of OpenAPI 3.1: that of `openapi.json`, with the calls and their models."""
    wanted: list[tuple[type[models.RequestBody | models.ResponseBody], Literal["validation", "serialization"]]] = [
        (models.Error, "serialization")
    ]
    for each in ENDPOINTS:
        wanted += [(each.request, "validation"), (each.response, "serialization")]
    refs, schemas = models_json_schema(wanted, ref_template="#/components/schemas/{model}")
    description: dict[str, Any] = json.loads(Path(__file__).with_name("openapi.json").read_bytes())
    description["info"]["version"] = __version__
    description["components"]["schemas"] = schemas["$defs"]
    error = _response("An error.", refs[models.Error, "serialization"])
    for each in ENDPOINTS:
        body = {"required": True, "content": {"application/json": {"schema": refs[each.request, "validation"]}}}
        response = _response(each.help, refs[each.response, "serialization"])
        description["paths"][f"/v1/{each.name}"] = {
            "post": {
                "operationId": each.name,
                "summary": each.help,
                "requestBody": body,
                "responses": {"200": response, "default": error},
            }
        }
    return description


def _response(text: str, schema: Any) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": schema}}}
