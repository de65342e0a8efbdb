"""The shell's commands: the table, and the arguments of each.

The parser, its help, the completion and docs/commands.md are made from it. The helps are in `texts/shell.json`.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Final

from gateway_memory.cli.options import Parser, add_memory, add_whose, add_workspace
from gateway_memory.commands.command import Command, Shell, Text
from gateway_memory.commands.dispatch import COMMANDS as CHAT_COMMANDS
from gateway_memory.connect.gateways import GATEWAYS
from gateway_memory.edge.phrases import SHELL, texts
from gateway_memory.hooks.editors import FILES
from gateway_memory.transfer.layouts import LAYOUTS

_URL: Final = "http://127.0.0.1:8765"


def _no_arguments(_: Parser) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellCommand:
    """A command of the shell, called as `gateway-memory NAME`.

    run: "module:function" below `gateway_memory`, which gets the parsed arguments and returns the exit code. The module
    is imported only when the command runs, since most of them import the whole package. needs_folder: whether the
    workspace must exist. keeps_log: whether it logs to the workspace's `logs/`.
    """

    name: str
    run: str
    arguments: Callable[[Parser], None] = _no_arguments
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
        self.arguments(parser)
        return parser


def _actions(parser: Parser, *names: str) -> Iterator[Parser]:
    """Add the actions of a command, as in `token add`, and yield their parsers."""
    actions = parser.add_subparsers(dest="action", required=True)
    for name in names:
        section = f"{parser.prog.removeprefix(f'{SHELL} ')} {name}"
        yield actions.add_parser(name, section=section, help=texts("shell")[section]["summary"])


def _add_person(parser: Parser) -> None:
    """Add the options of a command on the memory of one scope."""
    add_memory(parser)
    add_whose(parser)


def _chat_command(parser: Parser, *, command: Command, shell: Shell) -> None:
    _add_person(parser)
    if shell.words:
        parser.add_argument("text", nargs=shell.words, metavar=shell.metavar)
    for option in shell.options:
        if option.metavar:
            parser.add_argument(f"--{option.name}", metavar=option.metavar, help=option.help["en"])
        else:
            parser.add_argument(f"--{option.name}", action="store_const", const="", help=option.help["en"])
    if command.record:
        parser.add_argument("--json", action="store_true")


def _chat(parser: Parser) -> None:
    _add_person(parser)
    parser.add_argument("--model", metavar="PROVIDER/MODEL")


def _distill(parser: Parser) -> None:
    _add_person(parser)
    parser.add_argument("--dry-run", action="store_true")


def _replay(parser: Parser) -> None:
    _add_person(parser)
    parser.add_argument("file", type=Path)
    parser.add_argument("--turns", type=Path, metavar="FILE")


def _listen(parser: Parser) -> None:
    _add_person(parser)
    parser.add_argument("--json", action="store_true")


def _doctor(parser: Parser) -> None:
    parser.add_argument("part", choices=["mqtt", "episodes", "model", "sessions"])
    _add_person(parser)


def _completion(parser: Parser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])


def _serve(parser: Parser) -> None:
    parser.add_argument("--workspace", type=Path, metavar="FOLDER")
    parser.add_argument("--config", type=Path, metavar="FILE")
    parser.add_argument("--host", metavar="ADDRESS")
    parser.add_argument("--port", type=int, metavar="NUMBER")
    parser.add_argument("--socket", metavar="PATH")


def _token(parser: Parser) -> None:
    add, listed, revoke = _actions(parser, "add", "list", "revoke")
    add_workspace(add)
    add_whose(add, "for {} memory", owner=True, required=True, metrics=add.help_of("--metrics") or "")
    add.add_argument("--name", default="", metavar="TEXT")
    add_workspace(listed)
    revoke.add_argument("id")
    add_workspace(revoke)


def _mcp(parser: Parser) -> None:
    add_memory(parser)
    add_whose(parser, "{} memory; by default the owner's", owner=True, joined=parser.help_of("--project") or "")


def _page(parser: Parser) -> None:
    parser.add_argument("--url", metavar="URL")
    _serve(parser)


def _fact(parser: Parser) -> None:
    parser.add_argument("--content", required=True)
    parser.add_argument("--type", default="W", choices=["W", "B", "O", "S"])
    parser.add_argument("--entities", default="")
    parser.add_argument("--confidence", type=_share, default=0.9)
    _add_session(parser)


def _summary(parser: Parser) -> None:
    parser.add_argument("--topic", required=True)
    parser.add_argument("--summary", required=True)
    parser.add_argument("--decisions", action="append", default=[])
    parser.add_argument("--todos", action="append", default=[])
    _add_session(parser)


def _add_session(parser: Parser) -> None:
    parser.add_argument("--session", required=True, metavar="ID")
    add_whose(parser, "it must be {} session")
    parser.add_argument("--workspace")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--agent", default="main", metavar="ID")


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number from 0 to 1")
    return value


def _import(parser: Parser) -> None:
    parser.add_argument("layout", choices=LAYOUTS)
    parser.add_argument("path", type=Path)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--read", action="store_true")
    add_whose(parser, "all of it into {} memory")
    add_workspace(parser)
    parser.add_argument("--config", type=Path)


def _export(parser: Parser) -> None:
    parser.add_argument("--format", choices=["jsonl", "markdown", "feedback"], default="jsonl")
    parser.add_argument("--output", type=Path)
    add_workspace(parser)
    parser.add_argument("--config", type=Path)


def _delete(parser: Parser) -> None:
    parser.add_argument("--scope", required=True)
    parser.add_argument("--yes", action="store_true")
    add_workspace(parser)
    parser.add_argument("--config", type=Path)


def _read(parser: Parser) -> None:
    parser.add_argument("--since", type=_day, metavar="DATE")
    add_whose(parser, "only {} conversations")
    add_workspace(parser)
    parser.add_argument("--config", type=Path, metavar="FILE")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day; expected YYYY-MM-DD") from None


def _host(parser: Parser) -> None:
    parser.add_argument("host", choices=list(GATEWAYS))
    parser.add_argument("--file", type=Path, metavar="FILE")


def _connect(parser: Parser) -> None:
    _host(parser)
    add_workspace(parser)
    parser.add_argument("--config", type=Path, metavar="FILE")
    parser.add_argument("--url", default=_URL)
    parser.add_argument("--dry-run", action="store_true")


def _db(parser: Parser) -> None:
    parser.add_argument("part", choices=["migrate", "check", "status"])
    parser.add_argument("--app-role", default="", metavar="ROLE")
    parser.add_argument("--config", type=Path, metavar="FILE")
    parser.add_argument("--agent", default="main", metavar="ID")


def _move(parser: Parser) -> None:
    add_workspace(parser)
    parser.add_argument("--config", type=Path, metavar="FILE")
    parser.add_argument("--to-config", type=Path, metavar="FILE", required=True)
    parser.add_argument("--to-workspace", type=Path, metavar="FOLDER")
    parser.add_argument("--agent", default="main", metavar="ID")


def _edit(parser: Parser) -> None:
    add_memory(parser)
    parser.add_argument("--scope", default="owner")
    parser.add_argument("document", nargs="?", default="MEMORY.md")


def _checkout(parser: Parser) -> None:
    add_memory(parser)
    parser.add_argument("--scope", required=True)
    parser.add_argument("folder", type=Path)


def _commit(parser: Parser) -> None:
    add_memory(parser)
    parser.add_argument("--delete", action="store_true")
    parser.add_argument("folder", type=Path)


def _hooks(parser: Parser) -> None:
    install, undo, status = _actions(parser, "install", "undo", "status")
    for action in (install, undo):
        action.add_argument("editor", choices=list(FILES))
        where = action.add_mutually_exclusive_group(required=True)
        where.add_argument("--project", type=Path, metavar="DIR", help=action.help_of("--project"))
        where.add_argument("--global", dest="everywhere", action="store_true", help=action.help_of("--global"))
    install.add_argument("--config", type=Path)
    status.add_argument("--project", type=Path, metavar="DIR")
    for action in (install, undo, status):
        action.add_argument("--workspace")


def _config(parser: Parser) -> None:
    check, show, _ = _actions(parser, "check", "show", "schema")
    check.add_argument("file", nargs="?", default="config.json5")
    show.add_argument("file", nargs="?")
    show.add_argument("--agent", metavar="ID")


COMMANDS: Final = (
    *(
        ShellCommand(
            name=command.name,
            run="cli.memory:run",
            arguments=partial(_chat_command, command=command, shell=command.shell),
            needs_folder=True,
        )
        for command in CHAT_COMMANDS
        if command.shell
    ),
    ShellCommand(name="chat", run="cli.chat:run", arguments=_chat),
    ShellCommand(name="retry", run="cli.memory:run_retry", arguments=_add_person, needs_folder=True),
    ShellCommand(name="distill", run="cli.memory:run_distill", arguments=_distill, needs_folder=True),
    ShellCommand(name="replay", run="cli.replay:run", arguments=_replay),
    ShellCommand(name="listen", run="cli.mqtt:run_listen", arguments=_listen),
    ShellCommand(name="doctor", run="cli.doctor:run_doctor", arguments=_doctor),
    ShellCommand(name="demo", run="cli.demo:run"),
    ShellCommand(name="completion", run="cli.main:print_completion", arguments=_completion),
    ShellCommand(name="serve", run="cli.serve:run_serve", arguments=_serve),
    ShellCommand(name="token", run="cli.serve:run_token", arguments=_token, needs_folder=True),
    ShellCommand(name="page", run="cli.serve:run_page", arguments=_page),
    ShellCommand(name="mcp", run="cli.serve:run_mcp", arguments=_mcp),
    ShellCommand(name="save-fact", run="cli.agent:save_fact", arguments=_fact),
    ShellCommand(name="save-summary", run="cli.agent:save_summary", arguments=_summary),
    ShellCommand(name="import", run="cli.transfer:run_import", arguments=_import),
    ShellCommand(name="export", run="cli.transfer:run_export", arguments=_export, needs_folder=True),
    ShellCommand(name="delete", run="cli.transfer:run_delete", arguments=_delete, keeps_log=False),
    ShellCommand(name="read", run="cli.transfer:run_read", arguments=_read, needs_folder=True),
    ShellCommand(name="connect", run="connect.command:run_connect", arguments=_connect, keeps_log=False),
    ShellCommand(name="disconnect", run="connect.command:run_disconnect", arguments=_host, keeps_log=False),
    ShellCommand(name="db", run="cli.postgres:run_db", arguments=_db, keeps_log=False),
    ShellCommand(name="move", run="cli.postgres:run_move", arguments=_move, needs_folder=True, keeps_log=False),
    ShellCommand(name="edit", run="cli.documents:run_edit", arguments=_edit, keeps_log=False),
    ShellCommand(name="checkout", run="cli.documents:run_checkout", arguments=_checkout, keeps_log=False),
    ShellCommand(name="commit", run="cli.documents:run_commit", arguments=_commit, keeps_log=False),
    ShellCommand(name="hooks", run="hooks.install:run", arguments=_hooks),
    ShellCommand(name="config", run="cli.config:run", arguments=_config),
)
"""In the order of help. No log is kept where it would name what was deleted, or fill a folder that must be empty."""
