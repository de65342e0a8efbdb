"""`gateway-memory db` and `move`: the schema of a memory in PostgreSQL, and a whole memory between it and files."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from gateway_memory.config.load import load_config
from gateway_memory.config.settings import StoreSettings
from gateway_memory.errors import UsageError, how_to_install
from gateway_memory.sync.opening import dsn_of
from gateway_memory.transfer.mover import Moved, Place, move

__all__ = ["run_db", "run_move"]


@contextmanager
def _with_extra() -> Iterator[None]:
    """Say which extra is missing, if it is the one of PostgreSQL."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("psycopg", "psycopg_pool"):
            raise
        raise UsageError(f"this needs the extra postgres: {how_to_install('postgres')}") from None


# `gateway-memory db`: the schema of a memory in PostgreSQL.


def run_db(args: argparse.Namespace) -> int:
    """Carry it out; returns the exit code: 1 if `check` finds that this version can't work with the tables."""
    settings = load_config(args.config).for_agent(args.agent).store
    with _with_extra():
        return _carried_out(args, dsn_of(settings), settings)


def _carried_out(args: argparse.Namespace, dsn: str, settings: StoreSettings) -> int:
    from gateway_memory.store.postgres import schema

    if args.part == "migrate":
        done = schema.migrate(dsn, settings.schema, app_role=args.app_role)
        sys.stdout.write("".join(f"applied {name}\n" for name in done) or "nothing to do\n")
    elif args.part == "check":
        for doubt in schema.check(dsn, settings.schema, role=args.app_role):
            sys.stderr.write(f"warning: {doubt.words}\n")
        sys.stdout.write("this version can work with the tables\n")
    else:
        sys.stdout.write("".join(f"{name}: {value}\n" for name, value in schema.status(dsn, settings.schema)))
    return 0


# `gateway-memory move`: a whole memory between files and PostgreSQL.


def run_move(args: argparse.Namespace) -> int:
    """Move a memory, and print what both sides hold; returns the exit code: 1 if they differ."""
    source = Place(store=load_config(args.config).for_agent(args.agent).store, workspace=args.workspace)
    target = Place(
        store=load_config(args.to_config).for_agent(args.agent).store, workspace=args.to_workspace or args.workspace
    )
    if target.is_shared and args.to_workspace:
        raise UsageError(f"--to-workspace is for files, and {args.to_config} says PostgreSQL")
    with _with_extra(), tqdm(desc="moved", unit="row", disable=None) as bar:
        moved = move(source, target, progress=bar.update)
    print("\n".join([*_compared(moved), *(_next(moved, args, source, target) if moved.holds else _differs(moved))]))  # noqa: T201
    return 0 if moved.holds else 1


def _compared(moved: Moved) -> list[str]:
    lines = ["went on with an earlier move"] if moved.resumed else []
    for each in moved.compared:
        if each.source.count or each.target.count:
            said = f"= {each.target.digest}" if each.is_same else f"≠ {each.target.count} {each.target.digest}"
            lines.append(f"{each.part:<18}{each.source.count:>9} {each.source.digest} {said}")
    if moved.nul:
        lines.append(f"{moved.nul} NUL characters became U+FFFD, since PostgreSQL has no text for them")
    if moved.undecodable:
        lines.append(f"{moved.undecodable} texts held bytes that are not UTF-8, which became U+FFFD")
    return lines


def _next(moved: Moved, args: argparse.Namespace, source: Place, target: Place) -> list[str]:
    number = sum(each.source.count for each in moved.compared)
    workspace = "" if target.is_shared else f" --workspace {target.workspace}"
    removal = (
        f"DROP SCHEMA {source.store.schema} CASCADE, in psql"
        if source.is_shared
        else f"in {source.workspace}: MEMORY.md, memory/, people/, rooms/, sessions*.jsonl, journal.sqlite*, "
        "index.sqlite*"
    )
    return [
        f"moved: {moved.target} holds all {number} rows of {moved.source}. Both sides were read again and compared.",
        "The index was not copied: the first process that opens the memory makes it again.",
        *(f"Note: {note}." for note in moved.notes),
        "Next:",
        f"  1. Start every process with --config {args.to_config}{workspace}, and none with the old config any more:",
        f"     {moved.source} was left as it is, and what is told to it from now on stays there.",
        f"  2. When you are content, remove the old memory: {removal}.",
    ]


def _differs(moved: Moved) -> list[str]:
    parts = ", ".join(each.part for each in moved.compared if not each.is_same)
    return [
        f"NOT moved: {moved.source} and {moved.target} differ in {parts}. The source has changed since the move began.",
        f"Nothing opens {moved.target} as it is. Empty it, and move again; the source was left as it is. To empty it:",
        "drop the schema and run `gateway-memory db migrate`, or delete the new files with their journal.sqlite*.",
    ]
