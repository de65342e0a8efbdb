"""The one form in which the service answers errors, and what is wrong in a call's arguments. No value is quoted."""

import json
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal

from pydantic import ValidationError
from starlette.responses import Response

from gateway_memory.errors import ClosedError, GatewayMemoryError, RefusedError, StoreError, UsageError, place_of
from gateway_memory.runtime.ground import get_logger

__all__ = ["STATUS", "Code", "ServiceError", "error_response", "mistakes_of", "service_error", "unknown_names"]

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
    """A request that gets no answer. where: the dotted path of what is wrong in its body, or ""."""

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
"""Mistakes that an answer tells."""
_NEAR: Final = 0.75
_EXPECTED: Final = {
    "missing": "it is missing",
    "string_type": "expected text",
    "string_unicode": "expected text in valid Unicode",
    "string_too_short": "expected at least {min_length} characters",
    "string_too_long": "expected at most {max_length} characters",
    "string_pattern_mismatch": "expected text of the form {pattern}",
    "literal_error": "expected {expected}",
    "enum": "expected {expected}",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "finite_number": "expected a finite number",
    "greater_than": "expected more than {gt}",
    "greater_than_equal": "expected at least {ge}",
    "less_than": "expected less than {lt}",
    "less_than_equal": "expected at most {le}",
    "too_short": "expected at least {min_length} of them",
    "too_long": "expected at most {max_length} of them",
    "list_type": "expected a list",
    "dict_type": "expected an object",
    "model_type": "expected an object",
    "model_attributes_type": "expected an object",
    "datetime_type": "expected a time such as 2026-01-05T12:00:00Z",
    "datetime_parsing": "expected a time such as 2026-01-05T12:00:00Z",
    "datetime_from_date_parsing": "expected a time such as 2026-01-05T12:00:00Z",
    "timezone_aware": "expected a time with its zone, such as 2026-01-05T12:00:00Z",
    "json_invalid": "expected valid JSON",
    "value_error": "{error}",
}


def mistakes_of(error: ValidationError, known: Collection[str] = ()) -> tuple[str, str]:
    """Return what is wrong, and the dotted path of the first mistake. known: the names of the arguments."""
    found = error.errors(include_url=False, include_input=False)
    told = [_told(each, known) for each in found]
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return "; ".join(told[:_SHOWN]) + more, _place(found[0]["loc"])


def unknown_names(names: Collection[str], known: Collection[str]) -> str:
    """Return that arguments are unknown, with those that were meant, or else those that there are."""
    near = {name: get_close_matches(name, known, n=1, cutoff=_NEAR) for name in names}
    meant = "; ".join(f'did you mean "{found[0]}"?' for found in near.values() if found)
    listed = ", ".join(known) or "none"
    return f"unknown: {', '.join(names)}; {meant or f'known: {listed}'}"


def _told(mistake: Mapping[str, Any], known: Collection[str]) -> str:
    place = _place(mistake["loc"])
    if mistake["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return unknown_names([place], known if len(mistake["loc"]) == 1 else ())
    expected = _EXPECTED.get(mistake["type"], "it is not valid").format_map(mistake.get("ctx", {}))
    return f"{place}: {expected}" if place else expected


def _place(steps: Collection[object]) -> str:
    return ".".join(map(str, steps))
