"""Where the lines of one scope's session records are kept."""

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["RecordFile"]


class RecordFile(Protocol):
    """The records of one scope as lines, wherever they are kept. Calls may raise OSError."""

    def read(self, start: int = 0) -> bytes | None:
        """Return the content from a byte on, None where there is no file."""

    def last(self) -> dict[str, Any] | None:
        """Return the newest record that was not deleted, None where there is none."""

    def append(self, lines: bytes) -> None:
        """Append whole lines, or change nothing."""

    def rewrite(self, change: Callable[[bytes | None], bytes | None]) -> None:
        """Replace the content by what `change` makes of it; None leaves it as it is."""

    def put_aside(self, lines: bytes) -> None:
        """Keep lines that are no records elsewhere."""
