"""What the rows need of a database that knows SQL as SQLite and PostgreSQL both read it."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from recall.rows.port import Opening, Poll

__all__ = ["EVERY", "RowsDatabase", "Statements"]

# Seen in the place of a scope by what concerns all of them.
EVERY = "*"


class Cursor(Protocol):
    """The result of a statement."""

    def fetchall(self) -> list[Any]: ...


class Statements(Protocol):
    """A connection. Values are question marks."""

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Cursor: ...

    def executemany(self, query: str, values: Sequence[Sequence[Any]], /) -> object: ...


class RowsDatabase(Protocol):
    """What holds the tables. hint: how to name the index of rows by revision, where a query must be told."""

    hint: str

    @property
    def connection(self) -> Statements: ...

    def open(self) -> Opening: ...

    def close(self) -> None: ...

    def poll(self) -> Poll: ...

    def recreate(self) -> None: ...

    def is_current(self) -> bool: ...

    def see(self, scope: str) -> None:
        """See the rows of this scope alone from now on. The queries name it too; a database may keep a wall as well.

        "": none, for the tables `scope` and `meta`, which lie outside the wall.
        """

    def writing(self) -> AbstractContextManager[Statements]:
        """A transaction that rolls back on any exception. What it reads after it has changed a scope is current."""

    def reading(self) -> AbstractContextManager[object]:
        """A transaction in which nothing changes between two reads."""

    def erasing(self) -> AbstractContextManager[Statements]:
        """A transaction after which nothing of what it deletes is left in the storage, as far as that can be had."""

    def shed(self) -> None:
        """Leave nothing of what was deleted in a log of the storage, as far as that can be had without waiting."""
