"""The application of the service: its routes, its open memories, and what guards it."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, Self

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway_memory.config.service import LimitSettings, ProxySettings
from gateway_memory.config.settings import Config, tuned
from gateway_memory.ground.metrics import Metrics
from gateway_memory.memory import GatewayMemory
from gateway_memory.observability.prometheus import MetricsCollector, exposition
from gateway_memory.serving.access import Access
from gateway_memory.serving.calls import AgentCalls
from gateway_memory.serving.endpoints import ENDPOINTS, Endpoint, document
from gateway_memory.serving.errors import ServiceError, error_response, service_error
from gateway_memory.serving.feeds import ChangeFeed, Listener
from gateway_memory.serving.request import parse_body

TOKEN_PATH: Final = "/p/"
"""What a path begins with that has a token in it."""
_PROMETHEUS: Final = "text/plain; version=0.0.4; charset=utf-8"
_Handler = Callable[[Request], Awaitable[Response]]


class OpenAgent:
    """Keeps an agent's memory open for a service, except while its workspace is needed alone."""

    def __init__(self, service: "Service", agent: str, folder: Path, config: Config) -> None:
        self._service = service
        self._agent = agent
        self._folder = folder
        self._config = config
        self._open = AsyncExitStack()
        self._closing = asyncio.Lock()

    async def __aenter__(self) -> Self:
        channels = [self._service.feeds[self._agent]]
        made = GatewayMemory(self._config, self._folder, agent=self._agent, channels=channels)
        memory = await self._open.enter_async_context(made)
        self._service.agents[self._agent] = AgentCalls(self._agent, memory)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    def retune(self, config: Config) -> None:
        """Take the least scores of recall from a changed config: now, and when the memory is opened again."""
        self._config = tuned(self._config, config)
        if self._agent in self._service.agents:
            self._service.agents[self._agent].memory.retune(self._config)

    @asynccontextmanager
    async def closed(self) -> AsyncIterator[Path]:
        """Close the memory meanwhile, so that its workspace, which is returned, can be used alone.

        Requests are refused meanwhile, to be repeated in some seconds.
        """
        async with self._closing:
            del self._service.agents[self._agent]
            try:
                await self._open.aclose()
                yield self._folder
            finally:
                if not self._service.stopping.is_set():
                    await self.__aenter__()


@dataclass(slots=True, kw_only=True)
class Service:
    """What the requests of the service share.

    access: checks tokens. proxy: the settings of that surface. agents: the calls by agent; empty until `ready`.
    feeds: the changes by agent.
    open: the open memories by agent, each of which can be closed for a while.
    """

    access: Access
    limits: LimitSettings
    feeds: Mapping[str, ChangeFeed]
    proxy: ProxySettings = field(default_factory=ProxySettings)
    agents: dict[str, AgentCalls] = field(default_factory=dict)
    open: dict[str, OpenAgent] = field(default_factory=dict)
    metrics: Metrics = field(default_factory=Metrics)
    ready: bool = False
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def agent(self, name: str) -> AgentCalls:
        """Return the calls of an agent.

        Raises:
            ServiceError: its memory is not open yet, or not any more.
        """
        self.check_ready()
        if name not in self.agents:
            raise ServiceError("busy", "the memory is closed for a moment; repeat the request in some seconds")
        return self.agents[name]

    def check_ready(self) -> None:
        """Check that the memories are open.

        Raises:
            ServiceError: they are not.
        """
        if self.stopping.is_set():
            raise ServiceError("closing", "the service is stopping; repeat the request in some seconds")
        if not self.ready:
            raise ServiceError("busy", "the memories are being opened; repeat the request in some seconds")


def make_app(service: Service, routes: Sequence[BaseRoute] = ()) -> ASGIApp:
    """Return the application.

    routes: further routes and mounts, such as /mcp. The Host and Origin of their requests are checked too. They call
    `service.access.grant` for their token, and `service.agent` for the memory.
    """

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readiness(_: Request) -> Response:
        service.check_ready()
        return JSONResponse({"status": "ready"})

    async def description(_: Request) -> Response:
        return JSONResponse(document())

    async def not_found(_: Request, __: Exception) -> Response:
        return error_response(ServiceError("not_found", "there is nothing here; /openapi.json lists what there is"))

    async def failed(_: Request, error: Exception) -> Response:
        return error_response(service_error(error))

    handlers: dict[str, tuple[str, _Handler]] = {
        "/healthz": ("healthz", health),
        "/readyz": ("readyz", readiness),
        "/openapi.json": ("openapi", description),
        "/metrics": ("metrics", partial(_metrics, service)),
        "/v1/changes": ("changes", partial(_changes, service)),
    }
    known = [Route(path, handled(service, *each), methods=["GET"]) for path, each in handlers.items()]
    known += [
        Route(f"/v1/{each.name}", handled(service, each.name, partial(_call, service, each)), methods=["POST"])
        for each in ENDPOINTS
    ]
    app = Starlette(routes=[*known, *routes], exception_handlers={HTTPException: not_found, Exception: failed})
    app.router.redirect_slashes = False
    return _Guard(app, service)


def handled(service: Service, name: str, answer: _Handler) -> _Handler:
    """Return a handler that answers every error in one form, and counts answers by their status."""

    async def handle(request: Request) -> Response:
        started = time.perf_counter()
        try:
            response = await answer(request)
        except Exception as error:  # noqa: BLE001 - a caller gets an answer whatever happens; it is logged
            response = error_response(service_error(error))
        service.metrics.add(f"http.{name}", time.perf_counter() - started)
        service.metrics.count(f"http.{name}.{response.status_code}")
        return response

    return handle


async def _call(service: Service, endpoint: Endpoint, request: Request) -> Response:
    agent = service.agent(service.access.host(request.headers))  # before the body is read
    body = await parse_body(request, endpoint.request, service.limits)
    response = await endpoint.call(agent, body)
    return Response(response.model_dump_json(exclude_unset=True), media_type="application/json")


async def _metrics(service: Service, request: Request) -> Response:
    service.access.metrics(request.headers)
    collectors = {
        name: MetricsCollector(calls.memory.metrics, calls.memory.now) for name, calls in service.agents.items()
    }
    collectors[""] = MetricsCollector(service.metrics, lambda: datetime.now().astimezone())
    return Response(exposition(collectors), media_type=_PROMETHEUS)


async def _changes(service: Service, request: Request) -> Response:
    agent = service.access.host(request.headers)
    service.check_ready()
    feed = service.feeds[agent]
    listener = feed.add("client")
    return Streamed(feed, listener, listener.stream())


class Streamed(StreamingResponse):
    """Events made of those of a listener, for as long as its client reads them."""

    def __init__(self, feed: ChangeFeed, listener: Listener, events: AsyncIterator[bytes]) -> None:
        super().__init__(events, media_type="text/event-stream", headers={"Cache-Control": "no-store"})
        self._leave = partial(feed.remove, listener)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()


class _Guard:
    """Checks Host, Origin and the number of requests, and answers what nobody else has answered."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        problem: ServiceError
        self._running += 1
        try:
            self._check(scope)
            await self._app(scope, receive, sending)
        except asyncio.CancelledError:  # the grace period is over
            problem = ServiceError("closing", "the service has stopped; repeat the request in some seconds")
        except ServiceError as error:
            problem = error
        except Exception as error:  # noqa: BLE001 - of a mounted application; the others are answered
            problem = service_error(error)
        else:
            return
        finally:
            self._running -= 1
        self._service.metrics.count(f"http.refused.{problem.code}")
        if not started:
            await error_response(problem)(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        # Whoever knows a token in the path is no page that was only opened in the same browser.
        by_path = str(scope["path"]).startswith(TOKEN_PATH)
        self._service.access.check_host(Headers(scope=scope), from_pages=by_path)
        if self._running > self._service.limits.requests:
            raise ServiceError("busy", "too many requests at once; repeat this one in some seconds")
