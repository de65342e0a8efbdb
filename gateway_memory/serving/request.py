"""Read a request within its limits, and answer its errors in one form."""

import asyncio
import contextlib
import json
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeVar
from urllib.parse import parse_qsl

from pydantic import ValidationError
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from gateway_memory.config.service import LimitSettings
from gateway_memory.edge.content import well_formed
from gateway_memory.edge.phrases import texts
from gateway_memory.errors import ClosedError, GatewayMemoryError, RefusedError, StoreError, UsageError, place_of
from gateway_memory.ground import get_logger
from gateway_memory.serving.models import RequestBody

log = get_logger(__name__)

Code = Literal[
    "bad_request", "unauthorized", "forbidden", "unknown_speaker", "not_found", "too_large", "too_slow", "busy",
    "storage", "closing", "internal",
]  # fmt: skip
STATUS: Final[dict[Code, int]] = {
    "bad_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "unknown_speaker": 403,
    "not_found": 404,
    "too_slow": 408,
    "too_large": 413,
    "internal": 500,
    "busy": 503,
    "storage": 503,
    "closing": 503,
}
"""The HTTP status of each code. A caller repeats after 408 and 5xx, with the same id."""
_LATER_SECONDS: Final = "1"


class ServiceError(Exception):
    """A request that is refused. where: the dotted path of what is wrong in its body, or ""."""

    def __init__(self, code: Code, message: str, where: str = "") -> None:
        super().__init__(message)
        self.code: Code = code
        self.where = where


def service_error(error: Exception) -> ServiceError:
    """Return an error of the memory as one of the service. Unknown errors are logged without their text."""
    match error:
        case ServiceError():
            return error
        case RefusedError():
            return ServiceError("unknown_speaker", str(error), "speaker")
        case UsageError():
            return ServiceError("bad_request", str(error))
        case ClosedError():
            return ServiceError("closing", "the service is stopping; repeat the request in some seconds")
        case StoreError():
            return ServiceError("storage", str(error))
    log.error("service.failed", error=type(error).__name__, place=place_of(error))
    kind = "" if isinstance(error, GatewayMemoryError) else f" ({type(error).__name__} at {place_of(error)})"
    return ServiceError("internal", f"an error of the service itself{kind}; its log tells more")


def error_response(error: ServiceError) -> Response:
    """Return an error as the answer to a request."""
    content = {"error": {"code": error.code, "message": str(error), "where": error.where}}
    headers = {}
    if error.code == "unauthorized":
        headers["WWW-Authenticate"] = "Bearer"
    if error.code in ("busy", "closing"):
        headers["Retry-After"] = _LATER_SECONDS
    text = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    return Response(text, STATUS[error.code], headers, media_type="application/json")


# What is wrong in the arguments of a call, in words that say what to do, over HTTP and MCP. No value is quoted.

_SHOWN: Final = 5
"""Mistakes that a response lists."""
_NEAR: Final = 0.75


def mistakes_of(error: ValidationError, known: Collection[str] = ()) -> tuple[str, str]:
    """Return what is wrong, and the dotted path of the first mistake. known: the names of the arguments."""
    mistakes = error.errors(include_url=False, include_input=False)
    lines = [_in_words(each, known) for each in mistakes]
    more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return "; ".join(lines[:_SHOWN]) + more, _path(mistakes[0]["loc"])


def unknown_names(names: Collection[str], known: Collection[str]) -> str:
    """Return that arguments are unknown, with those that were meant, or else those that there are."""
    near = {name: get_close_matches(name, known, n=1, cutoff=_NEAR) for name in names}
    meant = "; ".join(f'did you mean "{names_near[0]}"?' for names_near in near.values() if names_near)
    listed = ", ".join(known) or "none"
    return f"unknown: {', '.join(names)}; {meant or f'known: {listed}'}"


def _in_words(mistake: Mapping[str, Any], known: Collection[str]) -> str:
    path = _path(mistake["loc"])
    if mistake["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return unknown_names([path], known if len(mistake["loc"]) == 1 else ())
    expected: str = texts("mistakes").get(mistake["type"], "it is not valid").format_map(mistake.get("ctx", {}))
    return f"{path}: {expected}" if path else expected


def _path(steps: Collection[object]) -> str:
    return ".".join(map(str, steps))


# The body or the form of a request.

T = TypeVar("T", bound=RequestBody)

_JSON: Final = "application/json"
_NAMES: Final = frozenset({"id", "key", "speaker"})
"""Fields that say who and what. Two that differ in broken characters alone must not become the same."""


async def parsed_body(request: Request, model: type[T], limits: LimitSettings) -> T:
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
                return model.model_validate_json(_mended(body))
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


def _mended(body: bytes) -> bytes:
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


# The forms of the page as they come: read within the service's limits, and each field as often as it may be given.

_FORM: Final = "application/x-www-form-urlencoded"
_FIELDS: Final = 1000


class Form(ImmutableMultiDict[str, str]):
    """The fields of a form, in their order."""

    def one(self, name: str, default: str = "") -> str:
        """Return a field that is given once, or not at all.

        Raises:
            ServiceError: bad_request, it is given more than once.
        """
        given = self.getlist(name)
        if len(given) > 1:
            raise ServiceError("bad_request", f"{name}: given {len(given)} times; expected once", name)
        return given[0] if given else default

    def each(self, name: str) -> Sequence[str]:
        """Return a field that may be given any number of times; one that is not given is "" once."""
        return self.getlist(name) or ("",)


async def read_form(request: Request, limits: LimitSettings) -> Form:
    """Return the form of a request. Characters that are not valid are replaced.

    Raises:
        ServiceError: bad_request, too_large or too_slow.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise ServiceError("bad_request", "")
    body = await read_body(request, limits)
    try:
        return Form(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS, errors="replace"))
    except ValueError:
        raise ServiceError("bad_request", "") from None
