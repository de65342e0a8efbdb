"""Requests of the service: their bodies, within its limits, and the form in which every error is answered."""

import asyncio
import contextlib
import json
from typing import Any, Final, TypeVar

from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request

from gateway_memory.config.service import LimitSettings
from gateway_memory.edge.content import well_formed
from gateway_memory.serving.arguments import mistakes_of
from gateway_memory.serving.errors import ServiceError
from gateway_memory.serving.models import RequestBody

T = TypeVar("T", bound=RequestBody)

_JSON: Final = "application/json"
_NAMES: Final = frozenset({"id", "key", "speaker"})
"""Fields that say who and what. Two that differ in broken characters alone must not become the same."""


async def parse_body(request: Request, model: type[T], limits: LimitSettings) -> T:
    """Return the body of a request as its model.

    pydantic's parser takes no JSON that is nested more than some 200 deep.

    Raises:
        ServiceError: bad_request, too_large or too_slow.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _JSON or request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ServiceError("bad_request", f"expected a body of JSON with Content-Type: {_JSON}, not compressed")
    body = await read_body(request, limits)
    try:
        return model.model_validate_json(body or b"{}")
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] == "json_invalid":
            with contextlib.suppress(ValidationError):
                return model.model_validate_json(_mend(body))
        message, where = mistakes_of(error, list(model.model_fields))
        raise ServiceError("bad_request", message, where) from None


async def read_body(request: Request, limits: LimitSettings) -> bytes:
    """Return the body of a request.

    Raises:
        ServiceError: bad_request, too_large or too_slow.
    """
    body = bytearray()
    try:
        if int(request.headers.get("content-length", "0")) > limits.body_bytes:
            raise _too_large(limits)
        async with asyncio.timeout(limits.read_seconds):
            async for part in request.stream():
                body += part
                if len(body) > limits.body_bytes:
                    raise _too_large(limits)
    except TimeoutError:
        raise ServiceError("too_slow", f"the body did not arrive within {limits.read_seconds:g} s") from None
    except ClientDisconnect:
        raise ServiceError("bad_request", "the connection was closed before the body was complete") from None
    return bytes(body)


def _mend(body: bytes) -> bytes:
    """Return JSON with the half characters of its texts replaced.

    JSON from JavaScript may hold halves of surrogate pairs, as where a text was cut in an emoji. pydantic refuses them.
    """
    try:
        document = json.loads(body)
        whole = {name: each if name in _NAMES else _whole(each) for name, each in document.items()}
        return json.dumps(whole).encode()
    except (ValueError, RecursionError, AttributeError):  # no JSON, nested too deep, or no object
        return body


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [_whole(each) for each in value]
    if isinstance(value, dict):
        return {well_formed(name): _whole(each) for name, each in value.items()}
    return value


def _too_large(limits: LimitSettings) -> ServiceError:
    return ServiceError("too_large", f"a body has at most {limits.body_bytes} bytes (serve.limits.bodyBytes)")
