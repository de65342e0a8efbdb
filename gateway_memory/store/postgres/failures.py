"""What PostgreSQL's errors mean, in our words: the server's own may quote what was stored."""

from typing import Final

import psycopg
from psycopg import errors

from gateway_memory.errors import StoreBusyError, StoreError, StoreRefusedError
from recall import is_loss

COLLIDED: Final = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.UniqueViolation,
    errors.LockNotAvailable,
)
"""What two transactions that run at the same time may cause, and one after the other would not."""
_REFUSALS: Final = ("22", "23", "54")
"""The classes of what is refused for what it is: its data, a constraint, a limit of the server."""


class UnreachableError(StoreError):
    """The server can't be reached, or does not answer."""


def is_away(error: Exception) -> bool:
    """Return whether the server is away, or gives no connection."""
    return isinstance(error, psycopg.OperationalError) and not isinstance(error, COLLIDED) and is_loss(error)


def failed(error: BaseException) -> StoreError:
    """Return our error for a failure. It has the kind alone: the server's message may quote what was written."""
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreError(
            "PostgreSQL refuses it to this role (42501): `db migrate` and `move` are for the owner of the tables, and "
            "`db migrate --app-role` gives another role what hosts need"
        )
    if isinstance(error, errors.LockNotAvailable):
        return StoreBusyError("another transaction of PostgreSQL holds what is to be changed (55P03)")
    if isinstance(error, errors.QueryCanceled):
        return StoreError("PostgreSQL ended a statement that took too long (57014)")
    if isinstance(error, psycopg.Error) and error.sqlstate:
        refused = error.sqlstate.startswith(_REFUSALS) and not isinstance(error, COLLIDED)
        kind = StoreRefusedError if refused else StoreError
        return kind(f"PostgreSQL refuses it: {type(error).__name__} ({error.sqlstate})")
    return UnreachableError(f"PostgreSQL does not answer ({type(error).__name__})")


def unreachable(error: psycopg.Error) -> StoreError:
    """Return our error for a connection that could not be made. It holds nothing that was stored."""
    if isinstance(error, psycopg.ProgrammingError):  # whose words quote a part of it, perhaps a password
        return StoreError(
            "the connection string of PostgreSQL is not valid: expected postgresql://role:password@host/database, "
            "in which signs such as a space, @, / and % are written as %20, %40, %2F and %25"
        )
    reason = " ".join(str(error).split())[:300]
    return UnreachableError(f"PostgreSQL can't be reached: {reason}")
