"""The parser of shell commands, the options that they share, and checks of files and folders."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NoReturn, cast

from gateway_memory.edge.phrases import SHELL, SHELL_LANGUAGE, Language, columns, fill, shown, texts
from gateway_memory.errors import UsageError
from gateway_memory.scope import KINDS, OWNER, OWNER_KEY, Kind, Whose, forms, is_name, owner_unless_named

WORKSPACE_VARIABLE: Final = "GATEWAY_MEMORY_WORKSPACE"


_VARIABLES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")


def language_of_shell(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Language:
    """Return the language that the shell speaks: that of `--lang`, which may stand anywhere, else of the locale."""
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    given = [value for name, value in pairwise([*before, ""]) if name == "--lang"]
    given += [each.removeprefix("--lang=") for each in before if each.startswith("--lang=")]
    locale = next((value for name in _VARIABLES if (value := environment.get(name))), "")
    return "zh" if (given or [locale])[-1].lower().startswith("zh") else "en"


class _Help(argparse.HelpFormatter):
    """The layout of help, in the language of the shell."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, _frame("usage") if prefix is None else prefix)

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if action.help is not argparse.SUPPRESS:
            taken = columns(self._format_action_invocation(action)) + self._current_indent
            self._action_max_length = max(self._action_max_length, taken)

    def _format_action(self, action: argparse.Action) -> str:
        """Return the lines of an argument. argparse counts characters, a terminal columns: the help begins at one."""
        written, head = super()._format_action(action), self._format_action_invocation(action)
        more = columns(head) - len(head)
        return written.replace(head + " " * more, head, 1) if more else written

    def _metavar_formatter(self, action: argparse.Action, default_metavar: str) -> Callable[[int], tuple[str, ...]]:
        written = super()._metavar_formatter(action, default_metavar)
        return lambda size: tuple(placeholder(name, SHELL_LANGUAGE.get()) for name in written(size))


class Parser(argparse.ArgumentParser):
    """A parser that finds the help of its arguments in `texts/shell.json`, by the command and by their names.

    section: the command's entry there; by default, the words behind the program's name.
    """

    def __init__(self, *values: Any, section: str = "", **options: Any) -> None:
        self._section = section
        super().__init__(*values, **{**options, "formatter_class": _Help, "add_help": False})
        for group in (self._positionals, self._optionals):
            group.title = _frame(str(group.title))
        self.add_argument("-h", "--help", action="help")
        self.add_argument("--lang", choices=["en", "zh"])

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """Add an argument. Without `help`, it has that of the file; of several languages it has that of the shell."""
        text = options.get("help", self.help_of(names[-1]))
        return super().add_argument(*names, **{**options, "help": in_shell(text)})

    def format_help(self) -> str:
        """Return the help. Its headings have the colon of the shell's language."""
        told = super().format_help()
        return re.sub(r"^(\S+):$", r"\1：", told, flags=re.MULTILINE) if SHELL_LANGUAGE.get() == "zh" else told

    def help_of(self, name: str) -> str | None:
        """Return the help of an argument, None if it needs none."""
        own = texts("shell").get(self._section or self.prog.removeprefix(f"{SHELL} "), {})
        text = in_shell(own.get(name) or texts("shell")["every command"].get(name))
        return text and text.replace("{forms}", shown(forms()))

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Check a choice. What an error lists includes the choices of installed packages, which are slow to find."""
        if action.choices is not None and value not in action.choices:
            action.choices = [*action.choices, *getattr(action.choices, "others", ())]
            near = [] if value in action.choices else get_close_matches(str(value), map(str, action.choices), 1, 0.7)
            if near:
                raise argparse.ArgumentError(action, f"invalid choice: {value!r} (did you mean {near[0]!r}?)")
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        """Print the usage and what is wrong, and exit."""
        self.print_usage(sys.stderr)
        self.exit(2, fill("phrases", "shell_error", prog=self.prog, message=shown(message)))


def tell(*lines: str, beside: bool = False) -> None:
    """Print lines in the language of the shell. beside: to stderr, as what is wrong, or stands beside the answer."""
    (sys.stderr if beside else sys.stdout).write("".join(f"{shown(line)}\n" for line in lines))


def in_shell(text: str | Mapping[Language, str] | None) -> str | None:
    """Return a text in the language of the shell."""
    return text if isinstance(text, str | None) else text[SHELL_LANGUAGE.get()]


def placeholder(name: str, language: Language) -> str:
    """Return what stands for a value in a usage, in a language."""
    return str(texts("shell")["placeholders"].get(name, name)) if language == "zh" else name


def _frame(name: str) -> str:
    return str(in_shell(texts("shell")["frame"][name]))


def add_workspace(parser: Parser) -> None:
    """Add --workspace. Its default is the environment variable, then ./workspace."""
    default = Path(os.environ.get(WORKSPACE_VARIABLE) or "workspace").expanduser()
    parser.add_argument("--workspace", type=Path, default=default, metavar="FOLDER")


def add_whose(
    parser: Parser,
    what: str = "instead",
    *,
    owner: bool = False,
    required: bool = False,
    metrics: bool = False,
    joined: bool = False,
    persons: bool = False,
) -> None:
    """Add an option for each kind of scope: --user, --room and so on, of which one at most may be given.

    what: the name of their help, which has "a person's" or the like in the place of {}.
    owner: add --owner too. required: one of them must be given; otherwise, none of them means the owner.
    metrics: add --metrics, where no memory may be meant. joined: options that may stand beside another one do.
    persons: no shared scope may be meant.
    """
    whose = parser.add_mutually_exclusive_group(required=required)
    form = str(in_shell(texts("shell")["whose"][what]))
    chinese = SHELL_LANGUAGE.get() == "zh"
    if owner:
        whose.add_argument("--owner", action="store_true", help=form.format(KINDS[OWNER_KEY].possessive[chinese]))
    if metrics:
        whose.add_argument("--metrics", action="store_true", help=parser.help_of("--metrics"))
    for kind in _named_kinds():
        if persons and kind.is_shared:
            continue
        stands_beside = joined and kind.may_be_joined
        text = parser.help_of(f"--{kind.name}") if stands_beside else form.format(kind.possessive[chinese])
        (parser if stands_beside else whose).add_argument(f"--{kind.name}", metavar="NAME", type=_name, help=text)


def add_project(parser: Parser) -> None:
    """Add --project and --global, of which one must be given: whose file of an editor."""
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--project", type=Path, metavar="DIR", help=parser.help_of("--project"))
    where.add_argument("--global", dest="everywhere", action="store_true", help=parser.help_of("--global"))


def _named_kinds() -> list[Kind]:
    return [kind for kind in KINDS.values() if kind.folder]


def named_of(args: argparse.Namespace) -> Whose:
    """Return the scopes that the options name, as keyword arguments; none for the owner without --owner.

    An empty name does not count as left out: a script's unset variable must not select the owner.
    """
    named = {kind.name: getattr(args, kind.name, None) for kind in _named_kinds()}
    if getattr(args, "owner", False):
        named["user"] = OWNER
    return cast("Whose", {name: value for name, value in named.items() if value is not None})


def whose_of(args: argparse.Namespace) -> Whose:
    """Return whose memory a command means, as keyword arguments: the owner's only if the options name nobody."""
    return owner_unless_named(named_of(args))


def _name(text: str) -> str:
    if not is_name(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name; without the option, it is the owner's memory")
    return text


def check_folder(workspace: Path) -> None:
    """Raise UsageError if the workspace is missing."""
    if not workspace.is_dir():
        what = "is a file; a workspace is a folder" if workspace.exists() else "there is no such folder"
        raise UsageError(f"{workspace}: {what}; name the workspace with --workspace")


def check_memory(args: argparse.Namespace) -> None:
    """Raise UsageError if the workspace is missing, or has no memory: what reads shall begin none in a wrong folder."""
    from gateway_memory.config.load import load_config
    from gateway_memory.store.disk.aside import has_memory
    from gateway_memory.store.disk.workspace import own_config

    check_folder(args.workspace)
    config = load_config(args.config, own=own_config(args.workspace))
    if not (has_memory(args.workspace) or config.for_agent(getattr(args, "agent", "main")).store.is_shared):
        raise UsageError(f"{args.workspace}: there is no memory here; name its folder with --workspace")


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
