"""What plugins in a gateway's process need: the open memory, its tools, and the turns that wait for it on disk."""

import fcntl
import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gateway_memory.edge.phrases import texts
from gateway_memory.ground.files import replace_private
from gateway_memory.ground.texts import object_of

if TYPE_CHECKING:
    from concurrent.futures import Future

    from gateway_memory.blocking import BlockingMemory

TOOLS: Final = {name: (tool["description"], tool["argument"]) for name, tool in texts("tools").items()}
"""The tools that plugins in a gateway's process give its model: {name: (description, its one argument)}."""

LONGEST_TEXT: Final = 1_000_000
"""Characters. A longer text takes the memory longer than a turn has, so that it would wait for ever."""
_CUT: Final = "\n[… {number} more characters were too long for the memory. 其余 {number} 个字符过长，记忆没有收下。]"


def shortened(text: str) -> str:
    """Return a text that the memory can take in time: cut if it is too long, with words that say so."""
    extra = len(text) - LONGEST_TEXT
    return text[:LONGEST_TEXT] + _CUT.format(number=extra) if extra > 0 else text


class Waiting:
    """Turns in order, oldest first, for any thread. file: holds them while there are any, so that a crash loses none.

    Several processes may use one file: each keeps what the others wrote, and `load` takes over what stands there.
    A turn has its own "id", and texts in "user" and "reply".
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._turns: deque[dict[str, Any]] = deque()
        self._done: set[str] = set()
        """Ids that may stand in the file still."""
        self._changes, self._saved = 0, 0
        self._changing, self._saving = threading.Lock(), threading.Lock()

    def load(self) -> None:
        """Read what an earlier process left. A last line that was cut off by a crash is left out.

        Raises:
            OSError: it can't be read.
        """
        turns = list(self._read_stored())
        with self._changing:
            self._turns.extendleft(reversed(turns))

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, turn: dict[str, Any]) -> int:
        """Add a turn at the end. Return how many characters of it were too many, and were left out."""
        kept = {**turn, **{side: shortened(turn[side]) for side in ("user", "reply")}}
        with self._changing:
            self._turns.append(kept)
            self._changes += 1
        return sum(max(0, len(turn[side]) - LONGEST_TEXT) for side in ("user", "reply"))

    @property
    def first(self) -> dict[str, Any]:
        """The oldest turn."""
        return self._turns[0]

    def done(self) -> None:
        """Drop the oldest turn."""
        with self._changing:
            self._done.add(self._turns.popleft()["id"])
            self._changes += 1

    def save(self) -> None:
        """Bring the file up to date. One thread writes at a time; a state that is on disk already is not written again.

        Raises:
            OSError: it can't be written. The turns are in memory alone.
        """
        wanted = self._changes
        with self._saving:
            if self._saved >= wanted:
                return
            with self._changing:
                turns, done, changes = list(self._turns), set(self._done), self._changes
            with self._lock():
                self._write(turns, done)
            with self._changing:
                self._done -= done
            self._saved = changes

    def _write(self, turns: list[dict[str, Any]], done: set[str]) -> None:
        ours = done | {turn["id"] for turn in turns}
        rows = [*(turn for turn in self._read_stored() if turn["id"] not in ours), *turns]
        if not rows:
            self._file.unlink(missing_ok=True)
            return
        replace_private(self._file, "".join(f"{json.dumps(row)}\n" for row in rows).encode())

    def _read_stored(self) -> Iterator[dict[str, Any]]:
        try:
            lines = self._file.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            turn = object_of(line)
            if isinstance(turn.get("id"), str):
                yield turn

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Keep the other processes of the gateway from writing the file."""
        descriptor = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


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
                from gateway_memory.store.disk.workspace import own_config

                memory = BlockingMemory(load_config(self._config, own=own_config(self._workspace)), self._workspace)
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
        future.add_done_callback(self._note_answer)
        return future

    def _note_answer(self, call: "Future[Any]") -> None:
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
