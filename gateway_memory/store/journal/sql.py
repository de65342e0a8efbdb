"""What the journal needs of a database and its processes, and SQL that SQLite and PostgreSQL write differently.

Queries are written once, in SQL that both engines read: values are question marks, and a name that is a keyword of one
of them is quoted. Functions that only SQLite has are defined in PostgreSQL by its schema.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Protocol, TypeAlias, TypeVar

from gateway_memory.ground.databases import EVERY, Database
from gateway_memory.ground.logs import get_logger

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")
P = ParamSpec("P")


def statements(path: Path) -> dict[str, str]:
    """Return the statements of a file by their names. Each follows a line `-- name`, and ends at an empty line."""
    blocks = (block.split("\n") for block in path.read_text("utf-8").split("\n\n")[1:])
    return {name.removeprefix("-- "): " ".join(line.strip() for line in lines) for name, *lines in blocks}


SQL: Final = statements(Path(__file__).with_name("queries.sql"))
"""The statements that take more than a line, by "module.name"; shorter ones are where they run."""
AMONG: Final = "(SELECT value FROM json_each(?))"
"""The values of a JSON list of texts, for IN."""
AMONG_NUMBERS: Final = "(SELECT CAST(value AS BIGINT) FROM json_each(?))"
"""The values of a JSON list of numbers, for IN."""


UNDECODABLE: Final = (ValueError, KeyError, TypeError, IndexError, AttributeError)
"""The errors of decoding a body that is not JSON, or JSON of another shape."""

Scopes: TypeAlias = str | Sequence[str]
"""The scopes whose rows a transaction sees and writes, by key: one, several, none, or `EVERY`.

The queries name their scopes as well; PostgreSQL compares them too, by row-level security. A file does not.
"""


class SqlConnection(Protocol):
    """Runs work on a database, outside the event loop. Every call may raise StoreError, and has then changed nothing.

    Work may run again where it collided with another transaction, so it changes nothing but the database.
    """

    @property
    def unhurried(self) -> "SqlConnection":
        """The same database for work that may take minutes, which nobody waits for."""

    async def transact(
        self,
        work: Callable[[Database], T],
        *,
        scopes: Scopes = (),
        exclusive: Sequence[str] = (),
        shared: Sequence[str] = (),
        waits: bool = True,
    ) -> T:
        """Run work atomically, as if no other transaction ran at the time. It is durable when this returns.

        scopes: those whose rows it sees.
        exclusive: keys to lock in exclusive mode, such as that of a scope. These locks keep conflicting transactions
        out, so that PostgreSQL runs the work as READ COMMITTED, and not as SERIALIZABLE.
        shared: keys to lock in shared mode.
        waits: whether to wait for others who hold these names, or rows; otherwise StoreBusyError is raised soon.
        """

    async def read(self, work: Callable[[Database], T], *, scopes: Scopes = ()) -> T:
        """Run work that only reads, on one snapshot."""

    async def rows(self, query: str, values: Sequence[object] = (), *, scopes: Scopes = ()) -> list[Any]:
        """Return all rows of a query."""

    async def shed(self) -> None:
        """Leave nothing of what was deleted in a log of the storage, as far as that can be had without waiting."""


@contextmanager
def transaction(database: "sqlite3.Connection", *, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """Run a block in one transaction of SQLite, rolled back if anything raises. begin: with BEGIN, it may only read."""
    database.execute(begin)
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:  # a full disk may have rolled it back already
            database.execute("ROLLBACK")
        raise


class Table:
    """What the classes of the journal have in common: calls of one statement, or of a function over a connection.

    Every call may raise StoreError, and has then changed nothing. scopes: see `SqlConnection.transact`.
    """

    def __init__(self, connection: SqlConnection) -> None:
        self._connection = connection

    async def _rows(self, scopes: Scopes, query: str, *values: object) -> list[Any]:
        return await self._connection.rows(query, values, scopes=scopes)

    async def _column(self, scopes: Scopes, query: str, *values: object) -> list[Any]:
        """Return the first value of each row."""
        return [row[0] for row in await self._rows(scopes, query, *values)]

    async def _decoded(
        self, table: str, key: str, rows: Sequence[Sequence[Any]], decode: Callable[[Sequence[Any]], T]
    ) -> list[T]:
        """Return the decoded rows (key, scope, body, …) of a table. Rows that can't be decoded are quarantined.

        key: the column of the rows' keys.
        """
        values: list[T] = []
        bad: list[Sequence[Any]] = []
        for row in rows:
            try:
                values.append(decode(row))
            except UNDECODABLE:
                bad.append(row)

        def work(database: Database) -> None:
            for identity, scope, body, *_ in bad:
                which = f"scope = ? AND {key} = ?"
                if database.execute(f"DELETE FROM {table} WHERE {which}", (scope, identity)).rowcount:
                    quarantine(database, table, scope, body)

        if bad:
            await self._write(EVERY, work)
        return values

    async def _change(self, scopes: Scopes, query: str, *values: object) -> int:
        """Run one statement in its own transaction, and return the number of changed rows."""
        return await self._write(scopes, lambda database: database.execute(query, values).rowcount)

    async def _change_many(self, scopes: Scopes, query: str, rows: Sequence[Sequence[object]]) -> None:
        await self._write(scopes, lambda database: database.executemany(query, rows).rowcount)

    async def _read(
        self, scopes: Scopes, work: Callable[Concatenate[Database, P], T], *arguments: P.args, **named: P.kwargs
    ) -> T:
        return await self._connection.read(lambda database: work(database, *arguments, **named), scopes=scopes)

    async def _write(
        self, scopes: Scopes, work: Callable[Concatenate[Database, P], T], *arguments: P.args, **named: P.kwargs
    ) -> T:
        return await self._connection.transact(lambda database: work(database, *arguments, **named), scopes=scopes)


def quarantine(database: Database, table: str, scope: object, body: object) -> None:
    """Keep a body that can't be decoded apart, within the caller's transaction, so that it blocks nothing else."""
    get_logger(__name__).error("journal.row_unreadable", table=table)  # hooks need no logger
    database.execute("INSERT INTO unreadable (scope, place, body) VALUES (?, ?, ?)", (str(scope), table, str(body)))


def columns_of(kind: type) -> str:
    """Return the columns of a dataclass, which are its fields, for a query."""
    return ", ".join(f'"{field.name}"' for field in fields(kind))


def made(kind: type[T], rows: Sequence[Sequence[Any]]) -> list[T]:
    """Return rows as values of a dataclass, whose fields are the columns, in their order."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return [kind(**dict(zip(names, row, strict=True))) for row in rows]


class ProcessSlot(Protocol):
    """The slot that this process leases among the processes that share a store."""

    @property
    def number(self) -> int:
        """The number of the slot. No other living process has the same number."""

    def is_alone(self) -> bool:
        """Return whether no other process has the store open."""

    async def living(self, numbers: Collection[int]) -> frozenset[int]:
        """Return which of these slots a living process holds. May raise StoreError."""

    def orphan(self, number: int) -> AbstractContextManager[object] | None:
        """Return a context that holds the slot of a dead process, or None while that process lives."""


WaitNotified: TypeAlias = Callable[[float, Callable[[], Iterable[str]]], Awaitable[frozenset[str] | None]]
"""Waits until a process has named one of some names since the last call, at the latest for so many seconds.

Names are keys of scopes, and those of slots. Returns the ones that were named; None where time is up, or some may have
been missed: notifications can be lost, so the store is also looked at from time to time.
"""


def distinct(table: str, column: str) -> str:
    """Return a query of the values of an indexed column, which reads one row of each."""
    return (
        f"WITH RECURSIVE found(value) AS (SELECT min({column}) FROM {table} UNION ALL "
        f"SELECT (SELECT min({column}) FROM {table} WHERE {column} > found.value) FROM found "
        "WHERE found.value IS NOT NULL) SELECT value FROM found WHERE value IS NOT NULL"
    )


def member(column: str, key: str) -> str:
    """Return an expression for a member of the JSON object in a column; null where the column holds no such object.

    An AND would not do: a server may evaluate its sides in any order, and taking apart what is no JSON is an error.
    """
    return f"CASE WHEN json_valid({column}) THEN json_extract({column}, '$.{key}') END"


def upsert(table: str, columns: str, key: str) -> str:
    """Return a statement that inserts a row, or replaces the one of the same key. columns, key: names with commas."""
    names = [name.strip() for name in columns.split(",")]
    kept = {name.strip() for name in key.split(",")}
    marks = ", ".join("?" * len(names))
    changes = ", ".join(f"{name} = excluded.{name}" for name in names if name not in kept)
    return f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT ({key}) DO UPDATE SET {changes}"
