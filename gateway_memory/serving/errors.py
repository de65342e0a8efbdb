"""What can go wrong in a request, in one form, with words that say what to do."""

import json
from typing import Final, Literal

from starlette.responses import Response

from gateway_memory.errors import ClosedError, GatewayMemoryError, RefusedError, StoreError, UsageError, place_of
from gateway_memory.ground.logs import get_logger

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
