"""The commands of the shell, from `commands.json` and the commands of the chat."""

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final, Literal

from gateway_memory.cli.options import Parser, add_project, add_whose, add_workspace, in_shell
from gateway_memory.commands.command import Command, Shell, Text
from gateway_memory.commands.dispatch import COMMANDS as CHAT_COMMANDS
from gateway_memory.connect.proxy import HOSTS
from gateway_memory.edge.phrases import SHELL, SHELL_LANGUAGE, texts
from gateway_memory.hooks.editors import FILES
from gateway_memory.transfer.layouts import LAYOUTS

Arguments = Mapping[str, Mapping[str, Any]]
"""The options of `add_argument` by the argument's name; those of an entry of `_ADDED`; {} for a group, as "@memory"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellCommand:
    """A command of the shell, called as `gateway-memory NAME`.

    run: "module:function" below `gateway_memory`, which gets the parsed arguments and returns the exit code. The module
    is imported only when the command runs, since most of them import the whole package. needs: what must be there, the
    workspace's folder or a memory in it: what reads shall begin none. keeps_log: whether it logs to the workspace's
    `logs/`: not where the log would name what was deleted, or fill a folder that must be empty.
    """

    name: str
    run: str
    arguments: Arguments = field(default_factory=dict)
    needs: Literal["", "folder", "memory"] = ""
    keeps_log: bool = True

    @property
    def help(self) -> Text:
        """What it does."""
        text: Text = (texts("shell").get(self.name) or texts("commands")[self.name])["help"]
        return text

    def parser(self) -> Parser:
        """Return a parser of the command alone."""
        parser = Parser(prog=f"{SHELL} {self.name}")
        add_arguments(parser, self.arguments)
        return parser


def add_arguments(parser: Parser, arguments: Arguments) -> None:
    """Add the arguments of a command to its parser."""
    for name, options in arguments.items():
        if name in _GROUPS:
            add_arguments(parser, _GROUPS[name])
        elif name in _ADDED:
            _ADDED[name](parser, **options)
        else:
            named = {
                key: _NAMED[key][value] for key, value in options.items() if key in _NAMED and isinstance(value, str)
            }
            parser.add_argument(name, **{**options, **named})


def _add_actions(parser: Parser, **rows: Arguments) -> None:
    """Add the actions of a command, as in `token add`, each with its arguments."""
    actions = parser.add_subparsers(dest="action", required=True)
    for name, arguments in rows.items():
        section = f"{parser.prog.removeprefix(f'{SHELL} ')} {name}"
        text = texts("shell")[section]["summary"]
        below = actions.add_parser(name, section=section, help=in_shell(text), description=sentence(text))
        add_arguments(below, arguments)


def sentence(text: Text) -> str:
    """Return a text in the language of the shell, as a sentence."""
    told = str(in_shell(text))
    return f"{told[:1].upper()}{told[1:]}{'。' if SHELL_LANGUAGE.get() == 'zh' else '.'}"


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number from 0 to 1")
    return value


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day; expected YYYY-MM-DD") from None


_TABLE: Final = json.loads(Path(__file__).with_name("commands.json").read_bytes())
_GROUPS: Final[Mapping[str, Arguments]] = _TABLE["groups"]
"""Arguments that several commands have."""
_ADDED: Final = {"workspace": add_workspace, "whose": add_whose, "project": add_project, "actions": _add_actions}
"""What adds more than one argument, or one whose default is not fixed."""
_NAMED: Final[Mapping[str, Mapping[str, Any]]] = {
    "type": {"path": Path, "int": int, "share": _share, "day": _day},
    "choices": {"layouts": LAYOUTS, "gateways": list(HOSTS), "editors": list(FILES)},
}
"""Values of options that the table names."""


def _arguments_in_shell(command: Command, shell: Shell) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the arguments that a command of the chat has in the shell."""
    yield "@person", {}
    if shell.words:
        yield "text", {"nargs": shell.words, "metavar": shell.metavar}
    for option in shell.options:
        value = {"metavar": option.metavar} if option.metavar else {"action": "store_const", "const": ""}
        yield f"--{option.name}", {"help": option.help, **value}
    if command.record:
        yield "@json", {}


COMMANDS: Final = (
    *(
        ShellCommand(
            name=command.name,
            run="cli.memory:run",
            arguments=dict(_arguments_in_shell(command, command.shell)),
            needs="memory",
        )
        for command in CHAT_COMMANDS
        if command.shell
    ),
    *(ShellCommand(name=name, **row) for name, row in _TABLE["commands"].items()),
)
"""In the order of help."""
