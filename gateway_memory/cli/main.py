"""`gateway-memory`: the command line, with the chat's own commands, and those of `commands.json`.

The parser, its help, the completion and docs/commands.md are made from the table of both. The helps are in
`texts/shell.json`.
"""

import argparse
import io
import json
import pkgutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final

from gateway_memory import __version__
from gateway_memory.cli.options import (
    Parser,
    add_project,
    add_whose,
    add_workspace,
    check_folder,
    in_shell,
    language_of_shell,
    tell,
)
from gateway_memory.commands.command import Command, Shell, Text
from gateway_memory.commands.dispatch import COMMANDS as CHAT_COMMANDS
from gateway_memory.config.settings import LogSettings
from gateway_memory.connect.proxy import HOSTS
from gateway_memory.edge.phrases import SHELL, SHELL_LANGUAGE, fill, texts
from gateway_memory.errors import GatewayMemoryError
from gateway_memory.hooks.editors import FILES
from gateway_memory.observability.logs import configure_logging
from gateway_memory.transfer.layouts import LAYOUTS

Arguments = Mapping[str, Mapping[str, Any]]
"""The options of `add_argument` by the argument's name; those of an entry of `_ADDED`; {} for a group, as "@memory"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellCommand:
    """A command of the shell, called as `gateway-memory NAME`.

    run: "module:function" below `gateway_memory`, which gets the parsed arguments and returns the exit code. The module
    is imported only when the command runs, since most of them import the whole package. needs_folder: whether the
    workspace must exist. keeps_log: whether it logs to the workspace's `logs/`: not where the log would name what was
    deleted, or fill a folder that must be empty.
    """

    name: str
    run: str
    arguments: Arguments = field(default_factory=dict)
    needs_folder: bool = False
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
        below = actions.add_parser(name, section=section, help=in_shell(text), description=_sentence(text))
        add_arguments(below, arguments)


def _sentence(text: Text) -> str:
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
            needs_folder=True,
        )
        for command in CHAT_COMMANDS
        if command.shell
    ),
    *(ShellCommand(name=name, **row) for name, row in _TABLE["commands"].items()),
)
"""In the order of help."""


# The command line.


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    language = SHELL_LANGUAGE.set(language_of_shell(given))
    try:
        return _run(given)
    finally:
        SHELL_LANGUAGE.reset(language)


def _run(arguments: Sequence[str]) -> int:  # noqa: PLR0911 - one return for each kind of error
    parser = make_parser()
    args = parser.parse_args(arguments)
    if not hasattr(args, "command"):
        parser.print_help()
        return 0
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals that can't show every character
    place: Path | str | None = getattr(args, "workspace", None) if args.command.keeps_log else None
    workspace = None if place is None else Path(place)
    configure_logging(verbose=args.verbose, workspace=workspace, settings=_log_settings(args))
    try:
        if args.command.needs_folder:
            check_folder(args.workspace)
        result: int = pkgutil.resolve_name(f"gateway_memory.{args.command.run}")(args)
        sys.stdout.flush()
    except GatewayMemoryError as error:
        tell(str(error), beside=True)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    except UnicodeError:  # an argument of bytes that are not valid text, which shells pass on
        sys.stderr.write(f"{fill('phrases', 'shell_no_unicode')}\n")
        return 2
    except OSError as error:  # a full disk, a file that belongs to another user
        tell(str(error), beside=True)
        return 1
    return result


def make_parser() -> Parser:
    """Return the parser of the command line; what it parses carries the entry of the table as `command`."""
    parser = Parser(prog=SHELL, description=in_shell(texts("shell")["frame"]["description"]))
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--version", action=_Version, nargs=0)
    subparsers = parser.add_subparsers(metavar="COMMAND")
    for command in COMMANDS:
        text = command.help
        below = subparsers.add_parser(command.name, help=in_shell(text), description=_sentence(text))
        add_arguments(below, command.arguments)
        below.set_defaults(command=command)
    return parser


class _Version(argparse.Action):
    """Print the version of the package, also to a pipe that is closed and a disk that is full."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        try:
            print(f"gateway-memory {__version__}", flush=True)  # noqa: T201
        except BrokenPipeError:
            parser.exit()
        except OSError as error:  # a full disk
            parser.exit(1, f"{error}\n")
        parser.exit()


def _log_settings(args: argparse.Namespace) -> LogSettings:
    from gateway_memory.config.load import load_config

    try:
        return load_config(getattr(args, "config", None)).for_agent(getattr(args, "agent", None) or "main").logs
    except GatewayMemoryError:  # the command itself will report it
        return LogSettings()


def print_completion(args: argparse.Namespace) -> int:
    """Print the script with which a shell completes our commands; returns the exit code."""
    import shtab

    parser = make_parser()
    for action in _actions(parser):
        if action.type is Path:
            action.complete = shtab.DIR if action.dest == "workspace" else shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, args.shell))  # noqa: T201
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the options and arguments of a parser and of the commands below it."""
    for action in parser._actions:  # noqa: SLF001 - argparse offers no public way
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - likewise
            for below in action.choices.values():
                yield from _actions(below)


if __name__ == "__main__":
    raise SystemExit(main())
