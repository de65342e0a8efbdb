"""Session records in a file of lines."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway_memory.store.disk.own import NotOwnError, Owned, open_own, writable
from gateway_memory.store.summaries import DAMAGED_FILE, last_of


@dataclass(frozen=True, slots=True)
class DiskRecords:
    """A RecordFile in a folder. Imports for writing are deferred, since hooks only read and start often."""

    path: Path
    workspace: Path | None = None
    """The workspace of the folder; None if it is the folder itself."""

    def read(self, start: int = 0) -> bytes | None:
        try:
            with open_own(self._owned, self._file(self.path.name)) as stream:
                stream.seek(start)
                return stream.read()
        except (FileNotFoundError, NotOwnError):
            return None

    def last(self) -> dict[str, Any] | None:
        try:
            with open_own(self._owned, self._file(self.path.name)) as stream:
                return last_of(stream)
        except (FileNotFoundError, NotOwnError):
            return None

    def append(self, lines: bytes) -> None:
        from gateway_memory.store.disk.replacing import append

        append(self._place(self.path.name), lines)

    def rewrite(self, change: Callable[[bytes | None], bytes | None]) -> None:
        from gateway_memory.store.disk.replacing import rewrite

        rewrite(self._place(self.path.name), change)

    def put_aside(self, lines: bytes) -> None:
        from gateway_memory.store.disk.replacing import append

        append(self._place(DAMAGED_FILE), lines)

    @property
    def _owned(self) -> Owned:
        return Owned(self.workspace or self.path.parent)

    def _file(self, name: str) -> str:
        folder = self.path.parent
        return (folder / name).relative_to(self.workspace or folder).as_posix()

    def _place(self, name: str) -> Path:
        """Return where a file is written; what is there and is not the scope's own is set aside."""
        return writable(self._owned, self._file(name))
