"""Our service for clients that can send no token: `TOKEN=… [EVERYTHING=1] python conforming_service.py serve …`.

Every request to /mcp gets the token of the environment. With EVERYTHING, the server has the tools of the conformance
suite in place of ours.
"""

import os
import sys
from collections.abc import Sequence

from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway_memory.cli.main import main
from gateway_memory.serving import server
from gateway_memory.serving.app import Service, make_app


def with_token(service: Service, routes: Sequence[BaseRoute] = ()) -> ASGIApp:
    app = make_app(service, routes)
    token = f"Bearer {os.environ['TOKEN']}".encode()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "headers": [*scope["headers"], (b"authorization", token)]}, receive, send)

    return answer


if __name__ == "__main__":
    server.make_app = with_token  # type: ignore[attr-defined]
    if os.environ.get("EVERYTHING"):
        from everything import fill

        from gateway_memory.serving import mcp as mcp_server

        mcp_server.fill = lambda server, context_of: fill(server)  # type: ignore[attr-defined]
    sys.exit(main())
