"""`gateway-memory`: the command line, made from the table of its commands."""

import argparse
import io
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gateway_memory import __version__
from gateway_memory.cli.options import Parser, no_folder
from gateway_memory.cli.table import COMMANDS, add_arguments
from gateway_memory.config.settings import LogSettings
from gateway_memory.edge.phrases import SHELL
from gateway_memory.errors import GatewayMemoryError
from gateway_memory.observability.logs import configure_logging


def main(arguments: Sequence[str] | None = None) -> int:  # noqa: PLR0911 - one return for each kind of error
    """Run the command line; returns the exit code."""
    parser = make_parser()
    args = parser.parse_args(arguments)
    if not hasattr(args, "command"):
        parser.print_help()
        return 0
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals that can't show every character
    configure_logging(verbose=args.verbose, workspace=_logged(args), settings=_log_settings(args))
    try:
        if args.command.needs_folder and no_folder(args.workspace):
            return 1
        result: int = pkgutil.resolve_name(f"gateway_memory.{args.command.run}")(args)
        sys.stdout.flush()
    except GatewayMemoryError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    except UnicodeError:  # an argument of bytes that are not valid text, which shells pass on
        sys.stderr.write("an argument is not valid Unicode\n")
        return 2
    except OSError as error:  # a full disk, a file that belongs to another user
        sys.stderr.write(f"{error}\n")
        return 1
    return result


def make_parser() -> Parser:
    """Return the parser of the command line; what it parses carries the entry of the table as `command`."""
    parser = Parser(prog=SHELL, description="Long-term memory for chat gateways.")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="log to standard error (never a message or a memory)"
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    subparsers = parser.add_subparsers(metavar="COMMAND")
    for command in COMMANDS:
        below = subparsers.add_parser(command.name, help=command.help["en"])
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


def _logged(args: argparse.Namespace) -> Path | None:
    """Return the workspace in which the command keeps its log, None if it keeps none."""
    place: Path | str | None = getattr(args, "workspace", None)
    return Path(place) if place is not None and args.command.keeps_log else None


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
