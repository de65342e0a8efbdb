"""The open memory of a gateway's process, for plugins that run it there."""

import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

    from gateway_memory.blocking import BlockingMemory

__all__ = ["AwayError", "Opening", "Pause"]

T = TypeVar("T")
_RETRY_SECONDS: Final = 3.0
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 60.0


class AwayError(Exception):
    """The memory is not open, or not open yet, or it did not answer just now."""


class Pause:
    """How long no reply waits for a memory that did not answer in time. Sans I/O; times are monotonic seconds.

    It doubles with each failure in a row, as in OpenClaw's plugin.
    """

    def __init__(self) -> None:
        self._seconds, self._until = 0.0, 0.0

    def holds(self, now: float) -> bool:
        """Return whether nothing waits now."""
        return now < self._until

    def failed(self, now: float) -> None:
        """Note that a call took too long. Calls that failed side by side count once."""
        if not self.holds(now):
            self._seconds = min(self._seconds * 2 or _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
            self._until = now + self._seconds

    def succeeded(self) -> None:
        """Note that a call was answered."""
        self._seconds, self._until = 0.0, 0.0


class Opening:
    """A memory that a thread imports, opens and warms up, and opens again if that fails: no reply waits for it.

    failed: told in words why the memory can't be used.
    """

    def __init__(self, workspace: Path, config: str | None, failed: Callable[[str], None]) -> None:
        self._workspace, self._config, self._failed = workspace, config, failed
        self._memory: BlockingMemory | None = None
        self._tried = threading.Event()
        self._pause = Pause()
        threading.Thread(target=self._open, name="gateway-memory-open", daemon=True).start()

    def _open(self) -> None:
        while threading.main_thread().is_alive():
            try:
                from gateway_memory import OWNER, load_config
                from gateway_memory.blocking import BlockingMemory

                memory = BlockingMemory(load_config(self._config), self._workspace)
                memory.open()
                self._memory = memory
                self._tried.set()
                memory.search(memory.visit(user=OWNER), "warm up", limit=1)  # loads the encoder
            except Exception as error:  # noqa: BLE001 - the gateway replies without a memory
                self._failed(f"{self._workspace} can't be used: {error}")
                self._tried.set()
            if self._memory:
                return
            time.sleep(_RETRY_SECONDS)

    @property
    def is_trying(self) -> bool:
        """Whether the memory is being opened for the first time."""
        return not self._tried.is_set()

    @property
    def is_away(self) -> bool:
        """Whether the memory did not answer in time just now, so that no reply waits for it."""
        return self._pause.holds(time.monotonic())

    def late(self) -> None:
        """Note that something took too long."""
        self._pause.failed(time.monotonic())

    def wait(self, seconds: float) -> None:
        """Wait until the memory was opened, or could not be, for at most these seconds."""
        self._tried.wait(seconds)

    def submit(self, work: Callable[[Any], Coroutine[Any, Any, T]]) -> "Future[T]":
        """Start a call on the memory's loop. Any answer of the memory ends a pause.

        Raises:
            AwayError: the memory is not open.
        """
        if self._memory is None:
            if self.is_trying:
                self.late()
            raise AwayError("the memory is not open")
        future = self._memory.submit(work)
        future.add_done_callback(self._answered)
        return future

    def _answered(self, call: "Future[Any]") -> None:
        if not call.cancelled():
            self._pause.succeeded()

    def call(self, work: Callable[[Any], Coroutine[Any, Any, T]], seconds: float) -> T:
        """Run a call, and wait for at most these seconds, the first opening included.

        Raises:
            AwayError: the memory is not open.
            TimeoutError: the call takes longer. It is cancelled.
        """
        end = time.monotonic() + seconds
        self.wait(seconds)
        future = self.submit(work)
        try:
            return future.result(max(0.0, end - time.monotonic()))
        except TimeoutError:
            future.cancel()
            self.late()
            raise
