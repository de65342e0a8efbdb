"""Read the body of a request within its limits, and check it."""

import asyncio
from typing import Final, TypeVar

from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request

from gateway_memory.config.serve import LimitSettings
from gateway_memory.serving.errors import ServiceError
from gateway_memory.serving.mistakes import mistakes_of
from gateway_memory.serving.models import Asked

__all__ = ["asked_of", "body_of"]

A = TypeVar("A", bound=Asked)

_JSON: Final = "application/json"


async def asked_of(request: Request, model: type[A], limits: LimitSettings) -> A:
    """Return what a request asks.

    pydantic's parser takes no JSON that is nested more than some 200 deep.

    Raises:
        ServiceError: bad_request, too_large or too_slow.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _JSON or request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ServiceError("bad_request", f"expected a body of JSON with Content-Type: {_JSON}, not compressed")
    body = await body_of(request, limits)
    try:
        return model.model_validate_json(body or b"{}")
    except ValidationError as error:
        told, where = mistakes_of(error, _names_of(model))
        raise ServiceError("bad_request", told, where) from None


async def body_of(request: Request, limits: LimitSettings) -> bytes:
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


def _too_large(limits: LimitSettings) -> ServiceError:
    return ServiceError("too_large", f"a body has at most {limits.body_bytes} bytes (serve.limits.bodyBytes)")


def _names_of(model: type[Asked]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]
