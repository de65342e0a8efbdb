"""The turns of a gateway that its memory has not taken yet, in order, on disk: for plugins in the gateway's process."""

import fcntl
import json
import os
import secrets
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

__all__ = ["LONGEST_TEXT", "Waiting", "shortened"]

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
        turns = list(self._stored())
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
            with self._locked():
                self._write(turns, done)
            with self._changing:
                self._done -= done
            self._saved = changes

    def _write(self, turns: list[dict[str, Any]], done: set[str]) -> None:
        ours = done | {turn["id"] for turn in turns}
        rows = [*(turn for turn in self._stored() if turn["id"] not in ours), *turns]
        if not rows:
            self._file.unlink(missing_ok=True)
            return
        temporary = self._file.with_name(f".{self._file.name}.{secrets.token_hex(4)}.tmp")
        try:
            temporary.touch(mode=0o600)
            with temporary.open("w", encoding="utf-8") as file:
                file.writelines(f"{json.dumps(row)}\n" for row in rows)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._file)
        finally:
            temporary.unlink(missing_ok=True)

    def _stored(self) -> Iterator[dict[str, Any]]:
        try:
            lines = self._file.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                turn = json.loads(line)
            except ValueError:
                continue
            if isinstance(turn, dict) and isinstance(turn.get("id"), str):
                yield turn

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep the other processes of the gateway from writing the file."""
        descriptor = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
