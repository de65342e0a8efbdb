"""A year of many people for `postgres_year.py`: told to the product by a few, and multiplied as it wrote it.

A template of some people talks through the year by the product's own calls, on a clock that is turned; without a model,
so by rules. Then every table is read, each number, scope, folder and session in it is given to as many others as are
wanted, and all of it comes back by COPY. Numbers rise with the weeks over all copies, as they do where everybody talks.
"""

import asyncio
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import psycopg
from numpy.typing import NDArray
from postgres_year_traffic import exchange, person
from psycopg import sql

from gateway_memory import Config, GatewayMemory
from gateway_memory.scope import resolve_scope
from gateway_memory.store.journal.episodes import PAGE_TURNS

__all__ = ["BUSY", "Sizes", "Template", "expire", "number_expired", "tell_template"]

WEEKS: Final = 52
BUSY: Final = resolve_scope(user="busy", room=None)
"""Somebody who has talked so much that the oldest replies are deleted."""
_KEPT_REPLIES: Final = 20_000
SESSION_TURNS: Final = 5
_AT_ONCE: Final = 10
_NUMBERS: Final = {
    ("turns", "id"): 3_000_000,
    ("observations", "id"): 4_000_000,
    ("receipts", "id"): 5_000_000,
    ("history", "id"): 6_000_000,
    ("events", "id"): 7_000_000,
    ("row", "sequence"): 8_000_000,
}
"""Where the numbers of the template begin, so that each is known by its first digit wherever it stands."""
_OWN: Final = frozenset("hosts leases locks heard sources identity migrations meta usage failures turns plans".split())
"""Tables that are about the schema or its processes, and not about people."""
_COUNTED: Final = frozenset({"session_counts", "session_totals"})
"""Tables of counts, which the server counts itself."""
_TEXTS_IN_BYTES: Final = frozenset({"documents", "record_files", "session_logs"})
_MARK: Final = re.compile(
    r"(?<![0-9a-f])(?P<session>[0-9a-f]{16})(?![0-9a-f])|(?<!\w)e(?P<turn>3\d{6})(?=[au]\d|\b)|"
    r"(?<![\w.])(?P<number>[3-9]\d{6})(?![\w.])|(?P<folder>people/qz\d{5}-[0-9a-f]+)|qz(?P<name>\d{5})|"
    r"episodes/(?P<page>\d+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large it gets: people in all, exchanges of each, and those who really talk."""

    people: int
    exchanges: int
    talkers: int

    @property
    def copies(self) -> int:
        return self.people // self.talkers


@dataclass(slots=True)
class _Table:
    """A table as a format string, the values of it by place: kinds and numbers, in groups of one kind."""

    head: sql.Composed
    text: str
    kinds: list[str]
    values: NDArray[np.int64]


@dataclass(slots=True)
class Template:
    """What the talkers' year became. weeks: by the first digit of a number, where each week begins and the end."""

    sizes: Sizes
    base: int
    weeks: Mapping[str, NDArray[np.int64]]
    tables: list[_Table] = field(default_factory=list)

    def copy(self, connection: psycopg.Connection[Any], number: int) -> None:
        """Store one copy, in a transaction."""
        with connection.transaction(), connection.cursor() as cursor:
            for table in self.tables:
                with cursor.copy(table.head) as into:
                    into.write(table.text % tuple(self._values(table, number)))

    def _values(self, table: _Table, copy: int) -> list[Any]:
        kinds = np.array(table.kinds)
        found = np.empty(len(kinds), dtype=object)
        for kind in set(table.kinds):
            there = kinds == kind
            values = table.values[there]
            if kind in ("name", "folder"):
                people = [person(copy * self.sizes.talkers + int(value)) for value in values]
                found[there] = [one.folder if kind == "folder" else one.key.partition(":")[2] for one in people]
            elif kind == "session":
                found[there] = (values.view(np.uint64) ^ np.uint64(copy * 0x9E3779B97F4A)).tolist()
            elif kind == "page":
                found[there] = (self._number("3", values * PAGE_TURNS, copy) // PAGE_TURNS).tolist()
            else:
                found[there] = self._number(kind, values, copy).tolist()
        return found.tolist()

    def _number(self, kind: str, values: NDArray[np.int64], copy: int) -> NDArray[np.int64]:
        """Return the numbers of a copy: those of all copies in a week come before those of the next week."""
        starts = self.weeks[kind]
        week = np.clip(np.searchsorted(starts, values, side="right") - 1, 0, len(starts) - 2)
        length = starts[week + 1] - starts[week]
        before = (starts[week] - starts[0]) * self.sizes.copies + copy * length
        return np.asarray(self.base + before + values - starts[week])

    @property
    def last_turn(self) -> int:
        """The highest number that a turn may have in the last copy."""
        starts = self.weeks["3"]
        return self.base + self.sizes.copies * int(starts[-1] - starts[0])

    def finish(self, connection: psycopg.Connection[Any]) -> None:
        """Let what comes next have the next numbers."""
        for table, column in _NUMBERS:
            _restart(connection, table, column, 0)
        highest = "(SELECT origin, max(number) AS number FROM events GROUP BY origin)"
        connection.execute(
            f"UPDATE sources s SET head = e.number, sent = e.number FROM {highest} e "
            "WHERE e.origin = s.origin AND s.head < e.number"
        )


async def tell_template(connection: psycopg.Connection[Any], config: Config, folder: Path, sizes: Sizes) -> Template:
    """Let the talkers live through their year, and take what became of it out of the tables."""
    for (table, column), start in _NUMBERS.items():
        _restart(connection, table, column, start)
    generator = random.Random(7)
    started = datetime.now(UTC).replace(microsecond=0) - timedelta(weeks=WEEKS)
    now = [started]
    weeks: dict[str, list[int]] = {str(start)[0]: [] for start in _NUMBERS.values()}
    visits = [(generator.randrange(WEEKS), who) for who in range(sizes.talkers) for _ in _visits(sizes)]
    generator.shuffle(visits)
    async with GatewayMemory(config, folder, clock=lambda: now[0]) as memory:
        await memory.flush()
        # Otherwise the first event of a host is numbered by the microsecond, as where the server has stepped back.
        place = "'sources'::regclass::oid || ' ' || extract(epoch FROM pg_postmaster_start_time())"
        connection.execute(f"UPDATE hosts SET place = {place}".encode())
        connection.execute("UPDATE sources SET head = %s, sent = %s", (7_000_000 - 1, 7_000_000 - 1))
        for week in range(WEEKS):
            _note_week(connection, weeks)
            now[0] = max(now[0], started + timedelta(weeks=week))
            here = [who for at, who in visits if at == week]
            for first in range(0, len(here), _AT_ONCE):
                group = here[first : first + _AT_ONCE]
                names = [f"{week}x{first + number}" for number in range(len(group))]
                await asyncio.gather(*(_visit(memory, *each, generator) for each in zip(group, names, strict=True)))
                now[0] += timedelta(seconds=round(0.9 * 604_800 / -(-len(here) // _AT_ONCE)))
            await memory.flush()
            await memory._opened().storage.recaller.embedded()  # noqa: SLF001 - all vectors are to be there
    now[0] = datetime.now(UTC)
    _note_week(connection, weeks)
    reserved = (sizes.people * sizes.exchanges // 10 // PAGE_TURNS + 1000) * PAGE_TURNS
    template = Template(sizes, reserved, {kind: np.array(starts) for kind, starts in weeks.items()})
    template.tables = list(_taken(connection))
    for table, column in _NUMBERS:
        _restart(connection, table, column, 1)
    return template


def _visits(sizes: Sizes) -> range:
    return range(sizes.exchanges // SESSION_TURNS)


async def _visit(memory: GatewayMemory, who: int, name: str, generator: random.Random) -> None:
    """Hold one session of a person."""
    session = await memory.start_session(f"chat-{name}", user=f"qz{who:05}")
    for turn in range(SESSION_TURNS):
        said, answered = exchange(generator, tells=turn == 2)
        await memory.before_reply(session, said)
        await memory.after_reply(session, user=said, reply=answered, turn_id=f"{name}-{turn}")
    await memory.end_session(session, reason="completed")


def _restart(connection: psycopg.Connection[Any], table: str, column: str, number: int) -> None:
    """Let a column's next number be this one; 0: the one behind the highest."""
    name, key = sql.Identifier(table), sql.Identifier(column)
    if not number:
        behind = sql.SQL("SELECT coalesce(max({}), 0) + 1 FROM {}").format(key, name)
        number = (connection.execute(behind).fetchone() or [1])[0]
        if table == "turns":
            used = "SELECT greatest((SELECT max(turn) FROM replies), (SELECT max(turn) FROM episodes), 0) + 1"
            number = max(number, (connection.execute(used).fetchone() or [1])[0])
    connection.execute(sql.SQL("ALTER TABLE {} ALTER {} RESTART WITH {}").format(name, key, sql.Literal(number)))


def _note_week(connection: psycopg.Connection[Any], weeks: Mapping[str, list[int]]) -> None:
    """Note where the numbers of a week begin. Turns begin at a page, so that no page belongs to two weeks."""
    for (table, column), start in _NUMBERS.items():
        quoted = f'"{table}"'
        query = "SELECT pg_sequence_last_value(pg_get_serial_sequence(%s, %s))"
        last = (connection.execute(query, (quoted, column)).fetchone() or [None])[0]
        noted = weeks[str(start)[0]]
        following = (noted[-1] if noted else start) if last is None else last + 1
        if table == "turns":
            following = -(-following // PAGE_TURNS) * PAGE_TURNS
            _restart(connection, table, column, following)
        noted.append(following)


def _taken(connection: psycopg.Connection[Any]) -> Iterator[_Table]:
    """Read what stands in the tables of people, and empty them."""
    query = (
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN "
        "('r', 'p') AND NOT c.relispartition ORDER BY "  # those that refer to others come last
        "EXISTS (SELECT 1 FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f'), c.relname"
    )
    names = [str(name) for (name,) in connection.execute(query).fetchall() if name not in _OWN]
    sessions = {str(value) for (value,) in connection.execute("SELECT session_id FROM sessions").fetchall()}
    for name in [name for name in names if name not in _COUNTED]:
        query = (
            "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND "
            "table_name = %s AND is_generated = 'NEVER' AND (is_identity = 'NO' OR column_name = ANY(%s)) "
            "ORDER BY ordinal_position"
        )
        numbered = [column for table, column in _NUMBERS if table == name]
        columns = [str(row[0]) for row in connection.execute(query, (name, numbered)).fetchall()]
        table, listed = sql.Identifier(name), sql.SQL(", ").join(map(sql.Identifier, columns))
        form = "escape" if name in _TEXTS_IN_BYTES else "hex"
        connection.execute(sql.SQL("SET bytea_output = {}").format(sql.Literal(form)))
        with (
            connection.cursor() as cursor,
            cursor.copy(sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(listed, table)) as out,
        ):
            text = b"".join(bytes(part) for part in out).decode()
        if text:
            page = columns.index("page") if name == "episode_pages" else -1
            yield _marked(sql.SQL("COPY {} ({}) FROM STDIN").format(table, listed), text, sessions, page)
    emptied = sql.SQL(", ").join(map(sql.Identifier, names))
    connection.execute(sql.SQL("TRUNCATE {}").format(emptied))


def _marked(head: sql.Composed, text: str, sessions: set[str], page: int) -> _Table:
    """Find what differs from copy to copy. page: the column that holds a page's number, or -1."""
    kinds: list[str] = []
    values: list[int] = []

    def mark(found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        value = found[kind]
        if kind == "session" and value not in sessions:
            return found[0]
        if kind in ("number", "turn"):
            kinds.append(value[0])
            values.append(int(value))
            return "e%d" if kind == "turn" else "%d"
        kinds.append(kind)
        if kind == "session":
            values.append(int(np.uint64(int(value, 16)).view(np.int64)))
            return "%016x"
        values.append(int(value.partition("-")[0].removeprefix("people/qz")))
        return "episodes/%d" if kind == "page" else "%s"

    if page >= 0:
        lines = [line.split("\t") for line in text.splitlines()]
        text = "".join("\t".join([*row[:page], f"episodes/{row[page]}", *row[page + 1 :]]) + "\n" for row in lines)
    text = _MARK.sub(mark, text.replace("%", "%%"))
    return _Table(head, text.replace("episodes/", "") if page >= 0 else text, kinds, np.array(values, dtype=np.int64))


def expire(connection: psycopg.Connection[Any], number: int) -> None:
    """Let somebody have so many more replies than are kept, and as many observations that have expired."""
    ago = (datetime.now(UTC) - timedelta(days=400)).timestamp()
    connection.execute(
        "INSERT INTO replies (turn, scope, session_id, at, recalled, session_key, turn_id, report) "
        "SELECT 1000 + n, %s, md5(n::text), %s, '[]', 'old', 'old' || n, '' FROM generate_series(1, %s) n",
        (BUSY.key, ago, _KEPT_REPLIES + number),
    )
    connection.execute(
        "INSERT INTO observations (scope, session_id, at, kind, tool, content, private) "
        "SELECT %s, 'old', %s, 'assistant', '', 'It was looked at.', false FROM generate_series(1, %s)",
        (BUSY.key, ago, number),
    )


def number_expired(connection: psycopg.Connection[Any]) -> int:
    """Return how many of these are left."""
    query = (
        "SELECT greatest(0, (SELECT count(*) FROM replies WHERE scope = %s) - %s) "
        "+ (SELECT count(*) FROM observations WHERE session_id = 'old')"
    )
    ((number,),) = connection.execute(query, (BUSY.key, _KEPT_REPLIES)).fetchall()
    return int(number)
