"""`gateway-memory move`: a whole memory between files and PostgreSQL.

A migration can be killed at any moment and run again. The target keeps up to where each part was copied, in the same
transaction as the rows. No process opens it before all parts were compared with those of the source, which stays.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from tqdm import tqdm

from gateway_memory.cli.options import tell
from gateway_memory.config.load import load_config
from gateway_memory.config.settings import StoreSettings
from gateway_memory.edge.phrases import fill, shown
from gateway_memory.errors import UsageError, how_to_install
from gateway_memory.store.disk.workspace import SPOOL_FILE, STATE_FOLDER
from gateway_memory.store.journal.migration import FilesSide, Side
from gateway_memory.store.migration import DONE, NOT_MIGRATED, PARTS, Row, Tally, as_migrated, batches, tally
from gateway_memory.sync.storage import dsn_of

_ROWS: Final = 1000
_BYTES: Final = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where a memory is. workspace: of files, or of a host of PostgreSQL, whose turns may wait there."""

    store: StoreSettings
    workspace: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A part on both sides, after the copy."""

    part: str
    source: Tally
    target: Tally

    @property
    def is_same(self) -> bool:
        """Whether both sides hold the same rows."""
        return self.source == self.target


@dataclass(slots=True, kw_only=True)
class Migrated:
    """What a migration did. resumed: it continued an earlier one.

    nul: how many NUL characters became U+FFFD. undecodable: how many texts held bytes that are not UTF-8.
    """

    source: str
    target: str
    resumed: bool
    compared: list[Compared] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    nul: int = 0
    undecodable: int = 0

    @property
    def holds(self) -> bool:
        """Whether both sides hold the same."""
        return all(each.is_same for each in self.compared)


def migrate(source: Location, target: Location, *, progress: Callable[[int], object] = lambda _: None) -> Migrated:
    """Migrate a memory, or continue a migration that was not completed; progress is called with numbers of rows.

    Raises:
        UsageError: another process has one of them open, the target is not empty, or both are of one kind.
        ConfigError: the DSN is not set.
        StoreError: something can't be read or written. The migration can be run again.
    """
    from_server = source.store.is_shared
    if from_server == target.store.is_shared:
        both = "in PostgreSQL" if from_server else "files"
        advice = (
            "dump it with pg_dump and restore it" if from_server else "copy its folder while no process has it open"
        )
        raise UsageError(f"both configs say that the memory is {both}: {advice}")
    from gateway_memory.store.postgres.side import PostgresSide
    from gateway_memory.store.postgres.spool import waiting_in

    shared, in_folder = (source, target) if from_server else (target, source)
    spool = source.workspace / STATE_FOLDER / SPOOL_FILE
    if from_server and (waiting := waiting_in(spool)):
        raise UsageError(
            f"{spool}: {waiting} turns wait here for PostgreSQL; start this host once with the old config, then move"
        )
    with ExitStack() as stack:
        server = PostgresSide.open(dsn_of(shared.store), shared.store.schema, reads=from_server)
        files = FilesSide.open(in_folder.workspace, reads=not from_server)
        if from_server:
            return copy(stack.enter_context(server), stack.enter_context(files), progress=progress)
        return copy(stack.enter_context(files), stack.enter_context(server), progress=progress)


def copy(source: Side, target: Side, *, progress: Callable[[int], object] = lambda _: None) -> Migrated:
    """Copy all parts to a target that is empty or holds an unfinished copy, and compare them. Raises as `migrate`."""
    unknown = source.tables() - PARTS.keys() - NOT_MIGRATED
    if unknown:
        raise UsageError(f"{source.place} has tables of a newer version ({', '.join(sorted(unknown))}): upgrade first")
    identity = source.identity()
    unfinished = target.unfinished()
    if unfinished is None:
        filled = target.filled()
        if filled:
            raise UsageError(
                f"{target.place} holds a memory already ({', '.join(filled)}): a move needs an empty place"
            )
        target.begin(identity)
    elif unfinished != identity:
        raise UsageError(
            f"{target.place} holds the unfinished move of another memory; name the same source, or empty it"
        )
    columns = {part: sorted(source.columns(part)) for part in PARTS}
    for part, names in columns.items():
        if set(names) != target.columns(part):
            raise UsageError(f"{part} has other columns in {target.place}; bring both sides to this version first")
    migrated = Migrated(source=source.place, target=target.place, resumed=unfinished is not None, notes=source.notes())
    counters = source.counters()
    target.count_on(counters)  # first too: PostgreSQL makes room for exchanges by it
    for part, names in columns.items():
        _copy(source, target, part, names, progress)
    target.count_on(counters)
    source.changed = 0
    for part, names in columns.items():
        counting = _Nul(source.rows(part, names, None))
        rows = as_migrated(part, names, counting, without_nul=target.without_nul)
        here, there = tally(part, names, rows), tally(part, names, target.rows(part, names, None))
        migrated.compared.append(Compared(part=part, source=here, target=there))
        migrated.nul += counting.number if target.without_nul else 0
    migrated.undecodable = source.changed
    if migrated.holds:
        target.finish()
    return migrated


def _copy(source: Side, target: Side, part: str, columns: Sequence[str], progress: Callable[[int], object]) -> None:
    after = target.cursor(part)
    if after == DONE:
        return
    converted = partial(as_migrated, part, columns, without_nul=target.without_nul)
    rows = source.rows(part, columns, after)
    if not PARTS[part]:
        target.put(part, columns, converted(rows), DONE)
        return
    key = [columns.index(column) for column in PARTS[part]]
    for batch in batches(rows, most_rows=_ROWS, most_bytes=_BYTES):
        target.put(part, columns, converted(batch), [batch[-1][place] for place in key])
        progress(len(batch))
    target.put(part, columns, [], DONE)


class _Nul:
    """Rows, and how many NUL characters their texts hold."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = rows
        self.number = 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.number += sum(value.count("\0") for value in row if isinstance(value, str))
            yield row


_text = partial(fill, "migration")


@contextmanager
def with_extra() -> Iterator[None]:
    """Say which extra is missing, if it is the one of PostgreSQL."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("psycopg", "psycopg_pool"):
            raise
        raise UsageError(f"this needs the extra postgres: {how_to_install('postgres')}") from None


def run_move(args: argparse.Namespace) -> int:
    """Move a memory, and print what both sides hold; returns the exit code: 1 if they differ."""
    source = Location(store=load_config(args.config).for_agent(args.agent).store, workspace=args.workspace)
    target = Location(
        store=load_config(args.to_config).for_agent(args.agent).store, workspace=args.to_workspace or args.workspace
    )
    if target.store.is_shared and args.to_workspace:
        raise UsageError(f"--to-workspace is for files, and {args.to_config} says PostgreSQL")
    with with_extra(), tqdm(desc=shown("moved"), unit=shown("row"), disable=None) as bar:
        migrated = migrate(source, target, progress=bar.update)
    tell(*_lines(migrated, args, source, target))
    return 0 if migrated.holds else 1


def _lines(migrated: Migrated, args: argparse.Namespace, source: Location, target: Location) -> Iterator[str]:
    """Yield what both sides hold, and what to do next."""
    if migrated.resumed:
        yield _text("resumed")
    for each in migrated.compared:
        if each.source.count or each.target.count:
            other = f"= {each.target.digest}" if each.is_same else f"≠ {each.target.count} {each.target.digest}"
            yield f"{each.part:<18}{each.source.count:>9} {each.source.digest} {other}"
    if migrated.nul:
        yield _text("nul", number=migrated.nul)
    if migrated.undecodable:
        yield _text("undecodable", number=migrated.undecodable)
    sides = {"source": shown(migrated.source), "target": shown(migrated.target)}
    if not migrated.holds:
        yield _text("differs", **sides, parts=", ".join(each.part for each in migrated.compared if not each.is_same))
        return
    yield _text("done", **sides, number=sum(each.source.count for each in migrated.compared))
    yield from (_text("note", note=shown(note)) for note in migrated.notes)
    workspace = "" if target.store.is_shared else f" --workspace {target.workspace}"
    removal = _text(
        "drop_schema" if source.store.is_shared else "drop_files",
        schema=source.store.schema,
        workspace=source.workspace,
    )
    yield _text("next", **sides, config=args.to_config, workspace=workspace, removal=removal)
