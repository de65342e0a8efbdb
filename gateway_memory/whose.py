"""Whose memory a shell command is about: `--user` and `--room`, read the same way by every command."""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway_memory.session import Owner

__all__ = ["add_whose", "owner_unless_named"]


def add_whose(parser: argparse.ArgumentParser, *, user: str, room: str) -> None:
    """Add both options, of which one at most is given; `user` and `room` are their help."""
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--user", metavar="NAME", type=_name, help=user)
    whose.add_argument("--room", metavar="NAME", type=_name, help=room)


def owner_unless_named(args: argparse.Namespace) -> "Owner | str | None":
    """Return the `user` of a call: the owner only where the command names nobody at all; None where it names a room.

    An empty name is no way to leave it out: a variable that a script left unset must not lead to the owner.
    """
    from gateway_memory.session import OWNER

    return OWNER if (args.user, args.room) == (None, None) else args.user


def _name(text: str) -> str:
    from gateway_memory.session import is_name

    if not is_name(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name; without the option, it is the owner's memory")
    return text
