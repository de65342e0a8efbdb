"""`gateway-memory db`: the schema of a memory in PostgreSQL."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway_memory.cli.command import ShellCommand

if TYPE_CHECKING:
    from gateway_memory.config.settings import StoreSettings

__all__ = ["COMMANDS", "run"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "part",
        choices=["migrate", "check", "status"],
        help="migrate: make or renew the tables; check: whether this version can work with them; status: what is there",
    )
    parser.add_argument(
        "--app-role",
        default="",
        metavar="ROLE",
        help="a role of PostgreSQL that hosts connect as, and that sees only the scopes it names; migrate gives it "
        "what it needs, check names what it lacks (without this option: what the role of the connection lacks)",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="a config.json5, whose `store` says where")
    parser.add_argument("--agent", default="main", metavar="ID", help="whose memory (default: %(default)s)")


COMMANDS: Final = (
    ShellCommand(
        name="db",
        help=("make, renew and examine the tables in PostgreSQL", "建立、升级、检查 PostgreSQL 里的表"),
        add_arguments=_add_arguments,
        run="gateway_memory.cli.db:run",
        keeps_log=False,
    ),
)


def run(args: argparse.Namespace) -> int:
    """Carry it out; returns the exit code: 1 if `check` finds that this version can't work with the tables."""
    from gateway_memory.config.load import load_config
    from gateway_memory.errors import GatewayMemoryError, how_to_install

    settings = load_config(args.config).for_agent(args.agent).store
    try:
        from gateway_memory.sync.opening import dsn_of

        return _carried_out(args, dsn_of(settings), settings)
    except GatewayMemoryError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("psycopg", "psycopg_pool"):
            raise
        sys.stderr.write(f"this needs the extra postgres: {how_to_install('postgres')}\n")
        return 1


def _carried_out(args: argparse.Namespace, dsn: str, settings: "StoreSettings") -> int:
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
