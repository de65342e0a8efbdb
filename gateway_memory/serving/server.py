"""Run the service: listen, open the memories, answer until a signal comes, and close everything in order."""

import asyncio
import contextlib
import errno
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import uvicorn
from starlette.routing import BaseRoute

from gateway_memory.config.service import ServeSettings
from gateway_memory.config.settings import Config
from gateway_memory.errors import ConfigError, UsageError
from gateway_memory.ground.logs import get_logger
from gateway_memory.parts import OWN, Surface, make, names
from gateway_memory.serving.access import Access
from gateway_memory.serving.app import OpenAgent, Service, make_app
from gateway_memory.serving.connections import connection_class
from gateway_memory.serving.feeds import ChangeFeed

log = get_logger(__name__)


_HEADER_BYTES: Final = 32_768
_CONNECT_SECONDS: Final = 1.0


class _Server(uvicorn.Server):
    """uvicorn's server, without its handlers of signals: they would end the process before the memories are closed."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    config: Config,
    *,
    started: Callable[[str], None],
    surfaces: Sequence[Surface] = (),
) -> None:
    """Serve the agents of a config, as `serve_options` returns it, until SIGTERM or SIGINT.

    started: called with the address when the service listens and its memories are open. surfaces: of the caller's own.

    Raises:
        ConfigError: the certificate can't be used, or the address can't be listened at.
        UsageError: the file of a token can't be trusted, or the socket is another service's.
        StoreError: a memory can't be opened.
    """
    settings, limits = config.serve, config.serve.limits
    workspaces = {agent: Path(served.workspace) for agent, served in settings.agents.items()}
    access = Access(workspaces, hosts=(*settings.hosts, settings.host), origins=settings.origins)
    feeds = {agent: ChangeFeed(limits.listeners) for agent in workspaces}
    service = Service(access=access, limits=limits, feeds=feeds, proxy=settings.proxy)
    async with AsyncExitStack() as stack:
        routes = [route for name in names("surface") for route in await _surface(stack, name, service)]
        routes += [route for each in surfaces for route in await stack.enter_async_context(each(service))]
        listener, address = stack.enter_context(_listening(settings))
        server = _Server(
            uvicorn.Config(
                make_app(service, routes),
                http=connection_class(limits.connections, limits.read_seconds),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",  # its own messages quote requests
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=limits.keep_alive_seconds,
                timeout_graceful_shutdown=limits.grace_seconds,
                h11_max_incomplete_event_size=_HEADER_BYTES,
                ssl_certfile=settings.tls.certificate or None,
                ssl_keyfile=settings.tls.key or None,
            )
        )
        try:
            server.config.load()
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"serve.tls: the certificate or its key can't be used: {error}") from error

        stopped = asyncio.Event()

        def stop() -> None:
            log.info("service.stopping")
            stopped.set()
            service.stopping.set()
            server.force_exit = server.should_exit  # a second signal does not wait
            server.should_exit = True
            for feed in feeds.values():
                feed.close()

        stack.enter_context(_signals(stop))
        memories = await stack.enter_async_context(AsyncExitStack())
        # The sockets close first, then the requests end, then the memories close.
        running = await stack.enter_async_context(_answering(server, listener))
        running.add_done_callback(lambda _: stopped.set())
        for agent, folder in workspaces.items():
            memory = OpenAgent(service, agent, folder, config)
            service.open[agent] = await memories.enter_async_context(memory)
        service.ready = True
        log.info("service.started", agents=len(workspaces))
        if not stopped.is_set():
            started(address)
        await stopped.wait()
    log.info("service.stopped")


async def _surface(stack: AsyncExitStack, name: str, service: Service) -> Sequence[BaseRoute]:
    """Return the routes of a surface; none of one of another package that fails: the others are worth having."""
    try:
        routes: Sequence[BaseRoute] = await stack.enter_async_context(make("surface", name, service))
    except Exception as error:
        if name in OWN["surface"]:
            raise
        log.error("service.surface_failed", surface=name, error=type(error).__name__)
        return []
    return routes


@contextlib.asynccontextmanager
async def _answering(server: _Server, listener: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    """Answer requests meanwhile. At the end, running ones are finished, or cut after the grace period."""
    running = asyncio.create_task(server.serve(sockets=[listener]), name="gateway-memory-http")
    try:
        yield running
    finally:
        server.should_exit = True
        await running
        await asyncio.gather(*server.server_state.tasks, return_exceptions=True)  # those that were cut


@contextlib.contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def _listening(settings: ServeSettings) -> Iterator[tuple[socket.socket, str]]:
    """Open the listening socket; yields it with its address in words. A Unix socket is for this user alone."""
    path, made = Path(settings.socket) if settings.socket else None, 0
    family = socket.AF_UNIX if path else socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # By the protocol's number asyncio knows to send small answers at once; without it, each would wait 40 ms.
    with socket.socket(family, socket.SOCK_STREAM, 0 if path else socket.IPPROTO_TCP) as listener:
        try:
            if path:
                _remove_dead(path)
                listener.bind(str(path))
                path.chmod(0o600)  # nobody can connect before the server listens
                made = path.stat().st_ino
            else:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                listener.bind((settings.host, settings.port))
        except OSError as error:
            where = path or f"{settings.host}:{settings.port}"
            taken = error.errno == errno.EADDRINUSE and not path
            advice = "; another program has this port: use --port 0 for a free one, or --port N" if taken else ""
            raise ConfigError(f"{where}: the service can't listen there: {error.strerror or error}{advice}") from error
        if path:
            yield listener, f"unix:{path}"
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_ino == made:
                    path.unlink()
        else:
            name = f"[{settings.host}]" if ":" in settings.host else settings.host
            scheme = "https" if settings.tls.certificate else "http"
            yield listener, f"{scheme}://{name}:{listener.getsockname()[1]}"


def _remove_dead(path: Path) -> None:
    """Remove a Unix socket whose process has died. Raises UsageError: another service listens there."""
    if path.is_socket():
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_CONNECT_SECONDS)
            if probe.connect_ex(str(path)) == 0:
                raise UsageError(f"{path}: another service listens there")
        path.unlink()
