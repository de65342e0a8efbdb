"""Erases a scope of an index that nobody has open."""

from pathlib import Path

from recall.rows.sqlite import SqliteRows
from recall.types import RowsDamagedError

__all__ = ["erase_scope"]


def erase_scope(path: Path, scope: str) -> None:
    """Delete a scope from index.sqlite, so that no byte of the file holds any of it. The other scopes stay.

    Where the index is damaged it is replaced by an empty one; where there is none, none is made.

    Raises:
        RecallError: it cannot be opened or written.
    """
    if not path.exists():
        return
    rows = SqliteRows(path)
    rows.open()
    try:
        rows.erase(scope)
    except RowsDamagedError:
        rows.recreate()
    finally:
        rows.close()
