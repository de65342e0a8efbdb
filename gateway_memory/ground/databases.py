"""What a statement's result is, whatever database runs it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Protocol

EVERY: Final = "*"
"""Named in the place of scopes by work that concerns all of them, such as a worker's. Row-level security knows it."""


class Result(Protocol):
    """The result of a statement. rowcount: the number of changed rows."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Database(Protocol):
    """A connection to SQLite or PostgreSQL, in a transaction. Values are question marks."""

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Result:
        """Run one statement."""

    def executemany(self, query: str, values: Iterable[Sequence[Any]], /) -> Any:
        """Run one statement for each sequence of values."""
