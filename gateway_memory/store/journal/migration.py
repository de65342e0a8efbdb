"""A memory as a migration reads and fills it, and the one in files: the journal's tables, and two sets of files."""

import contextlib
import json
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

from gateway_memory.errors import UsageError, store_errors
from gateway_memory.ground.databases import Database
from gateway_memory.scope import Scope, folders_in
from gateway_memory.store.disk.own import NotOwnError, Owned, open_own, scan_own
from gateway_memory.store.disk.replacing import drafted, sweep
from gateway_memory.store.disk.slots import alone
from gateway_memory.store.disk.workspace import FILE_MODE, persist, private_folder
from gateway_memory.store.journal.sql import transaction, upsert
from gateway_memory.store.journal.sqlite import MIGRATION_TABLE, open_journal
from gateway_memory.store.migration import (
    DOCUMENTS,
    PARTS,
    PRESENT_WHEN_OPENED,
    RECORD_FILES,
    Cursor,
    Row,
    check_names,
    folder_of,
    key_of_folder,
)
from gateway_memory.store.summaries import DAMAGED_FILE, SESSIONS_FILE

_OF_FILES: Final[Mapping[str, frozenset[str]]] = {
    DOCUMENTS: frozenset({"folder", "name", "content", "saved"}),
    RECORD_FILES: frozenset({"scope", "content", "damaged"}),
}
_KNOWN: Final = " UNION ".join(
    f"SELECT scope FROM {table}" for table in ("sessions", "memories", "episodes", "reviews")
)
_OF_HOOKS: Final = ("transcript_messages", "shown_memories")


class Side(ABC):
    """A memory that no other process has open, at one end of a migration. Every call may raise StoreError.

    place: what it is called.
    changed: how many texts held bytes that are not UTF-8, and were read with U+FFFD in their place.
    """

    without_nul: bool
    """Whether it can't store the character NUL."""

    def __init__(self, place: str, database: Database) -> None:
        self.place = place
        self.changed = 0
        self._database = database

    def identity(self) -> str:
        """Return the id of the memory, which it keeps when it is migrated."""
        return str(self._all("SELECT journal FROM identity")[0][0])

    def tables(self) -> set[str]:
        """Return the names of all tables."""
        return self._tables() - {MIGRATION_TABLE}

    @abstractmethod
    def columns(self, part: str) -> frozenset[str]:
        """Return the names of a part's columns."""

    @abstractmethod
    def rows(self, part: str, columns: Sequence[str], after: Cursor) -> Iterator[Row]:
        """Yield the rows of a part after a key, in the order of the key."""

    @abstractmethod
    def counters(self) -> dict[str, int]:
        """Return the last number that each table has given to a row."""

    @abstractmethod
    def notes(self) -> list[str]:
        """Return what is not migrated, in words."""

    # As the target of a migration

    def filled(self) -> list[str]:
        """Return the parts that hold anything."""
        return [part for part in PARTS if part not in PRESENT_WHEN_OPENED and self._holds(part)]

    def unfinished(self) -> str | None:
        """Return the identity of the memory whose migration to here is not complete; None without one."""
        if MIGRATION_TABLE not in self._tables():
            return None
        return str(self._all(f"SELECT value FROM {MIGRATION_TABLE} WHERE name = ''")[0][0])

    def begin(self, source: str) -> None:
        """Begin a migration: until `finish`, no process opens this memory."""
        with self._writing():
            for part in sorted(PRESENT_WHEN_OPENED):
                self._database.execute(f"DELETE FROM {part}")
            self._database.execute(f"CREATE TABLE {MIGRATION_TABLE} (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            self._database.execute(f"INSERT INTO {MIGRATION_TABLE} VALUES ('', ?)", (source,))

    def cursor(self, part: str) -> Cursor:
        """Return up to which key a part was copied."""
        rows = self._all(f"SELECT value FROM {MIGRATION_TABLE} WHERE name = ?", (part,))
        return tuple(json.loads(rows[0][0])) if rows else None

    def put(self, part: str, columns: Sequence[str], rows: Iterable[Row], cursor: Cursor) -> None:
        """Store rows, with the key up to which the part is copied. A part without a key is stored as a whole."""
        with self._writing(part):
            if not PARTS[part]:
                self._database.execute(f"DELETE FROM {part}")
            self._add(part, columns, rows)
            self._database.execute(upsert(MIGRATION_TABLE, "name, value", "name"), (part, json.dumps(cursor)))

    @abstractmethod
    def count_on(self, counters: Mapping[str, int]) -> None:
        """Let the next numbers be higher than these, and than all that were copied."""

    def finish(self) -> None:
        """End the migration: from now on, the memory can be opened."""
        with self._writing():
            self._database.execute(f"DROP TABLE {MIGRATION_TABLE}")

    @abstractmethod
    def _writing(self, part: str = "") -> AbstractContextManager[object]:
        """Return a context of one transaction, which raises our errors. part: which rows it stores."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[object]:
        """Return a context that raises our errors."""

    @abstractmethod
    def _tables(self) -> set[str]: ...

    @abstractmethod
    def _add(self, part: str, columns: Sequence[str], rows: Iterable[Row]) -> None: ...

    def _holds(self, part: str) -> bool:
        return bool(self._all(f"SELECT 1 FROM {part} LIMIT 1"))

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._reading():
            return self._database.execute(query, values).fetchall()


def select(part: str, columns: Sequence[str], after: Cursor) -> tuple[str, tuple[Any, ...]]:
    """Return a query of the rows of a part after a key, in the order of the key, and its values."""
    key = ", ".join(PARTS[part])
    where = f"WHERE ({key}) > ({', '.join('?' * len(after))})" if after else ""
    order = f"ORDER BY {key}" if key else ""
    return f"SELECT {quoted(columns)} FROM {part} {where} {order}", tuple(after or ())


def quoted(columns: Sequence[str]) -> str:
    """Return the names of columns for a query."""
    return ", ".join(f'"{column}"' for column in columns)


class FilesSide(Side):
    """A workspace. What the hooks of editors keep stays in it."""

    without_nul = False

    def __init__(self, workspace: Path, database: sqlite3.Connection) -> None:
        super().__init__(str(workspace), database)
        self._workspace = workspace
        self._connection = database
        database.text_factory = self._text

    @classmethod
    @contextlib.contextmanager
    def open(cls, workspace: Path, *, reads: bool) -> "Iterator[FilesSide]":
        """Open a workspace exclusively. reads: nothing may change in it meanwhile, not even by the hooks of an editor.

        Raises:
            UsageError: another process has it open, or there is no memory to read.
            StoreError: its journal can't be opened.
        """
        if (
            reads
            and not (workspace / "journal.sqlite").exists()
            and not any(scan_own(Owned(workspace), folder)[0] for folder in folders_in(workspace))
        ):
            raise UsageError(f"{workspace}: there is no memory in this folder")
        with contextlib.ExitStack() as stack:
            with store_errors(workspace, OSError, sqlite3.Error):
                stack.enter_context(alone(workspace))
                database = open_journal(workspace, by_migration=not reads)
            stack.callback(database.close)
            if reads:
                with store_errors(workspace, OSError, sqlite3.Error):
                    for folder in folders_in(workspace):
                        sweep(workspace / folder)
                        sweep(workspace / folder / "memory")
                    database.execute("BEGIN IMMEDIATE")
            yield cls(workspace, database)

    def columns(self, part: str) -> frozenset[str]:
        if part in _OF_FILES:
            return _OF_FILES[part]
        names = {str(row[1]) for row in self._all(f"PRAGMA table_info({part})")}
        return frozenset(names | {"rowid"} if PARTS[part] == ("rowid",) else names)

    def rows(self, part: str, columns: Sequence[str], after: Cursor) -> Iterator[Row]:
        if part == DOCUMENTS:
            yield from self._documents(columns, after)
        elif part == RECORD_FILES:
            yield from self._records(columns, after)
        else:
            with self._reading():
                yield from self._database.execute(*select(part, columns, after))

    def counters(self) -> dict[str, int]:
        return {str(table): int(number) for table, number in self._all("SELECT name, seq FROM sqlite_sequence")}

    def notes(self) -> list[str]:
        if not any(map(self._holds, _OF_HOOKS)):
            return []
        return [
            "the hooks of editors work on files: what they have noted stays here, and so do they until you undo them"
        ]

    def count_on(self, counters: Mapping[str, int]) -> None:
        with self._writing():
            counting = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"
            for (table,) in self._all(counting):
                last = max(int(self._all(f"SELECT coalesce(max(id), 0) FROM {table}")[0][0]), counters.get(table, 0))
                self._database.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
                self._database.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, last))

    @contextlib.contextmanager
    def _writing(self, part: str = "") -> Iterator[None]:  # noqa: ARG002 - errors of SQLite name no row
        with self._reading(), transaction(self._connection):
            yield

    def _reading(self) -> AbstractContextManager[None]:
        return store_errors(self._workspace, OSError, sqlite3.Error)

    def _tables(self) -> set[str]:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        return {str(row[0]) for row in self._all(query)}

    def _add(self, part: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
        if part in _OF_FILES:
            for row in rows:
                self._write(part, columns, row)
        else:
            query = f"INSERT INTO {part} ({quoted(columns)}) VALUES ({', '.join('?' * len(columns))})"
            self._database.executemany(query, rows)

    def _holds(self, part: str) -> bool:
        if part in _OF_FILES:
            return next(self.rows(part, sorted(_OF_FILES[part]), None), None) is not None
        return super()._holds(part)

    # Files

    def _documents(self, columns: Sequence[str], after: Cursor) -> Iterator[Row]:
        owned = Owned(self._workspace)
        documents = sorted(
            (folder, name) for folder in folders_in(self._workspace) for name in scan_own(owned, folder)[0]
        )
        for folder, name in documents:
            if after and (folder, name) <= tuple(after):
                continue
            path = self._workspace / folder / name
            _check_name(path, f"{folder}/{name}")
            with self._reading(), open_own(owned, f"{folder}/{name}".lstrip("/")) as stream:
                saved, content = os.fstat(stream.fileno()).st_mtime_ns, stream.read()
            row = {"folder": folder, "name": name, "content": content, "saved": saved}
            yield tuple(row[column] for column in columns)

    def _records(self, columns: Sequence[str], after: Cursor) -> Iterator[Row]:
        keys = {}
        for (key,) in self._all(_KNOWN):
            with contextlib.suppress(UsageError):
                keys[Scope.parse(str(key)).folder] = str(key)
        folders = {key_of_folder(folder, keys): self._workspace / folder for folder in folders_in(self._workspace)}
        for key, folder in sorted(folders.items()):
            if after and key <= after[0]:
                continue
            _check_name(folder, key)
            with self._reading():
                content, damaged = (_content(self._workspace, folder / name) for name in (SESSIONS_FILE, DAMAGED_FILE))
            if content is not None or damaged is not None:
                row = {"scope": key, "content": content or b"", "damaged": damaged or b""}
                yield tuple(row[column] for column in columns)

    def _write(self, part: str, columns: Sequence[str], row: Row) -> None:
        values = dict(zip(columns, row, strict=True))
        if part == DOCUMENTS:
            folder, name = check_names(row, columns)
            _replace(self._workspace / folder / name, values["content"], saved=values["saved"])
            return
        folder = folder_of(str(values["scope"]))
        for name, content in ((SESSIONS_FILE, values["content"]), (DAMAGED_FILE, values["damaged"])):
            if content or name == SESSIONS_FILE:
                _replace(self._workspace / folder / name, content)

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.changed += 1
            return raw.decode("utf-8", "replace")


def _check_name(path: Path, name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"{str(path)!r}: this name is not valid Unicode; give the file or folder another one"
        ) from None


def _content(workspace: Path, path: Path) -> bytes | None:
    try:
        with open_own(Owned(workspace), path.relative_to(workspace).as_posix()) as stream:
            return stream.read()
    except (FileNotFoundError, NotOwnError):
        return None


def _replace(path: Path, content: bytes, *, saved: int | None = None) -> None:
    """Write a file as a whole or not at all. saved: its time, in ns since the epoch."""
    private_folder(path.parent)
    with drafted(path, content, FILE_MODE) as (draft, _):
        if saved is not None:
            os.utime(draft, ns=(saved, saved))
        draft.rename(path)
    persist(path.parent)
