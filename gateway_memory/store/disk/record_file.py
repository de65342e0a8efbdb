"""Session records in a file of lines."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway_memory.store.summaries import DAMAGED_FILE, last_record

__all__ = ["DiskRecords"]


@dataclass(frozen=True, slots=True)
class DiskRecords:
    """A RecordFile in a folder. Imports for writing are deferred, since hooks only read and start often."""

    path: Path

    def read(self, start: int = 0) -> bytes | None:
        try:
            with self.path.open("rb") as stream:
                stream.seek(start)
                return stream.read()
        except FileNotFoundError:
            return None

    def last(self) -> dict[str, Any] | None:
        return last_record(self.path)

    def append(self, lines: bytes) -> None:
        from gateway_memory.store.disk.lines import append

        append(self.path, lines)

    def rewrite(self, change: Callable[[bytes | None], bytes | None]) -> None:
        from gateway_memory.store.disk.replacing import rewrite

        rewrite(self.path, change)

    def put_aside(self, lines: bytes) -> None:
        from gateway_memory.store.disk.lines import append

        append(self.path.with_name(DAMAGED_FILE), lines)
