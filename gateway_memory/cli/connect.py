"""`gateway-memory connect HOST` and `gateway-memory disconnect HOST`: their options."""

import argparse
from pathlib import Path
from typing import Final

from gateway_memory.cli.command import ShellCommand
from gateway_memory.cli.places import add_workspace

__all__ = ["COMMANDS"]

_HOSTS: Final = ("hermes", "nanobot", "openclaw")
"""The gateways, each a module of `gateway_memory.connect`."""
_URL: Final = "http://127.0.0.1:8765"


def _add_host(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", choices=_HOSTS)
    parser.add_argument("--file", type=Path, metavar="FILE", help="the gateway's config (default: its usual place)")


def _add_connect(parser: argparse.ArgumentParser) -> None:
    _add_host(parser)
    add_workspace(parser)
    parser.add_argument("--config", type=Path, metavar="FILE", help="the memory's config (hermes, nanobot)")
    parser.add_argument(
        "--url", default=_URL, help="where the service listens, or unix:/path of its socket (default: %(default)s)"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would be changed")


COMMANDS: Final = (
    ShellCommand(
        name="connect",
        help=("give a gateway the memory of a running service", "让一个网关用上正在运行的服务的记忆"),
        add_arguments=_add_connect,
        run="gateway_memory.connect.command:run_connect",
        keeps_log=False,
    ),
    ShellCommand(
        name="disconnect",
        help=("take the memory out of a gateway again", "把记忆从网关里移除"),
        add_arguments=_add_host,
        run="gateway_memory.connect.command:run_disconnect",
        keeps_log=False,
    ),
)
