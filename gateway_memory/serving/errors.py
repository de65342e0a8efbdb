"""The one form in which the service answers errors, and what is wrong in a call's arguments. No value is quoted."""

import json
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal

from pydantic import ValidationError
from starlette.responses import Response

from gateway_memory.edge.phrases import texts
from gateway_memory.errors import ClosedError, GatewayMemoryError, RefusedError, StoreError, UsageError, place_of
from gateway_memory.runtime.ground import get_logger

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
