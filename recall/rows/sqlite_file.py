"""The tables of index.sqlite, and SQLite's errors in our words."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from recall.types import RecallError, RowsBusyError, RowsDamagedError

FORMAT = "9"
SCHEMA = Path(__file__).with_name("schema.sql")
_ERROR, _BUSY, _LOCKED, _CORRUPT, _NOT_A_DATABASE = 1, 5, 6, 11, 26


@contextmanager
def translated(what: str = "the index cannot be read or written") -> Iterator[None]:
    """Raise recall's errors, which say `what`, in place of those of SQLite, the disk and values that make no sense."""
    try:
        yield
    except RecallError:
        raise
    except BlockingIOError as error:
        raise RowsBusyError(f"{what}: another process opens it") from error
    except OSError as error:
        raise RecallError(f"{what}: {error}") from error
    except sqlite3.Error as error:
        raise kind_of(error)(f"{what}: {error}") from error
    except (ValueError, TypeError, LookupError, OverflowError, MemoryError) as error:
        # Where a row holds unexpected values: SQLite does not check them.
        raise RowsDamagedError(f"{what}: {type(error).__name__}") from error


def kind_of(error: sqlite3.Error) -> type[RecallError]:
    """Return which of recall's errors an error of SQLite is."""
    code = int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
    if code in (_BUSY, _LOCKED):
        return RowsBusyError
    # A text that is no UTF-8 has no code at all; nor has the use of a closed file, which is no damage.
    is_damage = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.ProgrammingError)
    return RowsDamagedError if is_damage and code in (0, _ERROR, _CORRUPT, _NOT_A_DATABASE) else RecallError


C = TypeVar("C", bound=type)


def translating(kind: C) -> C:
    """Let all public methods of a class raise recall's errors: see `translated`."""
    for name, method in list(vars(kind).items()):
        if callable(method) and not name.startswith("_"):
            setattr(kind, name, translated()(method))
    return kind
