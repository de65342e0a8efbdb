"""The open memory of a gateway's process, for plugins that run it there."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gateway_memory.blocking import BlockingMemory

__all__ = ["AwayError", "Opening"]

_RETRY_SECONDS: Final = 3.0


class AwayError(Exception):
    """The memory is not open, or not open yet."""


class Opening:
    """A memory that a thread imports, opens and warms up, and opens again if that fails: no reply waits for it.

    failed: told in words why the memory can't be used.
    """

    def __init__(self, workspace: Path, config: str | None, failed: Callable[[str], None]) -> None:
        self._workspace, self._config, self._failed = workspace, config, failed
        self._memory: BlockingMemory | None = None
        self._tried = threading.Event()
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

    def memory(self, seconds: float) -> "BlockingMemory":
        """Return the memory. While it is opened for the first time, wait for at most these seconds.

        Raises:
            AwayError: it is not open.
        """
        self._tried.wait(seconds)
        if self._memory is None:
            raise AwayError("the memory is not open")
        return self._memory
