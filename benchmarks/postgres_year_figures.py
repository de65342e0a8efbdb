"""What `postgres_year.py` measures: its table, the floors that must hold, and what it reads in the server for them."""

import re
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

import psycopg

from recall import RecallSettings

__all__ = ["Figures", "logged", "longest_statements", "rows_of", "size_of", "times_there"]

START_SECONDS: Final = 10.0
PARTIAL_SHARE: Final = 0.01
DEADLINE_SECONDS: Final = RecallSettings().timeout_ms / 1000 + 0.25
"""With what a machine may add that the server and everything else share."""
_STATEMENT: Final = re.compile(r"^gateway-memory\|LOG:\s+duration: (?P<ms>[\d.]+) ms\s+[^:]+: (?P<text>.{1,110})")


class Figures:
    """The table, line by line, and the names of the lines whose floor was missed."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.missed: list[str] = []

    def add(self, name: str, value: object, *, holds: bool = True) -> None:
        """Add a line, and print it."""
        self.lines.append((name, str(value)))
        if not holds:
            self.missed.append(name)
        print(f"{name}: {value}{'' if holds else '  MISSED'}", flush=True)

    @contextmanager
    def took(self, name: str) -> Iterator[None]:
        """Add how long a block takes."""
        began = time.monotonic()
        yield
        self.add(name, f"{time.monotonic() - began:.0f} s")

    def add_starts(self, seconds: Sequence[float]) -> None:
        """Add how long hosts took to start."""
        each = ", ".join(f"{one:.1f}" for one in seconds)
        self.add("start of a host", f"{max(seconds):.1f} s at most ({each})", holds=max(seconds) <= START_SECONDS)

    def add_replies(self, name: str, seconds: Sequence[float], outcomes: Counter[str], *, judged: bool) -> None:
        """Add how long replies took, and how complete they were. judged: their completeness has a floor."""
        late = sum(one > DEADLINE_SECONDS for one in seconds)
        ms = [1000 * one for one in quantiles(seconds, n=20)]
        times = f"p50 {ms[9]:.0f} ms, p95 {ms[18]:.0f} ms, at most {1000 * max(seconds):.0f} ms, {late} late"
        self.add(name, f"{len(seconds):,} replies, {times}", holds=not late)
        incomplete = (outcomes["partial"] + outcomes["timeout"]) / len(seconds)
        told = f"{incomplete:.2%} partial or timeout, {dict(outcomes)}"
        self.add(f"{name}, outcomes", told, holds=not judged or incomplete <= PARTIAL_SHARE)

    def add_turns(self, accepted: Collection[str], there: Mapping[str, int]) -> None:
        """Add whether each turn that was accepted is there once. there: how often each is."""
        lost = [turn for turn in accepted if not there.get(turn)]
        doubled = [turn for turn, times in there.items() if times > 1]
        told = f"{len(accepted):,} accepted, {len(lost)} lost, {len(doubled)} doubled"
        self.add("turns", told, holds=not lost and not doubled)


def size_of(connection: psycopg.Connection[Any]) -> str:
    """Return how many exchanges the tables hold, and how large they are."""
    query = (
        "SELECT sum(pg_total_relation_size(oid))::float8, (SELECT count(*) FROM episodes) FROM pg_class "
        "WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
    )
    ((size, number),) = connection.execute(query).fetchall()
    return f"{number:,} exchanges, {size / 1e9:.1f} GB, {size / number / 1e3:.1f} KB an exchange"


def times_there(connection: psycopg.Connection[Any]) -> dict[str, int]:
    """Return how often each turn is there that ends with its id in brackets."""
    query = """SELECT substring("user" FROM '\\((turn\\d+)\\)$'), count(*) FROM episodes GROUP BY 1"""
    return {str(turn): int(times) for turn, times in connection.execute(query).fetchall() if turn is not None}


def rows_of(connection: psycopg.Connection[Any], key: str, folder: str) -> Counter[str]:
    """Return how many rows of a scope each table has."""
    rows: Counter[str] = Counter()
    query = (
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema() AND "
        "column_name IN ('scope', 'folder', 'key') AND data_type = 'text' AND table_name !~ '^episodes_'"
    )
    for table, column in connection.execute(query).fetchall():
        counted = f'SELECT count(*) FROM "{table}" WHERE {column} IN (%s, %s)'.encode()
        rows[table] += (connection.execute(counted, (key, folder)).fetchone() or (0,))[0]
    return +rows


def logged(connection: psycopg.Connection[Any]) -> dict[Path, int]:
    """Return how far the server's log has got."""
    folder = Path(str((connection.execute("SHOW data_directory").fetchone() or [""])[0])) / "statements"
    return {path: path.stat().st_size for path in folder.iterdir()}


def longest_statements(before: Mapping[Path, int], now: Collection[Path]) -> list[str]:
    """Return the longest statements of hosts in the server's log. before: how far it had got when they started."""
    found: dict[str, tuple[float, int]] = {}
    for path in now:
        for line in path.read_bytes()[before.get(path, 0) :].decode("utf-8", "replace").splitlines():
            if match := _STATEMENT.match(line):
                longest, times = found.get(match["text"], (0.0, 0))
                found[match["text"]] = max(longest, float(match["ms"])), times + 1
    ranked = sorted(found.items(), key=lambda one: one[1], reverse=True)[:8]
    return [f"{ms:,.0f} ms, {times} times above 100 ms: {text}" for text, (ms, times) in ranked]
