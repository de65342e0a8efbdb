"""Session records. The file is the source of truth. The journal indexes its ids, so that `is_saved` needs no scan.

Lines appended by others, or a replaced file, are detected by the size and the bytes before the last offset. The
functions take a file and a connection in a transaction. `Records` runs them.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from gateway_memory.ground.databases import Database
from gateway_memory.scope import Scope
from gateway_memory.store.damage import FEWEST_OLDER, Damage, most
from gateway_memory.store.journal.sql import SQL, upsert
from gateway_memory.store.journal.withheld import reconsider, shown_record, told_record, whole_records, withheld
from gateway_memory.store.summaries import (
    DAMAGED_FILE,
    SESSIONS_FILE,
    RecordFile,
    SessionRecord,
    line_of,
    parsed,
    record_of,
    stored_record,
)
from gateway_memory.store.validity import Today
from gateway_memory.store.withheld import Withheld, canonical

if TYPE_CHECKING:
    from gateway_memory.store.journal.sql import SqlConnection

T = TypeVar("T")

Rows: TypeAlias = list[dict[str, Any]]
_TAIL: Final = 64


class Records:
    """The session records of each scope, oldest first, without forgotten text. Every call may raise StoreError.

    file_of: returns the records' file of a scope, for a transaction.
    """

    def __init__(self, connection: "SqlConnection", file_of: "Callable[[Scope, Database], RecordFile]") -> None:
        self._connection = connection
        self._file_of = file_of

    async def last(self, scope: Scope, today: Today) -> dict[str, Any] | None:
        """Return the newest record that was not deleted, with what of it holds today, or None."""

        def work(database: Database) -> dict[str, Any] | None:
            record = self._file_of(scope, database).last()
            return record and told_record(database, scope.key, record, today)

        return await self._connection.read(work, scopes=scope.key)

    async def listed(self, scope: Scope) -> list[dict[str, Any]]:
        """Return all records that were not deleted, newest first, without forgotten text."""

        def work(database: Database) -> list[dict[str, Any]]:
            rows, hidden = parsed(self._file_of(scope, database).read() or b"")[0], withheld(database, scope.key)
            shown = (hidden.record(row) for row in reversed(rows) if not row.get("deleted_at"))
            return [row for row in shown if not row.get("deleted_at")]

        return await self._connection.read(work, scopes=scope.key)

    async def read(self, scope: Scope) -> list[dict[str, Any]]:
        """Return all records as they are stored."""
        return parsed(await self.lines(scope) or b"")[0]

    async def lines(self, scope: Scope) -> bytes | None:
        """Return the records as lines of JSON, including damaged ones; None if the scope never had a record."""
        return await self._connection.read(lambda database: self._file_of(scope, database).read(), scopes=scope.key)

    async def look(self, scope: Scope) -> None:
        """Read what others have added to the records, and notice what they lost."""
        await self._write(scope, look)

    async def is_saved(self, scope: Scope, session_id: str) -> bool:
        """Return whether a session has or had a record."""
        return await self._write(scope, is_saved, session_id)

    async def save(self, scope: Scope, record: SessionRecord, at: float) -> bool:
        """Append a record and return True, or return False if its session has one. Call it only within `writing`.

        at: epoch seconds.
        """
        return await self._write(scope, save, record, at)

    async def revise(self, scope: Scope, old: SessionRecord, new: SessionRecord) -> bool:
        """Put a record in the place of the session's old one; return False if that is gone, or was changed by others.

        Call it only within `writing`.
        """
        return await self._write(scope, revise, old, new)

    async def merge(self, scope: Scope, records: Sequence[SessionRecord], *, dry_run: bool) -> int:
        """Merge the records of another memory by time, and return the number of new records.

        Call it only within `writing`.

        dry_run: only count them.
        """
        return await self._write(scope, partial(merge, dry_run=dry_run), records)

    async def mend(self, scope: Scope, records: Sequence[SessionRecord]) -> int:
        """Set damaged lines aside, and merge records made anew of sessions whose records are gone; return their number.

        Call it only within `writing`.
        """
        return await self._write(scope, mend, records)

    async def originals(self, scope: Scope) -> list[SessionRecord]:
        """Return the records that were not deleted, with text that is forgotten. They are to be merged elsewhere."""

        def work(database: Database) -> list[SessionRecord]:
            lines = self._file_of(scope, database).read()
            rows = whole_records(database, scope.key, parsed(lines or b"")[0])
            return [stored_record(row) for row in rows if not row.get("deleted_at")]

        return await self._connection.read(work, scopes=scope.key)

    async def remove(self, scope: Scope, session_ids: Collection[str]) -> None:
        """Remove the records of sessions, which can be merged again later. Call it only within `writing`."""
        await self._write(scope, remove, session_ids)

    async def tidy(self, scope: Scope, *, keep: int) -> None:
        """Delete all but the newest `keep` records, and set damaged ones aside. Call it only within `writing`."""
        await self._write(scope, partial(tidy, keep=keep))

    async def withhold(self, scope: Scope) -> Withheld:
        """Remove forgotten text from the records, and restore text that is remembered; return what is withheld.

        Call it only within `writing`.
        """

        def work(
            database: Database, key: str, file: RecordFile
        ) -> tuple[Withheld, Callable[[bytes | None], bytes | None]]:
            return withheld(database, key), withhold(database, key, file)

        def rewrite(_: Database, __: str, file: RecordFile) -> None:
            if file.read() is not None:
                file.rewrite(change)

        hidden, change = await self._write(scope, work)
        await self._write(scope, rewrite)
        return hidden

    async def _write(self, scope: Scope, work: Callable[..., T], *given: object) -> T:
        def on_file(database: Database) -> T:
            return work(database, scope.key, self._file_of(scope, database), *given)

        return await self._connection.transact(on_file, scopes=scope.key)


def look(database: Database, scope: str, file: RecordFile) -> None:
    """Index what others have added, and notice what is gone, also where the size and the end of the file are the same.

    Within a transaction.
    """
    follow(database, scope, file)
    row = database.execute("SELECT records FROM session_logs WHERE scope = ?", (scope,)).fetchone()
    if row:
        note_lost(database, scope, file.read(), before=row[0])


def mend(database: Database, scope: str, file: RecordFile, records: Sequence[SessionRecord]) -> int:
    """Set damaged lines aside, and merge records made anew of sessions whose records are gone; return their number.

    Within a transaction, and under the workspace's lock. The file is replaced atomically.
    """
    follow(database, scope, file)
    content = file.read()
    rows, damaged = parsed(content or b"")
    present = {row["session_id"] for row in rows}
    gone = [record for record in records if record.session_id not in present]
    query = "DELETE FROM saved_sessions WHERE scope = ? AND session_id = ?"
    database.executemany(query, [(scope, record.session_id) for record in gone])
    added = merge(database, scope, file, gone, dry_run=False)
    if not added and content is not None and (damaged or content.strip(b"\0") != content):
        replace(database, scope, file, lambda rows: map(line_of, rows))
    elif not added and content is not None:
        remember(database, scope, file, records=len(rows), damaged=0, size=len(content))
    return added


def is_saved(database: Database, scope: str, file: RecordFile, session_id: str) -> bool:
    """Return whether a session has or had a record in the file. Within a transaction."""
    follow(database, scope, file)
    return known(database, scope, session_id)


def save(database: Database, scope: str, file: RecordFile, record: SessionRecord, at: float) -> bool:
    """Append a record and return True, or return False if its session has one. at: the current epoch seconds.

    Within a transaction, and under the workspace's lock. The line is durable before the index. A crash between the two
    is detected by the file's size.

    Raises:
        OSError: the line could not be written; the file is unchanged.
    """
    follow(database, scope, file)
    if known(database, scope, record.session_id):
        database.execute(SQL["records.count_double"])
        return False
    file.append(line_of(shown_record(database, scope, record.fields())))
    follow(database, scope, file)
    database.execute(
        "UPDATE saved_sessions SET layer = ?, at = ? WHERE scope = ? AND session_id = ?",
        (record.layer, at, scope, record.session_id),
    )
    return True


def revise(database: Database, scope: str, file: RecordFile, old: SessionRecord, new: SessionRecord) -> bool:
    """Put a record in the place of the session's old one; return False if that is gone, or was changed by others.

    Within a transaction, and under the workspace's lock. The file is replaced atomically.
    """
    follow(database, scope, file)
    rows = parsed(file.read() or b"")[0]
    stored = whole_records(database, scope, rows)
    at = next((number for number, row in enumerate(stored) if canonical(row) == canonical(old.fields())), None)
    if at is None:
        return False
    line = line_of(shown_record(database, scope, new.fields()))
    before = canonical(rows[at])
    replace(database, scope, file, lambda rows: (line_of(row) if canonical(row) != before else line for row in rows))
    return True


def tidy(database: Database, scope: str, file: RecordFile, *, keep: int) -> int:
    """Keep the newest `keep` records, and set damaged lines aside; return the number of deleted records.

    Within a transaction, and under the workspace's lock. The file is replaced atomically.
    """
    follow(database, scope, file)
    row = database.execute("SELECT records, damaged FROM session_logs WHERE scope = ?", (scope,)).fetchone()
    if row is None or (row[0] <= keep and not row[1]):
        return 0
    deleted = 0

    def newest(records: Rows) -> Iterable[bytes]:
        nonlocal deleted
        deleted = max(0, len(records) - keep)
        return map(line_of, records[deleted:])

    replace(database, scope, file, newest)
    return deleted


def remove(database: Database, scope: str, file: RecordFile, session_ids: Collection[str]) -> None:
    """Remove the records of sessions from the file and from the index.

    Within a transaction, and under the workspace's lock. The file is replaced atomically.
    """
    follow(database, scope, file)
    if file.read() is not None:
        replace(
            database, scope, file, lambda rows: (line_of(row) for row in rows if row["session_id"] not in session_ids)
        )
    query = "DELETE FROM saved_sessions WHERE scope = ? AND session_id = ?"
    database.executemany(query, [(scope, session_id) for session_id in session_ids])


def withhold(database: Database, scope: str, file: RecordFile) -> Callable[[bytes | None], bytes | None]:
    """Return a function that removes forgotten text from the file's content, and restores text that is remembered.

    Within a transaction that stores the whole records, and under the workspace's lock. Pass the function to
    `replacing.rewrite` after the commit.
    """
    changed = reconsider(database, scope, lambda: parsed(file.read() or b"")[0])

    def work(content: bytes | None) -> bytes | None:
        lines = (content or b"").split(b"\n")
        rows = [record_of(line) for line in lines]
        instead = [changed.get(canonical(row)) if row else None for row in rows]
        if not any(each is not None for each in instead):
            return content
        return b"\n".join(line if row is None else line_of(row)[:-1] for line, row in zip(lines, instead, strict=True))

    return work


def replace(database: Database, scope: str, file: RecordFile, change: Callable[[Rows], Iterable[bytes]]) -> None:
    """Replace the file with the result of `change`, set damaged lines aside, and store the new offset.

    change: takes the records of the file and returns the new lines. It is called again if the file was saved meanwhile.

    Within a transaction, and under the workspace's lock. Raises OSError.
    """
    written: bytes = b""
    damaged: list[bytes] = []

    def changed(content: bytes | None) -> bytes:
        nonlocal written, damaged
        records, damaged = parsed(content or b"")
        written = b"".join(change(records))
        return written

    file.rewrite(changed)
    if damaged:
        file.put_aside(b"".join(line + b"\n" for line in damaged))
    # Lines that another tool appended meanwhile follow the offset, and are read later.
    remember(database, scope, file, records=written.count(b"\n"), damaged=0, size=len(written))


def known(database: Database, scope: str, session_id: str) -> bool:
    """Return whether the index contains a session. Call `follow` first."""
    query = "SELECT 1 FROM saved_sessions WHERE scope = ? AND session_id = ?"
    return database.execute(query, (scope, session_id)).fetchone() is not None


def follow(database: Database, scope: str, file: RecordFile) -> None:
    """Index the lines of the file after the last offset, or the whole file if it was replaced."""
    row = database.execute("SELECT size, tail, records, damaged FROM session_logs WHERE scope = ?", (scope,)).fetchone()
    size, tail, records, damaged = row or (0, b"", 0, 0)
    content = file.read(max(0, size - _TAIL))
    if content is None:
        if row:
            note_lost(database, scope, None, before=records)
            database.execute("DELETE FROM session_logs WHERE scope = ?", (scope,))
        return
    known_part = min(size, _TAIL)
    if len(content) < known_part or content[:known_part] != tail:  # the file was replaced
        content = file.read() or b""
        note_lost(database, scope, content, before=records)
        size, records, damaged, known_part = 0, 0, 0, 0
    elif len(content) == known_part and row:
        return
    fresh = content[known_part:]
    whole = fresh[: fresh.rfind(b"\n") + 1]  # the last line may be incomplete
    sessions: list[tuple[str, str, str, float]] = []
    for line in whole.split(b"\n"):
        record = record_of(line)
        if record is not None:
            records += 1
            sessions.append((scope, record["session_id"], str(record.get("layer", "imported")), 0.0))
        elif line.strip():
            damaged += 1
    database.executemany("INSERT INTO saved_sessions VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", sessions)
    remember(database, scope, file, records=records, damaged=damaged, size=size + len(whole))


def note_lost(database: Database, scope: str, content: bytes | None, *, before: int) -> None:
    """Note that a file lost records by damage: it is gone, lost half of them or several of the last, or holds others.

    Fewer may have been deleted by hand. content: of the file now, None if it is gone. before: how many records it had.
    """
    rows, damaged = parsed(content or b"")
    present = {record["session_id"] for record in rows}
    lost = before - len(present)
    if lost <= 0:
        return
    query = "SELECT session_id, at FROM saved_sessions WHERE scope = ? ORDER BY at DESC, session_id"
    saved = {str(row[0]): float(row[1]) for row in database.execute(query, (scope,)).fetchall()}
    missing = tuple(session_id for session_id in saved if session_id not in present)[:lost]
    # It is what it was before the last ones. Of those that others wrote, nobody knows which were the last.
    older = len(missing) >= FEWEST_OLDER and missing == tuple(saved)[:lost] and all(saved[each] for each in missing)
    if not missing or (present and not damaged and not older and not most(lost, before)):
        return
    damage = Damage(file=SESSIONS_FILE, lost=missing, of=before, aside=DAMAGED_FILE if damaged else "")
    database.execute("INSERT INTO marks (scope, name) VALUES (?, ?) ON CONFLICT DO NOTHING", (scope, damage.name))


def remember(database: Database, scope: str, file: RecordFile, *, records: int, damaged: int, size: int) -> None:
    """Store the offset up to which the file was read."""
    tail = (file.read(max(0, size - _TAIL)) or b"")[: min(size, _TAIL)]
    query = upsert("session_logs", "scope, size, tail, records, damaged", "scope")
    database.execute(query, (scope, size, tail, records, damaged))


def merge(database: Database, scope: str, file: RecordFile, records: Sequence[SessionRecord], *, dry_run: bool) -> int:
    """Merge records into the file, each before the first newer one; return the number of added records.

    A record is left out if its session has or had a record, or is open. Within a transaction, and under the workspace's
    lock. The file is replaced atomically, and damaged lines are set aside. dry_run: only count.
    """
    follow(database, scope, file)
    query = "SELECT 1 FROM sessions WHERE session_id = ? AND ended_at IS NULL"
    fresh: dict[str, SessionRecord] = {}
    for record in records:
        running = database.execute(query, (record.session_id,)).fetchone()
        if not running and not known(database, scope, record.session_id):
            fresh.setdefault(record.session_id, record)
    if not fresh or dry_run:
        return len(fresh)

    rows = [shown_record(database, scope, record.fields()) for record in fresh.values()]

    def merged(records: Rows) -> Iterable[bytes]:
        lines: list[bytes] = []
        waiting = sorted(rows, key=_time)
        for row in records:
            while waiting and _time(row) and _time(waiting[0]) < _time(row):
                lines.append(line_of(waiting.pop(0)))
            lines.append(line_of(row))
        return [*lines, *map(line_of, waiting)]

    replace(database, scope, file, merged)
    saved = [(scope, record.session_id, record.layer) for record in fresh.values()]
    database.executemany("INSERT INTO saved_sessions VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING", saved)
    return len(fresh)


def _time(row: dict[str, Any]) -> str:
    return str(row.get("timestamp", ""))
