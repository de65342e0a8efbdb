"""A memory in files, as a move reads and fills it: the journal's tables, and files in the place of two more."""

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from gateway_memory.errors import UsageError, store_failed
from gateway_memory.scope import Scope, folders_in
from gateway_memory.store.disk.kernel import persist
from gateway_memory.store.disk.own import NotOwnError, Owned, open_own, scan_own
from gateway_memory.store.disk.private import private_folder
from gateway_memory.store.disk.replacing import sweep
from gateway_memory.store.disk.slots import all_slots
from gateway_memory.store.disk.workspace import STATE_FOLDER, locked
from gateway_memory.store.journal.sqlite import MOVING, open_journal, transaction
from gateway_memory.store.moving import (
    BEFORE_ANYTHING,
    DOCUMENTS,
    PARTS,
    RECORD_FILES,
    Cursor,
    Row,
    checked_names,
    folder_of,
    key_of_folder,
)
from gateway_memory.store.summaries import DAMAGED_FILE, SESSIONS_FILE

__all__ = ["FilesSide"]

_OF_FILES: Final[Mapping[str, frozenset[str]]] = {
    DOCUMENTS: frozenset({"folder", "name", "content", "saved"}),
    RECORD_FILES: frozenset({"scope", "content", "damaged"}),
}
_KNOWN: Final = " UNION ".join(
    f"SELECT scope FROM {table}" for table in ("sessions", "memories", "episodes", "reviews")
)
_OF_HOOKS: Final = ("transcript_messages", "shown_memories")


class FilesSide:
    """A workspace that no other process has open. Every call may raise StoreError.

    changed: how many texts held bytes that are not UTF-8, and were read with U+FFFD in their place.
    """

    without_nul = False

    def __init__(self, workspace: Path, database: sqlite3.Connection) -> None:
        self.place = str(workspace)
        self.changed = 0
        self._workspace = workspace
        self._database = database
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
            with _translated(workspace):
                if not stack.enter_context(all_slots(workspace / STATE_FOLDER / "slots")):
                    raise UsageError(f"{workspace}: another process has this memory open; end it first")
                try:
                    stack.enter_context(locked(workspace))
                except TimeoutError:
                    raise UsageError(f"{workspace}: another program writes in it; try again in a moment") from None
                database = open_journal(workspace, by_move=not reads)
            stack.callback(database.close)
            if reads:
                with _translated(workspace):
                    for folder in _places(workspace):
                        sweep(folder)
                        sweep(folder / "memory")
                    database.execute("BEGIN IMMEDIATE")
            yield cls(workspace, database)

    def identity(self) -> str:
        """Return the id of the journal, which it keeps when it is moved."""
        return str(self._one("SELECT journal FROM identity"))

    def columns(self, part: str) -> frozenset[str]:
        """Return the names of a part's columns."""
        if part in _OF_FILES:
            return _OF_FILES[part]
        found = {str(row[1]) for row in self._rows(f"PRAGMA table_info({part})")}
        return frozenset(found | {"rowid"} if PARTS[part] == ("rowid",) else found)

    def tables(self) -> set[str]:
        """Return the names of all tables."""
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        return {str(row[0]) for row in self._rows(query)} - {MOVING}

    def rows(self, part: str, columns: Sequence[str], after: Cursor) -> Iterator[Row]:
        """Yield the rows of a part after a key, in the order of the key."""
        if part == DOCUMENTS:
            yield from self._documents(columns, after)
        elif part == RECORD_FILES:
            yield from self._records(columns, after)
        else:
            key = ", ".join(PARTS[part])
            where = f"WHERE ({key}) > ({', '.join('?' * len(after))})" if after else ""
            order = f"ORDER BY {key}" if key else ""
            yield from self._rows(f"SELECT {_quoted(columns)} FROM {part} {where} {order}", tuple(after or ()))

    def counters(self) -> dict[str, int]:
        """Return the last number that each table has given to a row."""
        return {str(table): int(number) for table, number in self._rows("SELECT name, seq FROM sqlite_sequence")}

    def notes(self) -> list[str]:
        """Return what is not moved, in words."""
        left = sum(int(self._one(f"SELECT count(*) FROM {table}")) for table in _OF_HOOKS)
        if not left:
            return []
        return [
            "the hooks of editors work on files: what they have noted stays here, and so do they until you undo them"
        ]

    # As the target of a move

    def filled(self) -> list[str]:
        """Return the parts that hold anything."""
        filled = [part for part in PARTS if part not in BEFORE_ANYTHING | _OF_FILES.keys()]
        filled = [part for part in filled if next(self._rows(f"SELECT 1 FROM {part} LIMIT 1"), None)]
        files = (DOCUMENTS, ("folder", "name")), (RECORD_FILES, ("scope",))
        return filled + [part for part, names in files if next(self.rows(part, names, None), None)]

    def unfinished(self) -> str | None:
        """Return the identity of the memory whose move to here is not complete; None without one."""
        if next(self._rows("SELECT 1 FROM sqlite_master WHERE name = ?", (MOVING,)), None) is None:
            return None
        return str(self._one(f"SELECT value FROM {MOVING} WHERE name = ''"))

    def begin(self, source: str) -> None:
        """Begin a move: until `finish`, no process opens this memory."""
        with _translated(self._workspace), transaction(self._database):
            for part in BEFORE_ANYTHING:
                self._database.execute(f"DELETE FROM {part}")
            self._database.execute(f"CREATE TABLE {MOVING} (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            self._database.execute(f"INSERT INTO {MOVING} VALUES ('', ?)", (source,))

    def cursor(self, part: str) -> Cursor:
        """Return up to which key a part was copied."""
        found = next(self._rows(f"SELECT value FROM {MOVING} WHERE name = ?", (part,)), None)
        return tuple(json.loads(found[0])) if found else None

    def put(self, part: str, columns: Sequence[str], rows: Iterable[Row], cursor: Cursor) -> None:
        """Store rows, with the key up to which the part is copied. A part without a key is stored as a whole."""
        with _translated(self._workspace), transaction(self._database):
            if part in _OF_FILES:
                for row in rows:
                    self._write(part, columns, row)
            else:
                if not PARTS[part]:
                    self._database.execute(f"DELETE FROM {part}")
                query = f"INSERT INTO {part} ({_quoted(columns)}) VALUES ({', '.join('?' * len(columns))})"
                self._database.executemany(query, rows)
            query = f"INSERT INTO {MOVING} VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
            self._database.execute(query, (part, json.dumps(cursor)))

    def count_on(self, counters: Mapping[str, int]) -> None:
        """Let the next numbers be higher than these, and than all that were copied."""
        with _translated(self._workspace), transaction(self._database):
            counting = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"
            for (table,) in self._database.execute(counting).fetchall():
                last = max(int(self._one(f"SELECT coalesce(max(id), 0) FROM {table}")), counters.get(table, 0))
                self._database.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
                self._database.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, last))

    def finish(self) -> None:
        """End the move: from now on, the memory can be opened."""
        with _translated(self._workspace), transaction(self._database):
            self._database.execute(f"DROP TABLE {MOVING}")

    # Files

    def _documents(self, columns: Sequence[str], after: Cursor) -> Iterator[Row]:
        owned = Owned(self._workspace)
        found = sorted((folder, name) for folder in folders_in(self._workspace) for name in scan_own(owned, folder)[0])
        for folder, name in found:
            if after and (folder, name) <= tuple(after):
                continue
            path = self._workspace / folder / name
            _check_name(path, f"{folder}/{name}")
            with _translated(self._workspace), open_own(owned, f"{folder}/{name}".lstrip("/")) as stream:
                saved, content = os.fstat(stream.fileno()).st_mtime_ns, stream.read()
            row = {"folder": folder, "name": name, "content": content, "saved": saved}
            yield tuple(row[column] for column in columns)

    def _records(self, columns: Sequence[str], after: Cursor) -> Iterator[Row]:
        keys = {}
        for (key,) in self._rows(_KNOWN):
            with contextlib.suppress(UsageError):
                keys[Scope.parse(str(key)).folder] = str(key)
        found = {key_of_folder(folder, keys): self._workspace / folder for folder in folders_in(self._workspace)}
        for key, folder in sorted(found.items()):
            if after and key <= after[0]:
                continue
            _check_name(folder, key)
            with _translated(self._workspace):
                content, damaged = (_content(self._workspace, folder / name) for name in (SESSIONS_FILE, DAMAGED_FILE))
            if content is not None or damaged is not None:
                row = {"scope": key, "content": content or b"", "damaged": damaged or b""}
                yield tuple(row[column] for column in columns)

    def _write(self, part: str, columns: Sequence[str], row: Row) -> None:
        values = dict(zip(columns, row, strict=True))
        if part == DOCUMENTS:
            folder, name = checked_names(row, columns)
            _replace(self._workspace / folder / name, values["content"], saved=values["saved"])
            return
        folder = folder_of(str(values["scope"]))
        for name, content in ((SESSIONS_FILE, values["content"]), (DAMAGED_FILE, values["damaged"])):
            if content or name == SESSIONS_FILE:
                _replace(self._workspace / folder / name, content)

    # The journal

    def _one(self, query: str) -> Any:
        return next(self._rows(query))[0]

    def _rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        with _translated(self._workspace):
            yield from self._database.execute(query, values)

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.changed += 1
            return raw.decode("utf-8", "replace")


def _places(workspace: Path) -> list[Path]:
    return [workspace / folder for folder in folders_in(workspace)]


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
    draft = path.parent / f".{os.getpid():x}-{threading.get_ident():x}.tmp"  # swept by others if we die
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    if saved is not None:
        os.utime(draft, ns=(saved, saved))
    draft.rename(path)
    persist(path.parent)


def _quoted(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


@contextlib.contextmanager
def _translated(workspace: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise store_failed(workspace, error) from error
