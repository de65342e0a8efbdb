"""What a shell command is: an entry of the table in `table.py`."""

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass

from gateway_memory.commands.option import Text

__all__ = ["ShellCommand"]


def _none(_: ArgumentParser) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellCommand:
    """A command of the shell, called as `gateway-memory NAME`.

    run: "module:function" of what carries it out: it gets the parsed arguments and returns the exit code. The module is
    imported only when the command runs, since most of them import the whole package. keeps_log: whether it logs to the
    workspace's `logs/`.
    """

    name: str
    help: Text
    run: str
    add_arguments: Callable[[ArgumentParser], None] = _none
    keeps_log: bool = True
