"""`gateway-memory db`: the schema of a memory in PostgreSQL."""

import argparse
import os
from collections.abc import Sequence

from gateway_memory.cli.moving import with_extra
from gateway_memory.cli.options import tell
from gateway_memory.config.load import load_config
from gateway_memory.config.settings import StoreSettings
from gateway_memory.sync.storage import dsn_of, shards_of


def run_db(args: argparse.Namespace) -> int:
    """Carry it out; returns the exit code: 1 if `check` finds that this version can't work with the tables."""
    settings = load_config(args.config).for_agent(args.agent).store
    with with_extra():
        return _carry_out(args, dsn_of(settings), shards_of(settings), settings)


def _carry_out(args: argparse.Namespace, dsn: str, shards: Sequence[str], settings: StoreSettings) -> int:
    from gateway_memory.store.postgres import schema
    from gateway_memory.store.postgres.shards import spread

    if args.part == "migrate":
        servers = dict.fromkeys((dsn, *shards))
        done = [
            f"applied {name}"
            for each in servers
            for name in schema.migrate(each, settings.schema, app_role=args.app_role)
        ]
        done += spread(dsn, settings.schema, shards)
        tell(*done or ["nothing to do"])
    elif args.part == "check":
        replica = os.environ.get(settings.replica_dsn_env, "")
        for doubt in schema.check(dsn, settings.schema, role=args.app_role, replica=replica, shards=shards):
            tell(f"warning: {doubt.words}", beside=True)
        tell("this version can work with the tables")
    else:
        tell(*(f"{name}: {value}" for name, value in schema.status(dsn, settings.schema, shards)))
    return 0
