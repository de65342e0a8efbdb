"""A connection to PostgreSQL for rows: opened again in the background when it was lost, and never waiting long."""

import re
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import errors

from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.policies import SERVER_BACKOFF_SECONDS
from recall.rows.tables import Opening, Poll
from recall.rows.waiting import TimeoutConnection, is_loss
from recall.types import RecallError, RowsBusyError

_log = get_logger(__name__)


# A search waits behind a writer, who therefore waits no longer for another process, and tries again.
_LOCK_MILLISECONDS = 300
# The server ends a statement before the connection takes it for dead, and a transaction that its process has left.
_STATEMENT_MILLISECONDS = 800
_IDLE_MILLISECONDS = 10_000
_MANY = 250
# What holds until the transaction ends, also behind a pooler. The policies of the schema compare rows with the scopes.
_FIND = "select set_config('search_path', %s, true)"
SEE = f"{_FIND}, set_config('gateway_memory.scopes', %s::text[]::text, true)"
_LIMITS = (
    f"set_config('statement_timeout', '{_STATEMENT_MILLISECONDS}', true),"
    f" set_config('idle_in_transaction_session_timeout', '{_IDLE_MILLISECONDS}', true)"
)
_SEE = f"{SEE}, {_LIMITS}"
_COLLIDED = (errors.SerializationFailure, errors.DeadlockDetected, errors.LockNotAvailable)


class Server:
    """A connection that is opened again in the background when it was lost, and never waits long."""

    hint = ""

    def __init__(self, dsn: str, arguments: dict[str, Any]) -> None:
        self._dsn = dsn
        self._arguments = arguments
        self._connection: TimeoutConnection | None = None
        self._connecting: threading.Thread | None = None
        self._rests_until = 0.0
        self._is_open = False
        # The scope whose rows are seen, and whether a transaction that has begun sees it already.
        self._seen = ""
        self._is_seen = False
        self._in_transaction = False
        self.written = 0
        """How many transactions wrote."""

    @property
    def connection(self) -> "Server":
        return self

    def open(self) -> Opening:
        with self._sound():
            self._connection = self._connect()
        self._is_open = True
        return "found" if self.execute("select 1 from scope limit 1").fetchall() else "made"

    def open_later(self) -> None:
        """Connect in the background; until then the server is away."""
        self._is_open = True
        self._ready()

    @property
    def in_transaction(self) -> bool:
        """Whether it is within `writing` or `reading`."""
        return self._in_transaction

    def _connect(self) -> "TimeoutConnection":
        return TimeoutConnection.connect(self._dsn, **self._arguments)

    def close(self) -> None:
        self._is_open = False
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def poll(self) -> Poll:
        """Return "changed" while the server answers: each scope is then compared by its revision."""
        return "changed" if self._ready() else "unchanged"

    def is_current(self) -> bool:
        return self._connection is not None and not self._connection.closed

    def recreate(self) -> None:
        raise RecallError("rows in PostgreSQL make no sense; they are left for an operator to look at")

    def _ready(self) -> bool:
        if self.is_current():
            return True
        if self._connecting is None and self._is_open and time.monotonic() >= self._rests_until:
            self._connecting = threading.Thread(target=self._connect_again, name="recall-postgres", daemon=True)
            self._connecting.start()
        return False

    def _connect_again(self) -> None:
        try:
            connection = self._connect()
        except psycopg.Error as error:
            _log.warning("recall.server_away", error=type(error).__name__)
            self._rests_until = time.monotonic() + SERVER_BACKOFF_SECONDS
        else:
            if self._is_open:
                self._connection = connection
            else:
                connection.close()
        self._connecting = None

    def see(self, scope: str) -> None:
        self._is_seen = self._is_seen and self._seen == scope
        self._seen = scope

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Any:
        with self._sound():
            connection, query, values = self._there(), as_psycopg(query), [storable(value) for value in values]
            if not (self._in_transaction or self._seen):
                # Two statements in one message too, by the protocol that takes half of the time. Each search does it.
                cursor = psycopg.ClientCursor(connection)
                cursor.execute(f"{_FIND}, {_LIMITS}; {query}", [connection.search_path, *values])
                cursor.nextset()
                return cursor
            # Outside a transaction: one message to the server, and one transaction.
            with nullcontext() if self._in_transaction else connection.pipeline():
                self._look(connection)
                return connection.execute(query, values)

    def _look(self, connection: TimeoutConnection) -> None:
        if not self._is_seen:
            connection.execute(_SEE, (connection.search_path, [self._seen]))
            self._is_seen = self._in_transaction

    def executemany(self, query: str, values: Iterable[Sequence[Any]], /) -> None:
        rows = [[storable(value) for value in row] for row in values]
        with self._sound():
            for start in range(0, len(rows), _MANY):
                connection = self._there()
                self._look(connection)
                connection.cursor().executemany(as_psycopg(query), rows[start : start + _MANY])
                if start + _MANY < len(rows):
                    with connection.pipeline():  # whose end waits, so that no wait is for very many statements
                        pass

    def _there(self) -> "TimeoutConnection":
        if self._connection is None or not self._ready():
            raise RecallError("PostgreSQL is away")
        return self._connection

    @contextmanager
    def writing(self) -> Iterator["Server"]:
        self.written += 1
        with self._transaction(f"set local lock_timeout = {_LOCK_MILLISECONDS}"):
            yield self

    @contextmanager
    def reading(self) -> Iterator["Server"]:
        with self._transaction("set transaction isolation level repeatable read, read only"):
            yield self

    erasing = writing

    def shed(self) -> None:
        """Do nothing: the log is the server's."""

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Raise recall's errors, which quote nothing that was stored. A connection that may be broken is closed.

        One whose server has ended a statement that took too long stays: slow is not dead.
        """
        try:
            yield
        except _COLLIDED as error:
            raise RowsBusyError(f"another process writes the same rows ({type(error).__name__})") from error
        except psycopg.Error as error:
            is_broken = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and is_loss(error)
            if is_broken and self._connection is not None:
                self._connection.close()  # its state is unknown; the next call opens another one
            raise RecallError(f"PostgreSQL cannot be read or written ({type(error).__name__})") from error

    @contextmanager
    def _transaction(self, first: str) -> Iterator[None]:
        with self._sound():
            try:
                connection = self._there()
                with connection.pipeline(), connection.transaction():  # sent without waiting until a result is read
                    connection.execute(first)
                    self._in_transaction = True
                    yield
            finally:
                self._in_transaction = self._is_seen = False


def storable(value: Any) -> Any:
    """Return a value without the character that PostgreSQL has no text for."""
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


@lru_cache(maxsize=1024)
def as_psycopg(query: str) -> str:
    """Return a shared query as psycopg takes it. `row` is a keyword in PostgreSQL."""
    query = query.replace("%", "%%").replace("?", "%s").replace("json_each(", "json_texts(")
    return re.sub(r"\brow\b", '"row"', query)
