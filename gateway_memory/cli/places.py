"""Options that shell commands share, for the workspace and the scope, and checks of files and folders."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway_memory.errors import UsageError

if TYPE_CHECKING:
    from gateway_memory.scope import Owner

__all__ = [
    "WORKSPACE_VARIABLE",
    "add_place",
    "add_whose",
    "add_workspace",
    "check_output",
    "no_folder",
    "owner_unless_named",
]

WORKSPACE_VARIABLE: Final = "GATEWAY_MEMORY_WORKSPACE"


def add_workspace(parser: argparse.ArgumentParser) -> None:
    """Add --workspace. Its default is the environment variable, then ./workspace."""
    default = Path(os.environ.get(WORKSPACE_VARIABLE) or "workspace").expanduser()
    parser.add_argument(
        "--workspace",
        type=Path,
        default=default,
        metavar="FOLDER",
        help=f"the memory's folder (default: ${WORKSPACE_VARIABLE}, else ./workspace)",
    )


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add --workspace, --config, --agent, and --user or --room."""
    add_workspace(parser)
    parser.add_argument("--config", type=Path, metavar="FILE", help="a config.json5 (default: the built-in settings)")
    parser.add_argument(
        "--agent", default="main", metavar="ID", help="whose overrides in the config hold (default: %(default)s)"
    )
    add_whose(parser, user="a person's memory instead of the owner's", room="a group's memory instead of the owner's")


def add_whose(parser: argparse.ArgumentParser, *, user: str, room: str, owner: str = "", metrics: str = "") -> None:
    """Add --user and --room, which exclude each other; the arguments are their help.

    owner: the help of --owner, where one of them must be given; "" where neither means the owner. metrics: the help of
    --metrics, where no memory may be meant.
    """
    whose = parser.add_mutually_exclusive_group(required=bool(owner))
    if owner:
        whose.add_argument("--owner", action="store_true", help=owner)
    if metrics:
        whose.add_argument("--metrics", action="store_true", help=metrics)
    whose.add_argument("--user", metavar="NAME", type=_name, help=user)
    whose.add_argument("--room", metavar="NAME", type=_name, help=room)


def owner_unless_named(args: argparse.Namespace) -> "Owner | str | None":
    """Return the `user` of a call: the owner only if neither --user nor --room is given; None for a room.

    An empty name does not count as left out: a script's unset variable must not select the owner.
    """
    from gateway_memory.scope import OWNER

    return OWNER if (args.user, args.room) == (None, None) else args.user


def _name(text: str) -> str:
    from gateway_memory.scope import is_name

    if not is_name(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name; without the option, it is the owner's memory")
    return text


def no_folder(workspace: Path) -> bool:
    """Return whether the workspace is missing; if so, print why."""
    if workspace.is_dir():
        return False
    what = "is a file; a workspace is a folder" if workspace.exists() else "there is no such folder"
    sys.stderr.write(f"{workspace}: {what}; name the workspace with --workspace\n")
    return True


def check_output(path: Path | None) -> None:
    """Check that a file can be written, before the work whose result it is to hold; its content stays.

    Raises:
        UsageError: it cannot be written; the message says why.
    """
    if path is None:
        return
    try:
        there = path.exists()
        with path.open("ab"):
            pass
        if not there:
            path.unlink()
    except (OSError, ValueError) as error:  # ValueError: a name with NUL
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise UsageError(f"{path}: this file can't be written: {reason}") from None
