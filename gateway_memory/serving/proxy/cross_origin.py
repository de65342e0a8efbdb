"""Web pages, such as a chat client in a browser, may call the proxy with a token in the path."""

from starlette.datastructures import Headers
from starlette.responses import Response


def shared(headers: Headers) -> list[tuple[str, str]]:
    """Return the headers that let the page of a request's origin read the response."""
    origin = headers.get("origin", "")
    return [("access-control-allow-origin", origin), ("vary", "origin")] if origin else []


def preflight(headers: Headers) -> Response:
    """Return the response to a browser that asks whether a page may send a request."""
    allowed = {"access-control-allow-methods": "GET, POST", "access-control-max-age": "600"}
    return Response(
        status_code=204,
        headers={
            **dict(shared(headers)),
            **allowed,
            "access-control-allow-headers": headers.get("access-control-request-headers", ""),
        },
    )
