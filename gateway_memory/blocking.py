"""A memory for hosts without our event loop: it runs on a thread of its own, and its calls wait for their results."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from copy import copy
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar
from weakref import WeakSet

from gateway_memory.config.settings import Config
from gateway_memory.errors import ClosedError, UsageError
from gateway_memory.memory import GatewayMemory
from gateway_memory.sessions.session import Session

__all__ = ["BlockingMemory"]

P = ParamSpec("P")
T = TypeVar("T")

_CALL_SECONDS: Final = 30.0
_OPEN_SECONDS: Final = 120.0
_CLOSE_SECONDS: Final = 30.0


def _waiting(
    call: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> "Callable[Concatenate[BlockingMemory, P], T]":
    """Return a call of `GatewayMemory` as one that waits for its result."""

    @wraps(call)
    def waits(self: "BlockingMemory", /, *args: P.args, **values: P.kwargs) -> T:
        return self.run(lambda memory: call(memory, *args, **values))

    return waits


class BlockingMemory:
    """The memory of one workspace, for any thread: `with BlockingMemory(config, workspace="…") as memory`.

    It takes the arguments of `GatewayMemory`, has its calls without `await`, and raises its errors. What is still open
    when the main thread ends is closed then, in order.

    timeout: the seconds that a call may take. `memory.within(2).search(…)` sets them for one call. A call that takes
    longer raises TimeoutError and is cancelled; whether a write was made is not known then, so repeat it: a turn with
    the same `turn_id` is stored once.

    In an event loop, use `await asyncio.wrap_future(memory.submit(lambda memory: memory.search(…)))`.
    """

    def __init__(
        self, config: Config, workspace: str | Path | None = None, *, timeout: float = _CALL_SECONDS, **options: Any
    ) -> None:
        self.timeout = timeout
        self._memory = GatewayMemory(config, workspace, **options)
        self._home = _Home()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, *, timeout: float = _OPEN_SECONDS) -> None:
        """Open the memory. It raises what `async with GatewayMemory(…)` raises, and TimeoutError."""
        self._home.open(self._memory, timeout)

    def close(self, *, timeout: float = _CLOSE_SECONDS) -> None:
        """Close the memory in order. Closing twice has no effect.

        Raises:
            TimeoutError: it takes longer, and goes on.
        """
        self._home.close(timeout)

    def within(self, timeout: float) -> Self:
        """Return the same memory, with another time limit (seconds) for its calls."""
        other = copy(self)
        other.timeout = timeout
        return other

    def submit(self, call: Callable[[GatewayMemory], Coroutine[Any, Any, T]]) -> Future[T]:
        """Start a call, and return its future. Cancelling the future cancels the call.

        Raises:
            ClosedError: the memory is closed.
        """
        return self._home.submit(lambda: call(self._memory))

    def run(self, call: Callable[[GatewayMemory], Coroutine[Any, Any, T]]) -> T:
        """Run a call, and return its result.

        Raises:
            ClosedError: the memory is closed, also while the call waited.
            TimeoutError: the call takes longer than `timeout`.
            UsageError: the caller is the memory's own thread, as in a channel or a clock.
        """
        return self._home.wait(self.submit(call), self.timeout)

    def rule_text(self, session: Session, *, chinese: bool | None = None) -> str:
        """Return the prompt rule of `GatewayMemory.rule_text`."""

        async def rule(memory: GatewayMemory) -> str:
            return memory.rule_text(session, chinese=chinese)

        return self.run(rule)

    identify = _waiting(GatewayMemory.identify)
    session_of = _waiting(GatewayMemory.session_of)
    reply = _waiting(GatewayMemory.reply)
    opening = _waiting(GatewayMemory.opening)
    open_sessions = _waiting(GatewayMemory.open_sessions)
    start_session = _waiting(GatewayMemory.start_session)
    attach_session = _waiting(GatewayMemory.attach_session)
    visit = _waiting(GatewayMemory.visit)
    before_reply = _waiting(GatewayMemory.before_reply)
    after_reply = _waiting(GatewayMemory.after_reply)
    placed = _waiting(GatewayMemory.placed)
    place = _waiting(GatewayMemory.place)
    marked = _waiting(GatewayMemory.marked)
    mark = _waiting(GatewayMemory.mark)
    observe = _waiting(GatewayMemory.observe)
    file_written = _waiting(GatewayMemory.file_written)
    end_session = _waiting(GatewayMemory.end_session)
    search = _waiting(GatewayMemory.search)
    get = _waiting(GatewayMemory.get)
    command = _waiting(GatewayMemory.command)
    answer = _waiting(GatewayMemory.answer)
    may_change = _waiting(GatewayMemory.may_change)
    record = _waiting(GatewayMemory.record)
    read_file = _waiting(GatewayMemory.read_file)
    receipts = _waiting(GatewayMemory.receipts)
    session_record = _waiting(GatewayMemory.session_record)
    session_counts = _waiting(GatewayMemory.session_counts)
    save_summary = _waiting(GatewayMemory.save_summary)
    save_fact = _waiting(GatewayMemory.save_fact)
    before_compaction = _waiting(GatewayMemory.before_compaction)
    stop = _waiting(GatewayMemory.stop)
    distill = _waiting(GatewayMemory.distill)
    flush = _waiting(GatewayMemory.flush)
    retry = _waiting(GatewayMemory.retry)


class _Home:
    """The thread on whose event loop one memory lives."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._leave: asyncio.Event | None = None
        self._calls: set[Future[Any]] = set()

    def open(self, memory: GatewayMemory, timeout: float) -> None:
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                raise UsageError("this memory is open already")
            opened: Future[None] = Future()
            self._thread = threading.Thread(
                target=lambda: asyncio.run(self._live(memory, opened)), name="gateway-memory-loop"
            )
            self._thread.start()
        _close_at_exit(self)
        try:
            opened.result(timeout)
        except TimeoutError:
            opened.cancel()
            raise
        except BaseException:  # it could not open, and its thread is about to end
            self._thread.join(timeout)
            raise

    async def _live(self, memory: GatewayMemory, opened: Future[None]) -> None:
        self._leave = asyncio.Event()
        try:
            async with memory:
                self._loop = asyncio.get_running_loop()
                if not opened.set_running_or_notify_cancel():
                    return
                opened.set_result(None)
                await self._leave.wait()
                self._loop = None
                await self._finish()
        except BaseException as error:
            if opened.done():
                raise
            opened.set_exception(error)
        finally:
            self._loop = None

    async def _finish(self) -> None:
        """Let the calls end that have begun: a write that is cancelled would have to be repeated."""
        running = [asyncio.wrap_future(call) for call in self._calls]
        if running:
            await asyncio.wait(running, timeout=_CLOSE_SECONDS / 3)

    def submit(self, call: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        with self._lock:
            if self._loop is None:
                raise ClosedError("this memory is closed: use it inside `with BlockingMemory(…)`")
            future = asyncio.run_coroutine_threadsafe(_called(call), self._loop)
            self._calls.add(future)
        future.add_done_callback(self._calls.discard)
        return future

    def wait(self, future: Future[T], timeout: float) -> T:
        if threading.current_thread() is self._thread:
            future.cancel()
            raise UsageError("this is the memory's own thread, which a call that waits would stop: use `submit`")
        try:
            return future.result(timeout)
        except TimeoutError:
            if future.done():  # the call itself raised it
                raise
            future.cancel()
            raise TimeoutError(f"the memory did not answer within {timeout:g} s") from None

    def close(self, timeout: float) -> None:
        with self._lock:
            loop, thread, leave = self._loop, self._thread, self._leave
        if loop is not None and leave is not None:
            with suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(leave.set)
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
            if thread.is_alive():
                raise TimeoutError(f"the memory is not closed after {timeout:g} s; it goes on closing")


async def _called(call: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return await call()


_open: Final[WeakSet[_Home]] = WeakSet()
_watching = threading.Lock()


def _close_at_exit(home: _Home) -> None:
    """Close a memory when the main thread has ended.

    The interpreter then waits for its threads, and `atexit` would come after that: a daemon thread learns of the end
    by `join`.
    """
    _open.add(home)
    if _watching.acquire(blocking=False):
        threading.Thread(target=_watch, name="gateway-memory-exit", daemon=True).start()


def _watch() -> None:
    threading.main_thread().join()
    for home in list(_open):
        home.close(_CLOSE_SECONDS)
