"""Transactions in PostgreSQL, each as one job in a thread, with a deadline that holds whatever the server does."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

import psycopg
from psycopg import errors
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from gateway_memory.errors import StoreError
from gateway_memory.ground.databases import Database
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.metrics import Metrics
from gateway_memory.ground.policies import SERVER_BACKOFF_SECONDS, Breaker, backoff, retry
from gateway_memory.ground.threads import Threads
from gateway_memory.store.journal.sql import Scopes, SqlConnection
from gateway_memory.store.postgres.failures import COLLIDED, failed, is_away, unreachable
from gateway_memory.store.postgres.transaction import LOCK_EXCLUSIVE, LOCK_SHARED, SEE_SOON, Transaction, names_of, see
from recall import SilentError, TimeoutConnection

log = get_logger(__name__)


T = TypeVar("T")

_POOL_SECONDS: Final = 1.0
_IDLE_SECONDS: Final = 60.0
_TRIES: Final = 12
_LOCK_TRIES: Final = 5
_STATEMENT_SECONDS: Final = 0.9
_SLOW_SECONDS: Final = 600.0
"""How long a statement may take: of a call, and of background work."""
_LOCK_SECONDS: Final = 0.4
_LOCK_SECONDS_AT_ONCE: Final = 0.1
"""The lock timeout: usually, and for work that can do something else meanwhile."""
_SLOW_AT_MOST: Final = 2
_ENOUGH: Final = (SilentError, PoolTimeout, PoolClosed, errors.QueryCanceled)
"""After these the server is not asked again at once: who waits has a deadline."""
_APPLICATION: Final = "gateway-memory"
_RESTS: Final = "PostgreSQL did not answer lately; it is tried again in a moment"


def in_schema(schema: str) -> dict[str, Any]:
    """Return the arguments of a `TimeoutConnection` whose tables are in a schema.

    Each transaction says so anew, and statements are not prepared: a pooler may give each another connection.
    """
    return {"schema": schema, **ANYWHERE}


ANYWHERE: Final[dict[str, Any]] = {
    "autocommit": True,
    "prepare_threshold": None,
    "connect_timeout": 3,
    # By these, a process notices that the server is gone, and the server that a process is gone.
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "application_name": _APPLICATION,
}
"""The arguments of a connection that needs no tables."""


@contextmanager
def connected(dsn: str, schema: str, *, timeout_seconds: float = 1.0) -> Iterator[TimeoutConnection]:
    """A connection of its own, for a block with several transactions. It needs a session, which no pooler gives.

    Raises StoreError, for what goes wrong in the block as well.
    """
    with _connected(dsn, schema, timeout_seconds) as connection:
        connection.execute("SELECT set_config('search_path', %s, false)", (connection.search_path,))
        yield connection


@contextmanager
def in_transaction(
    dsn: str, schema: str, scopes: Scopes = (), *, timeout_seconds: float = 1.0
) -> Iterator[TimeoutConnection]:
    """A connection of its own, in one transaction for a block, which sees the rows of these scopes.

    Raises StoreError, for what goes wrong in the block as well.
    """
    with _connected(dsn, schema, timeout_seconds) as connection, connection.transaction():
        see(connection, scopes)
        yield connection


@contextmanager
def _connected(dsn: str, schema: str, timeout_seconds: float) -> Iterator[TimeoutConnection]:
    try:
        connection = TimeoutConnection.connect(dsn, **in_schema(schema))
    except psycopg.Error as error:
        raise unreachable(error) from None  # it may quote a part of the password
    connection.timeout_seconds = timeout_seconds
    try:
        with connection:
            yield connection
    except psycopg.Error as error:
        raise failed(error) from error


class _Connection(TimeoutConnection):
    # Waiting for two locks stays below it, so a timeout means that the server is gone.
    timeout_seconds = 2 * _STATEMENT_SECONDS
    is_committing = False
    """Whether a COMMIT may have reached the server: if the connection is lost then, nobody knows whether it is done."""


class _SlowConnection(_Connection):
    timeout_seconds = _SLOW_SECONDS + 1


class PostgresConnection:
    """Transactions over a pool of connections. It implements `SqlConnection`.

    Transactions end as if they had run one after the other, as in SQLite: those that say what they touch wait for each
    other, and the others are serializable. One that collides with another runs again. While the server is away, calls
    fail at once, but for one in a second.

    schema: where the tables are. most: the maximum number of connections. metrics: gets times and failures.
    slow: statements may take minutes. Connections are then made when they are needed, and not kept for long.
    """

    def __init__(
        self, dsn: str, *, schema: str, most: int = 8, metrics: Metrics | None = None, slow: bool = False
    ) -> None:
        self._metrics = metrics or Metrics()
        self._seconds = _SLOW_SECONDS if slow else _STATEMENT_SECONDS
        self._name = "postgres.slow" if slow else "postgres"
        self._pool: ConnectionPool[_Connection] = ConnectionPool(
            dsn,
            connection_class=_SlowConnection if slow else _Connection,
            kwargs=in_schema(schema),
            min_size=0 if slow else 1,
            max_size=most,
            timeout=_POOL_SECONDS,
            max_idle=_IDLE_SECONDS,
            reconnect_timeout=_POOL_SECONDS,  # then the next call tries again
            num_workers=1 if slow else 2,
            open=False,
        )
        self._threads = Threads(most, "gateway-memory-slow" if slow else "gateway-memory-postgres")
        self._breaker = Breaker(failures=1, open_seconds=SERVER_BACKOFF_SECONDS)
        self._is_away = False
        self.unhurried: SqlConnection = self
        if not slow:
            self.unhurried = self._slow = PostgresConnection(
                dsn, schema=schema, most=_SLOW_AT_MOST, metrics=metrics, slow=True
            )

    async def open(self) -> None:
        """Connect. Raises StoreError."""
        await self._guarded(lambda: self._pool.open(wait=True, timeout=_POOL_SECONDS + 1))
        if self.unhurried is not self:
            await self._slow.open()

    async def close(self) -> None:
        """Close the connections, without waiting for a server that does not answer."""
        if self.unhurried is not self:
            await self._slow.close()
        self._threads.submit(self._pool.close, timeout=1.0)
        self._threads.shutdown(wait=False)

    async def transact(
        self,
        work: Callable[[Database], T],
        *,
        scopes: Scopes = (),
        exclusive: Sequence[str] = (),
        shared: Sequence[str] = (),
        waits: bool = True,
    ) -> T:
        """Run work in a transaction, again where it collided: under the locks of its names, or serializable."""
        level = "READ COMMITTED" if exclusive else "SERIALIZABLE"
        locks = [
            (query, sorted(names)) for query, names in ((LOCK_SHARED, shared), (LOCK_EXCLUSIVE, exclusive)) if names
        ]
        return await self._transact(work, level, scopes, locks, waits=waits)

    async def read(self, work: Callable[[Database], T], *, scopes: Scopes = ()) -> T:
        """Run work that only reads, on one snapshot."""
        return await self._transact(work, "REPEATABLE READ READ ONLY", scopes)

    async def rows(self, query: str, values: Sequence[object] = (), *, scopes: Scopes = ()) -> list[Any]:
        """Return all rows of a query."""

        def work(connection: _Connection) -> list[Any]:
            with connection.pipeline():  # one transaction, and one message to the server
                self._see(connection, scopes)
                result = Transaction(connection).execute(query, values)
            return result.fetchall()

        return await self._run(work)

    async def shed(self) -> None:
        """Do nothing: the log is the server's."""

    async def _transact(
        self,
        work: Callable[[Database], T],
        level: str,
        scopes: Scopes,
        locks: Sequence[tuple[str, list[str]]] = (),
        *,
        waits: bool = True,
    ) -> T:
        """Run work in a transaction of an isolation level. locks: queries that take locks, with their names."""

        def transacted(connection: _Connection) -> T:
            try:
                with connection.pipeline() as pipeline:
                    database = Transaction(connection, pipeline)
                    connection.execute(f"BEGIN ISOLATION LEVEL {level}")
                    self._see(connection, scopes, waits=waits)
                    for query, names in locks:
                        database.execute(query, (names,))
                    result = work(database)
                    connection.is_committing = True
                    connection.execute("COMMIT")
            except BaseException:
                if not connection.closed:
                    connection.rollback()
                    connection.is_committing = False
                raise
            connection.is_committing = False
            return result

        return await self._run(transacted, waits=waits)

    def _see(self, connection: _Connection, scopes: Scopes, *, waits: bool = True) -> None:
        """Let a transaction see the rows of these scopes, within limits."""
        lock_seconds = _LOCK_SECONDS if waits else _LOCK_SECONDS_AT_ONCE
        milliseconds = (str(round(1000 * seconds)) for seconds in (lock_seconds, self._seconds))
        connection.execute(SEE_SOON, (connection.search_path, names_of(scopes), *milliseconds))

    async def _run(self, work: Callable[[_Connection], T], *, waits: bool = True) -> T:
        """Run work with a connection in a thread, again where that can succeed."""
        connection: _Connection | None = None

        def attempt() -> T:
            nonlocal connection
            connection = None
            with self._pool.connection() as given:
                connection = given
                return work(given)

        # Transactions that collided would collide again at once, so the pause is random and grows. A lost connection is
        # retried only if COMMIT was not sent: afterwards nobody knows whether the work is done. A silent server is not
        # asked again, since whoever waits has a deadline.
        def pause(error: Exception, tried: int) -> float | None:
            if isinstance(error, COLLIDED):
                lock_tries = _LOCK_TRIES if waits else 1
                most = lock_tries if isinstance(error, errors.LockNotAvailable) else _TRIES
                return backoff(tried, first=0.002, longest=4.0) if tried < most else None
            # A connection that was lost before the end has changed nothing, as after a restart of the server.
            unchanged = connection is None or (connection.closed and not connection.is_committing)
            lost = isinstance(error, psycopg.OperationalError) and not isinstance(error, _ENOUGH)
            return 0.0 if lost and unchanged and tried < _TRIES else None

        return await self._guarded(attempt, pause)

    async def _guarded(
        self, attempt: Callable[[], T], pause: Callable[[Exception, int], float | None] = lambda *_: None
    ) -> T:
        """Run an attempt in a thread, unless the server is left alone. Raises StoreError."""
        run = partial(asyncio.get_running_loop().run_in_executor, self._threads, attempt)
        try:
            with self._breaker.guard(lambda: StoreError(_RESTS), is_away), self._metrics.timed(self._name):
                result = await retry(run, pause)
        except psycopg.Error as error:
            self._note(error)
            raise failed(error) from error
        if self._is_away:
            self._is_away = False
            log.info("postgres.back")
        return result

    def _note(self, error: psycopg.Error) -> None:
        if isinstance(error, errors.QueryCanceled):
            self._metrics.count("failures.postgres_statement")
            log.warning("postgres.too_slow", seconds=self._seconds)
        if isinstance(error, errors.LockNotAvailable):
            self._metrics.count("failures.postgres_lock")
        elif is_away(error) or isinstance(error, errors.SerializationFailure | errors.DeadlockDetected):
            self._metrics.count("failures.postgres")
        if is_away(error) and not self._is_away:
            self._is_away = True
            log.error("postgres.away", error=type(error).__name__)
