"""The turns of a gateway that its memory has not taken yet, in order, on disk: for plugins in the gateway's process."""

import json
import os
from collections import deque
from pathlib import Path
from typing import Any

__all__ = ["Waiting"]


class Waiting:
    """Turns in order, oldest first. file: holds them while there are any, so that a crash loses none."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._turns: deque[dict[str, Any]] = deque()
        self._is_saved = file.exists()

    def load(self) -> None:
        """Read what an earlier process left. A last line that was cut off by a crash is left out."""
        if not self._is_saved:
            return
        for line in self._file.read_text("utf-8").splitlines():
            try:
                self._turns.append(json.loads(line))
            except ValueError:
                continue

    def __len__(self) -> int:
        return len(self._turns)

    def add(self, turn: dict[str, Any]) -> None:
        """Add a turn at the end."""
        self._turns.append(turn)

    @property
    def first(self) -> dict[str, Any]:
        """The oldest turn."""
        return self._turns[0]

    def done(self) -> None:
        """Drop the oldest turn."""
        self._turns.popleft()

    def save(self) -> None:
        """Bring the file up to date.

        Raises:
            OSError: it can't be written. The turns are in memory alone.
        """
        if not self._turns:
            if self._is_saved:
                self._file.unlink(missing_ok=True)
                self._is_saved = False
            return
        temporary = self._file.with_suffix(".tmp")
        temporary.touch(mode=0o600)
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(turn)}\n" for turn in list(self._turns))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._file)
        self._is_saved = True
