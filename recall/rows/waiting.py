"""A connection to PostgreSQL that never waits long."""

import time
from collections.abc import Generator
from typing import Any, Self, TypeVar, cast

import psycopg
from psycopg.waiting import Ready

T = TypeVar("T")

_LOOK_SECONDS = 0.05


class TimeoutConnection(psycopg.Connection[Any]):
    """A connection that closes itself where the server does not answer.

    A frozen server takes no request to cancel either, so nothing less ends the wait.
    """

    timeout_seconds = 1.0
    search_path = ""
    """What a transaction sets first, so that it finds its tables: a pooler lends it any connection."""

    @classmethod
    def connect(cls, conninfo: str = "", *, schema: str = "", **more: Any) -> Self:  # type: ignore[override]
        """Connect as psycopg does. schema: where the tables are."""
        connection = super().connect(conninfo, **more)
        connection.search_path = '"{}"'.format(schema.replace('"', '""'))
        return connection

    def wait(  # type: ignore[override]  # older versions have no timeout here
        self, gen: Generator[Any, Any, T], interval: float = _LOOK_SECONDS, **more: Any
    ) -> T:
        """Wait for the server's answer. Raises OperationalError after `timeout_seconds`."""
        bounded = _bound(gen, time.monotonic() + self.timeout_seconds)
        try:
            return super().wait(bounded, interval=min(interval, _LOOK_SECONDS), **more)
        except SilentError:
            self.pgconn.finish()
            raise


class SilentError(psycopg.OperationalError):
    """The server did not answer in time."""


def is_loss(error: psycopg.Error) -> bool:
    """Return whether an error says that the connection is of no use, and not that the server refuses a statement.

    Its classes are 08 (connection), 57P (it shuts down or starts), and 53300 (too many connections).
    """
    state = error.sqlstate
    return state is None or state.startswith(("08", "57P")) or state == "53300"


def _bound(gen: Generator[Any, Any, T], until: float) -> Generator[Any, Any, T]:
    try:
        state = next(gen)
        while True:
            ready = yield state
            if ready == Ready.NONE and time.monotonic() >= until:
                raise SilentError("the server does not answer")
            state = gen.send(ready)
    except StopIteration as ended:
        return cast("T", ended.value)
