"""Read the rows of a SQLite file that SQLite refuses: page by page, past those that are damaged.

It follows https://www.sqlite.org/fileformat2.html. A page that can't be read costs its own rows alone, and a row that
can't be read only itself. The write-ahead log beside the file is read up to its last whole commit.
"""

import os
import re
import sqlite3
import struct
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_MAGIC: Final = b"SQLite format 3\0"
_PAGE: Final = 4096
"""The size of a page where no header says it: SQLite's default, which the journal has."""
_SIZES: Final = frozenset(1 << power for power in range(9, 17))
_SCHEMA_COLUMNS: Final = 5
_TELLING: Final = 6
"""A table of so many columns is recognized by its rows alone; no index has as many."""
_INDEX_INNER, _TABLE_INNER, _INDEX_LEAF, _TABLE_LEAF = 2, 5, 10, 13
_NULS: Final = "\0" * 8
"""No text has so many in a row: a block of the disk was emptied there."""
_UNREADABLE: Final = (ValueError, IndexError, struct.error, OverflowError, MemoryError)


class UnreadableError(ValueError):
    """A page or a row that is damaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How the rows of a table are stored.

    columns: names, types and whether NULL is refused, in the order of the record. number: the column that is the rowid,
    "" for none. has_rowid: whether the table is a tree by rowid, and not one by its primary key.
    """

    columns: tuple[tuple[str, str, bool], ...]
    number: str
    has_rowid: bool

    def row(self, rowid: int, values: Sequence[Any]) -> dict[str, Any]:
        """Return a record as a row. Columns that were added after it was written are missing.

        Raises:
            UnreadableError: it is none of this table.
        """
        if len(values) > len(self.columns):
            raise UnreadableError("a record of another table")
        row: dict[str, Any] = {}
        for (name, kind, needed), stored in zip(self.columns, values, strict=False):
            value = rowid if name == self.number and self.has_rowid else stored
            if not (isinstance(value, _OF_TYPE.get(kind, object)) or (value is None and not needed)):
                raise UnreadableError("a value of another type")
            if isinstance(value, str) and _NULS in value:
                raise UnreadableError("an emptied text")
            row[name] = value
        return row


_OF_TYPE: Final[dict[str, Any]] = {"INTEGER": int, "REAL": int | float, "TEXT": str, "BLOB": bytes}


_COUNTING: Final = Shape(columns=(("name", "TEXT", True), ("seq", "INTEGER", True)), number="", has_rowid=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    root: int
    sql: str


class DamagedFile:
    """The pages of a SQLite file that may be damaged, and its tables.

    bad: how many pages of each table can't be read. torn: how many of its rows can't, on pages that can. log_is_whole:
    whether the write-ahead log, if there is one, could be read.
    """

    def __init__(self, path: Path) -> None:
        """Read the schema. What the disk can't read counts as damaged. Raises OSError where there is no file."""
        self._path = path
        self._bytes = path.stat().st_size
        log, is_read = _log_of(path)
        self._size = self._page_size(log)
        self._logged, committed, is_sound = _log_pages(log, self._size)
        self.log_is_whole = is_read and is_sound
        self.count = committed or -(-self._bytes // self._size)
        self.bad: Counter[str] = Counter()
        self.torn: Counter[str] = Counter()
        self._seen: set[int] = set()
        self._lost_branch = False
        self._trees, self._indexes = self._schema()

    def tables(self) -> set[str]:
        """Return the names of the tables that the file is known to have."""
        return set(self._trees)

    def rows(self, table: str, shape: Shape | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table that can be read. shape: of the table, where the file's own can't be read."""
        tree = self._trees.get(table)
        shape = (shape_of(table, tree.sql) if tree else None) or shape
        if tree is None or shape is None:
            return
        for rowid, values in self._records(table, tree.root, inner=_TABLE_INNER if shape.has_rowid else _INDEX_INNER):
            try:
                yield shape.row(rowid, values)
            except UnreadableError:
                self.torn[table] += 1

    def numbers(self, counting: Iterable[str]) -> dict[str, int]:
        """Return the last number of each table that counts; the time if that can't be read, since no count is higher.

        counting: the tables that do.
        """
        numbers = {row["name"]: row["seq"] for row in self.rows("sqlite_sequence", _COUNTING)}
        if not numbers or self.bad["sqlite_sequence"] or self.torn["sqlite_sequence"]:
            return dict.fromkeys(counting, int(time.time()))
        return numbers

    def strays(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the rows, each with its table, of pages that a damaged page of a tree led to.

        Call it after the rows of all tables. A page whose rows may be of more than one table is left out, and so are
        all if it is not known which pages are free: what was deleted lies there.
        """
        if not self._lost_branch:
            return
        free = self._free()
        if free is None:
            return
        shapes = {name: shape for name, tree in self._trees.items() if (shape := shape_of(name, tree.sql))}
        shapes = {name: shape for name, shape in shapes.items() if len(shape.columns) >= _TELLING}
        for number in range(2, self.count + 1):
            if number in self._seen or number in free:
                continue
            for table, rows in self._stray(number, shapes):
                for row in rows:
                    yield table, row

    def indexed(self, table: str) -> int:
        """Return how many rows a table has by its indexes, at least."""
        trees = (self._records("", root, inner=_INDEX_INNER) for root in self._indexes.get(table, ()))
        return max((sum(1 for _ in records) for records in trees), default=0)

    def _stray(self, number: int, shapes: dict[str, Shape]) -> list[tuple[str, list[dict[str, Any]]]]:
        """Return the rows of a page with the table that they must be of; nothing if that is not plain."""
        try:
            kind, cells, _ = self._cells(number)
            if kind not in (_INDEX_LEAF, _TABLE_LEAF) or not cells:
                return []
            records = [self._record(self._page(number), cell, kind) for cell in cells]
        except _UNREADABLE:
            return []
        fits: list[tuple[str, list[dict[str, Any]]]] = []
        for name, shape in shapes.items():
            if shape.has_rowid != (kind == _TABLE_LEAF):
                continue
            try:
                if all(len(values) == len(shape.columns) for _, values in records):
                    fits.append((name, [shape.row(rowid, values) for rowid, values in records]))
            except UnreadableError:
                continue
        return fits if len(fits) == 1 else []

    # Pages

    def _page_size(self, log: bytes) -> int:
        sizes = [int.from_bytes(log[8:12])]
        head = self._read(0, 100)
        if head.startswith(_MAGIC):
            stated = int.from_bytes(head[16:18])
            sizes.insert(0, 1 << 16 if stated == 1 else stated)
        return next((size for size in sizes if size in _SIZES), _PAGE)

    def _page(self, number: int) -> bytes:
        if not 0 < number <= self.count:
            raise UnreadableError("no such page")
        page = self._logged.get(number)
        if page is None:
            page = self._read((number - 1) * self._size, self._size)
            if len(page) < self._size:
                raise UnreadableError("cut off")
        return page

    def _read(self, at: int, length: int) -> bytes:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                return os.pread(descriptor, length, at)
            finally:
                os.close(descriptor)
        except OSError:  # a bad block
            return b""

    def _cells(self, number: int) -> tuple[int, list[int], int]:
        """Return the kind of a page of a tree, where its cells begin, and its last child."""
        page, at = self._page(number), 100 if number == 1 else 0
        kind = page[at]
        if kind not in (_INDEX_INNER, _TABLE_INNER, _INDEX_LEAF, _TABLE_LEAF):
            raise UnreadableError("no page of a tree")
        is_inner = kind in (_INDEX_INNER, _TABLE_INNER)
        count = int.from_bytes(page[at + 3 : at + 5])
        begin = at + (12 if is_inner else 8)
        if begin + 2 * count > self._size:
            raise UnreadableError("more cells than fit")
        cells = list(struct.unpack_from(f">{count}H", page, begin))
        return kind, cells, int.from_bytes(page[at + 8 : at + 12]) if is_inner else 0

    def _records(self, table: str, root: int, *, inner: int) -> Iterator[tuple[int, list[Any]]]:
        """Yield the records of a tree, with their rowids (0 in an index), and count what can't be read."""
        leaf = _TABLE_LEAF if inner == _TABLE_INNER else _INDEX_LEAF
        waiting, met = [root], {root}
        while waiting:
            number = waiting.pop()
            try:
                kind, cells, last = self._cells(number)
                if kind not in (inner, leaf):
                    raise UnreadableError("a page of another tree")
                page = self._page(number)
            except _UNREADABLE:
                self.bad[table] += 1
                self._lost_branch = True  # or a leaf: nobody knows
                continue
            self._seen.add(number)
            children = []
            for cell in cells:
                if kind == inner:
                    children.append(int.from_bytes(page[cell : cell + 4]))
                if kind != _TABLE_INNER:
                    try:
                        yield self._record(page, cell, kind)
                    except _UNREADABLE:
                        self.torn[table] += 1
            for child in reversed([*children, last] if kind == inner else []):
                if child not in met:
                    met.add(child)
                    waiting.append(child)

    def _record(self, page: bytes, at: int, kind: int) -> tuple[int, list[Any]]:
        rowid = 0
        if kind == _INDEX_INNER:
            at += 4
        length, at = _varint(page, at)
        if kind == _TABLE_LEAF:
            rowid, at = _varint(page, at)
            rowid -= (rowid >> 63) << 64
        most = self._size - 35 if kind == _TABLE_LEAF else (self._size - 12) * 64 // 255 - 23
        if length <= most:
            body = page[at : at + length]
        else:
            least = (self._size - 12) * 32 // 255 - 23
            here = least + (length - least) % (self._size - 4)
            here = here if here <= most else least
            body = page[at : at + here] + self._overflow(int.from_bytes(page[at + here : at + here + 4]), length - here)
        if len(body) != length:
            raise UnreadableError("a record that ends early")
        return rowid, _values(body)

    def _overflow(self, number: int, length: int) -> bytes:
        if length > self._bytes + len(self._logged) * self._size:
            raise UnreadableError("longer than the file")
        parts = []
        while length > 0:
            page = self._page(number)
            self._seen.add(number)
            part = page[4 : 4 + min(length, self._size - 4)]
            parts.append(part)
            length -= len(part)
            number = int.from_bytes(page[:4])
        return b"".join(parts)

    def _free(self) -> set[int] | None:
        """Return the free pages; None if they are not known."""
        try:
            first = self._page(1)
            if not first.startswith(_MAGIC):
                return None
            number, free = int.from_bytes(first[32:36]), set[int]()
            while number:
                page = self._page(number)
                count = int.from_bytes(page[4:8])
                if number in free or count > self._size // 4 - 2:
                    return None
                free |= {number, *struct.unpack_from(f">{count}I", page, 8)}
                number = int.from_bytes(page[:4])
        except _UNREADABLE:
            return None
        return free if len(free) == int.from_bytes(first[36:40]) else None

    # The schema

    def _schema(self) -> tuple[dict[str, _Tree], dict[str, list[int]]]:
        """Return the tables, and the whole indexes of each. Where the first page is damaged, all pages are searched."""
        rows = [values for _, values in self._records("sqlite_master", 1, inner=_TABLE_INNER)]
        if self.bad["sqlite_master"] or self.torn["sqlite_master"] or not any(map(_is_schema, rows)):
            for number in range(2, self.count + 1):
                try:
                    kind, cells, _ = self._cells(number)
                    found = [self._record(self._page(number), cell, kind)[1] for cell in cells[:1]]
                    if kind == _TABLE_LEAF and found and _is_schema(found[0]):
                        rows += [self._record(self._page(number), cell, kind)[1] for cell in cells]
                except _UNREADABLE:
                    continue
        trees: dict[str, _Tree] = {}
        indexes: dict[str, list[int]] = {}
        for kind, name, table, root, sql in filter(_is_schema, rows):
            if kind == "table":
                trees.setdefault(name, _Tree(root=root, sql=sql or ""))
            elif kind == "index" and not re.search(r"\bWHERE\b", sql or ""):
                indexes.setdefault(table, []).append(root)
        return trees, indexes


def shape_of(table: str, sql: str) -> Shape | None:
    """Return how a table's rows are stored, given the statement that makes it; None if it is none."""
    if not sql.upper().startswith("CREATE TABLE"):
        return None
    with closing(sqlite3.connect(":memory:")) as database:
        try:
            database.execute(sql)
            found = database.execute(f'PRAGMA table_info("{table}")').fetchall()
        except (sqlite3.Error, sqlite3.Warning):
            return None
    has_rowid = re.search(r"\bWITHOUT\s+ROWID\s*$", sql, re.IGNORECASE) is None
    keys = [row for row in found if row[5]]
    number = keys[0][1] if has_rowid and len(keys) == 1 and keys[0][2].upper() == "INTEGER" else ""
    if not has_rowid:
        found = sorted(keys, key=lambda row: int(row[5])) + [row for row in found if not row[5]]
    columns = tuple((str(row[1]), str(row[2]).upper(), bool(row[3] or row[5])) for row in found)
    return Shape(columns=columns, number=number, has_rowid=has_rowid) if columns else None


def _is_schema(values: Sequence[Any]) -> bool:
    if len(values) != _SCHEMA_COLUMNS or values[0] not in ("table", "index", "view", "trigger"):
        return False
    _, name, table, root, sql = values
    is_made = sql is None or (isinstance(sql, str) and sql.upper().startswith("CREATE"))
    return isinstance(name, str) and isinstance(table, str) and isinstance(root, int) and is_made


def _varint(page: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(8):
        byte = page[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:  # noqa: PLR2004 - the highest bit says whether more follow
            return value, at + place + 1
    return value << 8 | page[at + 8], at + 9


_LENGTHS: Final = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)
_FLOAT, _ZERO, _FIRST_BYTES = 7, 8, 12


def _values(body: bytes) -> list[Any]:
    """Decode a record."""
    end, at = _varint(body, 0)
    if end > len(body):
        raise UnreadableError("a head that ends behind its record")
    values: list[Any] = []
    place = end
    while at < end:
        kind, at = _varint(body, at)
        if kind in (10, 11):
            raise UnreadableError("a type that nobody uses")
        length = _LENGTHS[kind] if kind < len(_LENGTHS) else (kind - _FIRST_BYTES) // 2
        raw = body[place : place + length]
        if len(raw) != length:
            raise UnreadableError("a value that ends behind its record")
        place += length
        if kind == 0:
            values.append(None)
        elif kind == _FLOAT:
            values.append(struct.unpack(">d", raw)[0])
        elif kind < _FIRST_BYTES:
            values.append(kind - _ZERO if kind >= _ZERO else int.from_bytes(raw, signed=True))
        else:
            values.append(raw.decode() if kind % 2 else raw)
    if place != len(body):
        raise UnreadableError("a record that is longer than its values")
    return values


_LOG_HEAD, _FRAME_HEAD = 32, 24
_LOG_MAGIC: Final = 0x377F0682


def _log_of(path: Path) -> tuple[bytes, bool]:
    """Return the content of a file's write-ahead log, "" for none, and whether the disk could read it."""
    try:
        return path.with_name(f"{path.name}-wal").read_bytes(), True
    except FileNotFoundError:
        return b"", True
    except OSError:
        return b"", False


def _log_pages(log: bytes, size: int) -> tuple[dict[int, bytes], int, bool]:
    """Return the pages of a write-ahead log up to its last commit, how many there were then, and its soundness."""
    if not log:
        return {}, 0, True
    magic = int.from_bytes(log[:4])
    order = "big" if magic & 1 else "little"
    sums = _checksum(log[:24], (0, 0), order)
    if magic & ~1 != _LOG_MAGIC or int.from_bytes(log[8:12]) != size or sums != _pair(log[24:32]):
        return {}, 0, False
    pages: dict[int, bytes] = {}
    fresh: dict[int, bytes] = {}
    count = 0
    for at in range(_LOG_HEAD, len(log) - size - _FRAME_HEAD + 1, size + _FRAME_HEAD):
        head, page = log[at : at + _FRAME_HEAD], log[at + _FRAME_HEAD : at + _FRAME_HEAD + size]
        if head[8:16] != log[16:24]:
            break
        sums = _checksum(page, _checksum(head[:8], sums, order), order)
        if sums != _pair(head[16:24]):
            break
        number, committed = _pair(head[:8])
        fresh[number] = page
        if committed:
            pages |= fresh
            fresh, count = {}, committed
    return pages, count, True


def _pair(raw: bytes) -> tuple[int, int]:
    return int.from_bytes(raw[:4]), int.from_bytes(raw[4:8])


def _checksum(raw: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{'>' if order == 'big' else '<'}{len(raw) // 4}I", raw)
    for number in range(0, len(words), 2):
        first = (first + words[number] + second) & 0xFFFFFFFF
        second = (second + words[number + 1] + first) & 0xFFFFFFFF
    return first, second
