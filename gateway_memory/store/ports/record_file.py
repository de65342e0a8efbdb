"""The port for the lines of one scope's session records."""

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["RecordFile"]


class RecordFile(Protocol):
    """The records of one scope as lines. Calls may raise OSError."""

    def read(self, start: int = 0) -> bytes | None:
        """Return the content from byte `start` on, or None if there is no file."""

    def last(self) -> dict[str, Any] | None:
        """Return the newest record that was not deleted, or None."""

    def append(self, lines: bytes) -> None:
        """Append whole lines, atomically."""

    def rewrite(self, change: Callable[[bytes | None], bytes | None]) -> None:
        """Replace the content with the result of `change`. A result of None leaves it unchanged."""

    def put_aside(self, lines: bytes) -> None:
        """Store lines that are not valid records in a separate place."""
