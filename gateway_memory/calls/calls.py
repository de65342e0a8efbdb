"""What all groups of calls share: the open memory, and that no foreign error leaves one."""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from gateway_memory.errors import ClosedError, UsageError, store_failed
from gateway_memory.ground.metrics import Metrics
from gateway_memory.ground.runtime import Runtime
from gateway_memory.sessions.session import Session
from gateway_memory.wiring import OpenMemory
from recall import RecallError

T = TypeVar("T")

FOREIGN: Final = (OSError, RecallError)
_ENTERED: Final = ("__aenter__", "__aexit__")


def only_our_errors(owner: type[T]) -> type[T]:
    """Let each public async method of a class raise StoreError where a disk or a database fails.

    Instances must have a `_folder`, which the message names.
    """
    for name, call in list(vars(owner).items()):
        if inspect.iscoroutinefunction(call) and (not name.startswith("_") or name in _ENTERED):
            setattr(owner, name, _translate(call))
    return owner


def _translate(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(call)
    async def translated(self: Any, *args: Any, **values: Any) -> Any:
        try:
            return await call(self, *args, **values)
        except FOREIGN as error:
            raise store_failed(self._folder or "the memory", error) from error

    return translated


class Calls:
    """The state that all groups of calls share."""

    agent: str
    metrics: Metrics
    _folder: Path | None
    _runtime: Runtime
    _parts: OpenMemory | None = None
    _loop: asyncio.AbstractEventLoop | None = None

    @property
    def workspace(self) -> Path:
        """The folder of the workspace.

        Raises:
            UsageError: the memory has no workspace and keeps everything in memory.
        """
        if self._folder is None:
            raise UsageError("this memory has no workspace: it keeps everything in memory")
        return self._folder

    def _opened(self, *sessions: object) -> OpenMemory:
        """Return the parts of the open memory after checking the sessions of a call.

        Raises:
            ClosedError: the memory is closed, or belongs to another event loop.
            UsageError: a value is not a session of this memory.
        """
        if self._parts is None:
            raise ClosedError("this memory is closed: use it inside `async with GatewayMemory(…)`")
        if asyncio.get_running_loop() is not self._loop:
            raise ClosedError("this memory lives on another event loop: call it from the loop that opened it")
        for session in sessions:
            if not isinstance(session, Session):
                message = f"session is of type {type(session).__name__}: expected what start_session returned"
                raise UsageError(message)
            if session.registry is not self._parts.sessions:
                message = f"{session!r} does not belong to this memory: take the session that start_session returned"
                raise UsageError(message)
        return self._parts
