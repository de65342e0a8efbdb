"""GatewayMemory opens and closes a memory. Its calls are defined in `calls`."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from gateway_memory.browsing.lists import Lists
from gateway_memory.browsing.portrait import Portraits
from gateway_memory.browsing.reads import Browsing
from gateway_memory.calls.calls import only_our_errors
from gateway_memory.calls.memories import ReplyingCalls
from gateway_memory.calls.shell import answer_request
from gateway_memory.config.settings import Config, tuned
from gateway_memory.edge.shell_socket import listening
from gateway_memory.errors import UsageError
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.metrics import Metrics
from gateway_memory.ground.runtime import Runtime
from gateway_memory.ground.times import local_now
from gateway_memory.parts import Extract, Reranker
from gateway_memory.sessions.registry import SessionRegistry
from gateway_memory.transfer.backlog import Backlog
from gateway_memory.transfer.exporter import Exporter
from gateway_memory.transfer.importer import Importer
from gateway_memory.wiring import Given, OpenMemory
from notifier import Channel

if TYPE_CHECKING:
    from recall import TextEncoder

log = get_logger(__name__)


@only_our_errors
class GatewayMemory(ReplyingCalls):
    """The memory of one workspace, on one event loop: `async with GatewayMemory(config, workspace="…") as memory`.

    config: the result of `load_config`.
    workspace: the folder of the Markdown files, created if it is missing. None keeps everything in memory.
    agent: the agent in `agents.list` whose overrides apply to sessions whose key names no agent.
    clock: returns the current time (aware).
    extract: the host's own model for the debounced stage.
    channels: receive changes in addition to the sessions and MQTT.
    encoder: makes an encoder of the host's own (`recall.TextEncoder`) in a thread, in the place of the configured one.
    rerank: puts what was found into a better order (`gateway_memory.parts.Reranker`), within a share of the deadline.

    Raises, on entry:
        WorkspaceError: the folder can't be created, read or written.
        JournalDamagedError: journal.sqlite was damaged. It was set aside, so that the next start succeeds.
        SchemaFromFutureError: a newer version wrote the journal.
        ConfigError: something that the config names is missing.

    Any call raises StoreError if a read or a write fails, and works again once the cause is removed.
    """

    def __init__(
        self,
        config: Config,
        workspace: str | Path | None = None,
        *,
        agent: str = "main",
        clock: Callable[[], datetime] = local_now,
        extract: Extract | None = None,
        channels: Sequence[Channel] = (),
        encoder: "Callable[[], TextEncoder] | None" = None,
        rerank: Reranker | None = None,
    ) -> None:
        self.config = config
        self._folder = None if workspace is None else Path(workspace).expanduser().absolute()
        self.agent = agent
        self.metrics = Metrics()
        self.settings = config.for_agent(agent)
        self.zone = self.settings.zone()
        self._given = Given(extract=extract, channels=channels, rerank=rerank)
        self._sessions = SessionRegistry(config, agent, self._folder)
        self._runtime = Runtime(
            clock=clock,
            zone=self.zone,
            metrics=self.metrics,
            settings_of=self._sessions.settings_of,
            encoder=encoder,
        )
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        if self._parts is not None:
            raise UsageError("this memory is open already")
        async with AsyncExitStack() as stack:
            self._loop = asyncio.get_running_loop()
            parts = OpenMemory(self._runtime, self._sessions)
            await parts.open(stack, self._folder, self, self._given)
            if self._folder is not None and self.settings.commands.socket:
                await stack.enter_async_context(listening(self._folder, partial(answer_request, self)))
            self._stack, self._parts = stack.pop_all(), parts
        log.info("memory.open")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._parts is not None:
            self._parts = None
            await self._stack.aclose()
            log.info("memory.closed")

    def retune(self, config: Config) -> None:
        """Take the least scores of recall from another config, from the next reply on, and nothing else."""
        self.config = tuned(self.config, config)
        self.settings = self.config.for_agent(self.agent)
        self._sessions.retune(self.config)

    @property
    def browsing(self) -> Browsing:
        """What pages show of each scope.

        Raises:
            ClosedError: the memory is closed.
        """
        return self._opened().browsing

    @property
    def lists(self) -> Lists:
        """What a memory holds, page by page.

        Raises:
            ClosedError: the memory is closed.
        """
        return self._opened().lists

    @property
    def portraits(self) -> Portraits:
        """What is known of the person of each scope, and of whom and what its memories name.

        Raises:
            ClosedError: the memory is closed.
        """
        return self._opened().portraits

    @property
    def importer(self) -> Importer:
        """The importer of another memory's items.

        Raises:
            ClosedError: the memory is closed.
        """
        return self._opened().importer

    @property
    def backlog(self) -> Backlog:
        """The reader of what was imported and is unread.

        Raises:
            ClosedError: the memory is closed.
        """
        return self._opened().backlog

    @property
    def exporter(self) -> Exporter:
        """The exporter of all memories.

        Raises:
            ClosedError: the memory is closed.
        """
        return self._opened().exporter
