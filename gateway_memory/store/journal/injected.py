"""Which memories were injected into an editor's session. Light to import, and quick: a prompt waits for it."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from zlib import crc32

from gateway_memory.errors import store_errors

_BUSY_SECONDS: Final = 0.25
"""How long a writer is waited for: on a busy machine a short transaction takes some time."""


def add_injected(database: sqlite3.Connection, session_id: str, items: Sequence[tuple[str, str]]) -> None:
    """Record memories (id, text) that were injected into a session. Within a transaction."""
    rows = [(session_id, identity, _digest(text)) for identity, text in items]
    database.executemany("INSERT OR IGNORE INTO shown_memories VALUES (?, ?, ?)", rows)


def clear_injected(database: sqlite3.Connection, session_id: str) -> None:
    """Record that a session's context holds no memory any more. Within a transaction."""
    database.execute("DELETE FROM shown_memories WHERE session_id = ?", (session_id,))


class Injected:
    """What was injected into one session. Used within `open_injected`."""

    def __init__(self, database: sqlite3.Connection, session_id: str) -> None:
        self._database = database
        self._session_id = session_id

    def recalls(self, key: str, *, configured: bool) -> bool:
        """Return whether memories may be injected: the id is that of no other session key, and recall is on.

        configured: whether it is on where the user has not switched it.
        """
        query = "SELECT key, switches FROM sessions WHERE session_id = ?"
        known_key, switches = self._database.execute(query, (self._session_id,)).fetchone() or (key, "")
        return bool(known_key == key and json.loads(switches or "{}").get("autoRecall", configured))

    def fresh(self, items: Sequence[tuple[str, str]]) -> list[bool]:
        """Return for each memory (id, text) whether it is new to the session."""
        query = "SELECT memory, digest FROM shown_memories WHERE session_id = ?"
        known = set(self._database.execute(query, (self._session_id,)).fetchall())
        return [(identity, _digest(text)) not in known for identity, text in items]

    def add(self, items: Sequence[tuple[str, str]]) -> None:
        """Record memories (id, text) that are injected now."""
        self._database.execute("BEGIN IMMEDIATE")
        add_injected(self._database, self._session_id, items)
        self._database.execute("COMMIT")


@contextmanager
def open_injected(workspace: Path, session_id: str) -> Iterator[Injected]:
    """Open an existing journal for a block. No schema step is applied.

    Raises:
        StoreError: there is none, or it is locked or damaged.
    """
    path = (workspace / "journal.sqlite").absolute()
    with store_errors(path, sqlite3.Error):
        place = f"{path.as_uri()}?mode=rw"
        with closing(sqlite3.connect(place, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)) as database:
            database.execute("PRAGMA synchronous = NORMAL")  # a power cut may only repeat a memory
            yield Injected(database, session_id)


def _digest(text: str) -> int:
    return crc32(" ".join(text.split()).encode("utf-8", "surrogatepass"))
