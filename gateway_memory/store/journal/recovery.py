"""Make a new journal of what can be read of damaged ones, and of the present one, and put it in its place.

Whatever is read keeps its key. A journal that is begun after a damaged one counts on from its numbers, so no two rows
have the same one. Of two rows with the same key, the present journal's counts, else that of the
journal that was damaged last; of a memory, the one that changed last. Recovering the same again changes nothing.
"""

import contextlib
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from gateway_memory.errors import SchemaFromFutureError, StoreError, UsageError, store_errors
from gateway_memory.ground.files import private_file
from gateway_memory.ground.logs import get_logger
from gateway_memory.store.disk.aside import (
    JOURNAL_FILE,
    SQLITE_SUFFIXES,
    journals_aside,
    name_of_old_journal,
    set_journal_aside,
    settle_old_journals,
)
from gateway_memory.store.disk.replacing import rename
from gateway_memory.store.disk.slots import alone
from gateway_memory.store.disk.workspace import INDEX_FILE, STATE_FOLDER, persist
from gateway_memory.store.journal.episodes import PAGE_TURNS
from gateway_memory.store.journal.memories import save_memories
from gateway_memory.store.journal.pages import DamagedFile, shape_of
from gateway_memory.store.journal.sql import UNDECODABLE, transaction
from gateway_memory.store.journal.sqlite import HOOK_BUSY_SECONDS, STEPS, apply_steps, lost_columns
from gateway_memory.store.plan import Plan

log = get_logger(__name__)

_NOT_COPIED: Final = frozenset(
    {"identity", "migrations", "sqlite_sequence", "session_totals", "leases", "episode_pages"}
)
"""What is made anew, is counted by triggers, or is of processes that are dead."""
_RELEASED: Final = frozenset({"sessions", "turns", "plans"})
_NOBODY: Final = -1
_NUMBERED: Final[Mapping[str, str]] = {
    "turns": "id", "replies": "turn", "episodes": "turn", "receipts": "id", "history": "id", "observations": "id"
}  # fmt: skip
"""Tables whose rows are known by a number, which others refer to."""
_RENUMBERED: Final = frozenset({"events", "unreadable"})
"""Tables whose rows have a number that nobody refers to."""
_WITHOUT_KEY: Final = frozenset({"link_tries", "unreadable"})
"""Tables that may have the same row twice."""
_DAMAGED: Final = frozenset(
    {0, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_IOERR}
)
"""Codes of errors for which a journal is recovered, also of a disk that can't read a block, and of lost names."""
_DRAFT: Final = "recovered.sqlite"

_Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What became of a recovery.

    read: the names of the damaged journals whose rows are in the present one now, and under which names they are kept.
    unreadable: those of which nothing can be read. rows: how many rows were read, by table. lost: how many could not
    be, 0 for an unknown number. without_log: those whose write-ahead log can't be read, so that what was written last
    is missing.
    """

    read: Mapping[str, str] = field(default_factory=dict)
    unreadable: Sequence[str] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    without_log: Sequence[str] = ()


def recover(workspace: Path) -> Recovered:
    """Recover the damaged journals of a workspace. Nothing is changed unless the new one is whole.

    Raises:
        UsageError: another process has the memory open, or the journals can't be joined.
        SchemaFromFutureError: a newer version wrote one.
        StoreError: something can't be read or written.
    """
    path = workspace / JOURNAL_FILE
    with ExitStack() as stack, store_errors(path, OSError, sqlite3.Error):
        stack.enter_context(alone(workspace))
        settle_old_journals(workspace)
        present = stack.enter_context(_present(path))
        names = journals_aside(workspace)[::-1]
        if not names:
            return Recovered()
        return _Recovery(workspace, path, present).run(names)


@contextlib.contextmanager
def _present(path: Path) -> Iterator[sqlite3.Connection | None]:
    """Hold the present journal so that not even a hook writes to it; None if there is none. A damaged one is set aside.

    Raises:
        UsageError: another process has it open.
    """
    if not path.exists() or not path.stat().st_size:
        yield None
        return
    database = sqlite3.connect(path, isolation_level=None, timeout=HOOK_BUSY_SECONDS)
    with closing(database):
        try:
            apply_steps(database, path)
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            database.execute("PRAGMA journal_mode = DELETE").fetchall()
            database.execute("BEGIN EXCLUSIVE")
            check = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
            is_whole = check == "ok" and not lost_columns(database)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the error message may quote damaged bytes
            code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
            if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise UsageError(f"{path}: another process has it open; end it first") from None
            if code not in _DAMAGED:
                raise
            is_whole = False
        if is_whole:
            yield database
            return
    set_journal_aside(path)
    yield None


class _Recovery:
    """One recovery. Rows are stored newest first, so that the first one with a key counts."""

    def __init__(self, workspace: Path, path: Path, present: sqlite3.Connection | None) -> None:
        self._workspace = workspace
        self._path = path
        self._present = present
        self._rows: Counter[str] = Counter()
        self._lost: dict[str, int] = {}

    def run(self, names: Sequence[str]) -> Recovered:
        """Recover journals, the one that was damaged last first."""
        files = {name: DamagedFile(self._path.with_name(name)) for name in names}
        for name, file in files.items():
            _check_version(name, file)
        draft = self._workspace / STATE_FOLDER / _DRAFT
        _remove(draft)
        try:
            private_file(draft)
            with closing(sqlite3.connect(draft, isolation_level=None)) as new:
                apply_steps(new, draft)
                with transaction(new):
                    read = self._fill(new, files)
                if not read:
                    return Recovered(unreadable=names)
                if new.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                    raise StoreError(f"{draft}: the new journal is damaged itself; is the disk well?")
            kept = self._swap(draft, read)
        finally:
            _remove(draft)
        log.info("journal.recovered", journals=len(read), rows=self._rows.total())
        return Recovered(
            read=kept,
            unreadable=[name for name in names if name not in read],
            rows=dict(self._rows),
            lost=self._lost,
            without_log=[name for name in read if not files[name].log_is_whole],
        )

    def _fill(self, new: sqlite3.Connection, files: Mapping[str, DamagedFile]) -> list[str]:
        """Fill the new journal; return the names of the damaged ones of which anything could be read."""
        tables = _Tables(new)
        gone: list[Any] = []
        if self._present:
            for table in tables.names:
                for row in _select(self._present, table):
                    tables.put(table, row, self._path.name)
            tables.count_on(dict(self._present.execute("SELECT name, seq FROM sqlite_sequence")))
            tables.name(str(row[0]) for row in self._present.execute("SELECT journal FROM identity"))
            # Lines that a person deleted while nobody knew that they were memories.
            gone = new.execute(
                "SELECT scope, id FROM noticed WHERE digest = '' EXCEPT SELECT scope, id FROM memories"
            ).fetchall()
        read = [name for name, file in files.items() if self._read(tables, name, file)]
        tables.finish(gone, time.time())
        return read

    def _read(self, tables: "_Tables", name: str, file: DamagedFile) -> bool:
        """Store what can be read of a damaged journal; return whether there was anything."""
        rows = Counter[str]()
        found = ((table, row) for table in tables.names for row in file.rows(table, tables.shapes[table]))
        for table, row in chain(found, file.strays()):
            if table in tables.shapes:
                fits = tables.put(table, row, name)
                rows[table] += fits
                file.torn[table] += not fits
        tables.count_on(file.numbers(tables.counting))
        tables.name(str(row["journal"]) for row in file.rows("identity"))
        schema_is_whole = not (file.bad["sqlite_master"] or file.torn["sqlite_master"])
        missing = set[str]() if schema_is_whole else set(tables.names) - file.tables()
        for table in tables.names:
            if file.bad[table] or file.torn[table] or table in missing:
                before = file.bad[""]
                indexed = file.indexed(table)
                if not indexed or indexed > rows[table] or file.bad[""] > before:
                    number = max(indexed - rows[table], file.torn[table])
                    self._lost[table] = self._lost.get(table, 0) + number
        self._rows += rows
        return rows.total() > 0

    def _swap(self, draft: Path, read: Sequence[str]) -> dict[str, str]:
        """Put the new journal in its place, and return under which names the read ones are kept."""
        for suffix in SQLITE_SUFFIXES:  # made again from the journal
            self._workspace.joinpath(f"{INDEX_FILE}{suffix}").unlink(missing_ok=True)
        persist(self._workspace)
        rename(draft, self._path, exchange=self._path.exists())
        persist(self._workspace)
        if self._present:
            rename(draft, name_of_old_journal(self._path), exchange=False)
            time.sleep(HOOK_BUSY_SECONDS)  # hooks that have opened it give up; only then the lock is released
        return settle_old_journals(self._workspace, read)


class _Tables:
    """The tables of a new journal, within a transaction."""

    def __init__(self, new: sqlite3.Connection) -> None:
        self._new = new
        made = new.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        shapes = {str(name): shape_of(str(name), str(sql)) for name, sql in made if name not in _NOT_COPIED}
        self.shapes = {name: shape for name, shape in shapes.items() if shape}
        self.names = sorted(self.shapes, key=lambda name: (name == "sessions", name))  # what was saved is asked for
        self._columns = {name: [column for column, *_ in shape.columns] for name, shape in self.shapes.items()}
        self._named = False
        self.counting = [str(name) for name, sql in made if "AUTOINCREMENT" in str(sql)]

    def put(self, table: str, row: Mapping[str, Any], source: str) -> bool:
        """Store a row, unless one with its key is newer; return whether it fits.

        Raises:
            UsageError: another row has its number.
        """
        values = {name: row[name] for name in self._columns[table] if name in row}
        if table in _RELEASED:
            values["slot"] = _NOBODY
        if table == "sessions":
            self._end_double(values)
        if table in _WITHOUT_KEY and self._has(table, values):
            return True
        if table in _RENUMBERED and self._new.execute(f"SELECT 1 FROM {table} WHERE id = ?", (row["id"],)).fetchone():
            values["id"] = None
        names, marks = ", ".join(f'"{name}"' for name in values), ", ".join("?" * len(values))
        query = f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING"
        if table == "memories":
            changes = ", ".join(f'"{name}" = excluded."{name}"' for name in values if name not in ("scope", "id"))
            newer = f"DO UPDATE SET {changes} WHERE excluded.changed_at > memories.changed_at"
            query = query.replace("ON CONFLICT DO NOTHING", f"ON CONFLICT (scope, id) {newer}")
        try:
            stored = self._new.execute(query, tuple(values.values())).rowcount
        except sqlite3.IntegrityError:
            return False
        if not stored and (key := _NUMBERED.get(table)):
            self._compare(table, key, row, source)
        return True

    def _compare(self, table: str, key: str, row: Mapping[str, Any], source: str) -> None:
        found = self._new.execute(f'SELECT scope, at FROM {table} WHERE "{key}" = ?', (row[key],)).fetchone()
        if found and found != (row["scope"], row["at"]):
            raise UsageError(
                f"{source} can't be joined with the journals after it: both have given the same numbers to rows of "
                f"{table}, since the later one is a backup or was begun elsewhere. Nothing was changed. To have the "
                "damaged one instead, move journal.sqlite to another folder and run this again"
            )

    def _has(self, table: str, values: Mapping[str, Any]) -> bool:
        same = {name: value for name, value in values.items() if name != "id"}
        where = " AND ".join(f'"{name}" IS ?' for name in same)
        return self._new.execute(f"SELECT 1 FROM {table} WHERE {where}", tuple(same.values())).fetchone() is not None

    def _end_double(self, session: _Row) -> None:
        """End a session that was open in a damaged journal if its conversation has another open one by now."""
        query = "SELECT session_id FROM sessions WHERE key = ? AND scope = ? AND ended_at IS NULL"
        found = self._new.execute(query, (session["key"], session["scope"])).fetchone()
        if session["ended_at"] is not None or found is None or found[0] == session["session_id"]:
            return
        query = "SELECT 1 FROM saved_sessions WHERE scope = ? AND session_id = ?"
        saved = self._new.execute(query, (session["scope"], session["session_id"])).fetchone()
        seen = max(session["opened_at"], session["seen_at"])
        session |= {"ended_at": seen, "reason": "abandoned", "state": "saved" if saved else "unsaved"}

    def count_on(self, numbers: Mapping[str, int]) -> None:
        """Let the next numbers be higher than these."""
        for table, number in numbers.items():
            query = "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?"
            if not self._new.execute(query, (number, table)).rowcount:
                self._new.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, number))

    def name(self, identities: Iterable[str]) -> None:
        """Give the journal the identity of the newest one that has any."""
        identity = next(iter(identities), "")
        if identity and not self._named:
            self._new.execute("UPDATE identity SET journal = ?", (identity,))
            self._named = True

    def finish(self, gone: Sequence[Any], now: float) -> None:
        """Make what follows from other rows. gone: the keys of memories that a person has deleted since."""
        self._replay()
        self._new.executemany(
            "UPDATE memories SET state = 'deleted', changed_at = ? WHERE scope = ? AND id = ? AND state = 'active'",
            [(now, *key) for key in gone],
        )
        self._new.execute("DELETE FROM turns WHERE id IN (SELECT turn FROM episodes)")
        self._new.execute(
            "INSERT INTO episode_pages SELECT scope, turn / ? AS page, lower(hex(randomblob(6))), 1 FROM episodes "
            "GROUP BY scope, page",
            (PAGE_TURNS,),
        )

    def _replay(self) -> None:
        """Store memories whose rows could not be read as the changes have left them: what is forgotten stays so."""
        there = set(self._new.execute("SELECT scope, id FROM memories").fetchall())
        for (body,) in self._new.execute("SELECT plan FROM changes ORDER BY receipt").fetchall():
            try:
                plan = Plan.from_json(body)
            except UNDECODABLE:
                continue
            missing = {memory.id for memory in plan.records() if (plan.scope, memory.id) not in there}
            lost = replace(
                plan,
                added=tuple(memory for memory in plan.added if memory.id in missing),
                retired=tuple(item for item in plan.retired if item.memory.id in missing),
                moved=tuple(item for item in plan.moved if item.memory.id in missing),
            )
            save_memories(self._new, lost)


def _select(database: sqlite3.Connection, table: str) -> Iterator[_Row]:
    rows = database.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in rows.description]
    for row in rows:
        yield dict(zip(names, row, strict=True))


def _check_version(name: str, file: DamagedFile) -> None:
    known = STEPS.former.union(STEPS.read())
    unknown = sorted(row["name"] for row in file.rows("migrations") if row["name"] not in known)
    if unknown:
        raise SchemaFromFutureError(
            f"{name}: written by a newer version of gateway-memory (schema {unknown[-1]}); upgrade the package"
        )


def _remove(draft: Path) -> None:
    for suffix in ("", "-journal", *SQLITE_SUFFIXES[1:]):
        draft.with_name(draft.name + suffix).unlink(missing_ok=True)
