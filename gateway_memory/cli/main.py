"""The command line: `gateway-memory …`."""

import argparse
import io
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from gateway_memory import __version__
from gateway_memory.cli.options import Parser, check_folder, check_memory, in_shell, language_of_shell, tell
from gateway_memory.cli.table import COMMANDS, add_arguments, sentence
from gateway_memory.config.settings import LogSettings
from gateway_memory.edge.phrases import SHELL, SHELL_LANGUAGE, fill, texts
from gateway_memory.errors import GatewayMemoryError
from gateway_memory.observability.logs import configure_logging


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
    try:
        _prepare(args)
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


def _prepare(args: argparse.Namespace) -> None:
    """Check that what a command needs is there, and begin the log. Raises UsageError, ConfigError."""
    if args.command.needs == "folder":
        check_folder(args.workspace)
    elif args.command.needs == "memory":
        check_memory(args)
    place: Path | str | None = getattr(args, "workspace", None) if args.command.keeps_log else None
    workspace = None if place is None else Path(place)
    configure_logging(verbose=args.verbose, workspace=workspace, settings=_log_settings(args))


def make_parser() -> Parser:
    """Return the parser of the command line; what it parses carries the entry of the table as `command`."""
    parser = Parser(prog=SHELL, description=in_shell(texts("shell")["frame"]["description"]))
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--version", action=_Version, nargs=0)
    subparsers = parser.add_subparsers(metavar=in_shell(texts("shell")["frame"]["command"]))
    for command in COMMANDS:
        text = command.help
        below = subparsers.add_parser(command.name, help=in_shell(text), description=sentence(text))
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
