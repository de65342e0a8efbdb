"""`gateway-memory db` and `move`: the schema of a memory in PostgreSQL, and a whole memory between it and files."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from tqdm import tqdm

from gateway_memory.config.load import load_config
from gateway_memory.config.settings import StoreSettings
from gateway_memory.edge.phrases import fill
from gateway_memory.errors import UsageError, how_to_install
from gateway_memory.sync.opening import dsn_of
from gateway_memory.transfer.migration import Location, Migrated, migrate

_text = partial(fill, "migration")


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
    source = Location(store=load_config(args.config).for_agent(args.agent).store, workspace=args.workspace)
    target = Location(
        store=load_config(args.to_config).for_agent(args.agent).store, workspace=args.to_workspace or args.workspace
    )
    if target.store.is_shared and args.to_workspace:
        raise UsageError(f"--to-workspace is for files, and {args.to_config} says PostgreSQL")
    with _with_extra(), tqdm(desc="moved", unit="row", disable=None) as bar:
        migrated = migrate(source, target, progress=bar.update)
    print("\n".join(_lines(migrated, args, source, target)))  # noqa: T201
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
    sides = {"source": migrated.source, "target": migrated.target}
    if not migrated.holds:
        yield _text("differs", **sides, parts=", ".join(each.part for each in migrated.compared if not each.is_same))
        return
    yield _text("done", **sides, number=sum(each.source.count for each in migrated.compared))
    yield from (_text("note", note=note) for note in migrated.notes)
    workspace = "" if target.store.is_shared else f" --workspace {target.workspace}"
    removal = _text(
        "drop_schema" if source.store.is_shared else "drop_files",
        schema=source.store.schema,
        workspace=source.workspace,
    )
    yield _text("next", **sides, config=args.to_config, workspace=workspace, removal=removal)
