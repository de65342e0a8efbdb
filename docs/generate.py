"""Write the tables of docs/commands.md and docs/config.md, docs/reference.md, their Chinese twins, and config.zh.json5.

A page holds text written by hand, and between `<!-- generated: NAME -->` and `<!-- end -->` what this program writes.
`make docs` runs it. `python docs/generate.py --check` only tells whether a page is out of date; a test runs it.
"""

import argparse
import ast
import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

import pyjson5

import gateway_memory
from gateway_memory.blocking import BlockingMemory
from gateway_memory.calls.memories import MemoryCalls, ReplyingCalls
from gateway_memory.calls.placing import PlacingCalls
from gateway_memory.calls.sessions import SessionCalls
from gateway_memory.calls.turns import TurnCalls
from gateway_memory.cli import quick_search
from gateway_memory.cli.options import placeholder
from gateway_memory.cli.table import COMMANDS as SHELL_COMMANDS
from gateway_memory.commands.dispatch import COMMANDS
from gateway_memory.config.keys import expected, known_keys, known_paths
from gateway_memory.config.scan import KeyPath
from gateway_memory.edge.config_reference import MEMORY, meanings, named, reference_text
from gateway_memory.edge.phrases import CHAT, SHELL, Language, translated
from gateway_memory.errors import GatewayMemoryError
from recall import Hit

DOCS: Final = Path(__file__).parent
PAGES: Final[dict[str, Language]] = {
    "commands.md": "en",
    "commands.zh.md": "zh",
    "config.md": "en",
    "config.zh.md": "zh",
    "reference.md": "en",
    "reference.zh.md": "zh",
}
SERVICE: Final = ("serve",)
METHODS: Final = {
    "BlockingMemory": ("open", "close", "within", "submit", "run"),
    "Session": ("opening", "compacted"),
}
"""What a host may call on a type, beside the calls of the memory that a blocking one has too."""
COMMON: Final = ("help", "lang", "workspace", "config", "agent", "user", "room")
"""Options that the text of commands.md explains once."""


_ALSO: Final = 4
"""The other words for a command that are shown; `/memory help NAME` tells all of them."""


def chat_commands(language: Language) -> Iterator[str]:
    """Yield the table of the chat's commands."""
    chinese = language == "zh"
    yield from (
        ("| 命令 | 也可以写 | 作用 | 改动记忆或会话 |", "|---|---|---|---|")
        if chinese
        else ("| command | also | what it does | changes something |", "|---|---|---|---|")
    )
    for command in COMMANDS:
        changes = ("是" if chinese else "yes") if command.changes else ""
        other = f"`{command.name}`" if chinese else command.chinese
        also = ", ".join((other, *command.also(language)[:_ALSO], "…"))
        yield _row(f"`{CHAT} {command.usage(language)}`", also, command.help[language], changes)


def search_options(language: Language) -> Iterator[str]:
    """Yield the table of the filters of a search."""
    chinese = language == "zh"
    yield from (("| 选项 | |", "|---|---|") if chinese else ("| option | |", "|---|---|"))
    (search,) = (command.shell for command in COMMANDS if command.name == "search")
    for option in search.options if search else ():
        value = placeholder(option.metavar, language)
        yield _row(f"`{f'--{option.name} {value}'.rstrip()}`", option.help[language])


def shell_commands(language: Language) -> Iterator[str]:
    """Yield the table of the shell's commands."""
    chinese = language == "zh"
    yield from (("| 命令 | |", "|---|---|") if chinese else ("| command | |", "|---|---|"))
    for command in SHELL_COMMANDS:
        positional = [action for action in _own(command.parser()) if not action.option_strings]
        usage = " ".join([SHELL, command.name, *(_positional(action, language) for action in positional)])
        yield _row(f"`{usage}`", command.help[language])


def shell_options(_: Language) -> Iterator[str]:
    """Yield the table of the shell's own options, those of all commands left out."""
    yield from ("| command | option | |", "|---|---|---|")
    for command in SHELL_COMMANDS:
        parser = command.parser()
        yield from _options(command.name, parser)
        if command.name == "search":  # an agent's form of it has a parser of its own, which loads faster
            known = {action.dest for action in _own(parser)}
            agents = [action for action in _own(quick_search.make_parser()) if action.dest not in known]
            yield from _rows(command.name, agents)


def _options(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    return _rows(name, _own(parser))


def _rows(name: str, actions: Sequence[argparse.Action]) -> Iterator[str]:
    for action in actions:
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse offers no public way
            for below, its_parser in action.choices.items():
                yield from _options(f"{name} {below}", its_parser)
        elif action.option_strings:
            value = "" if action.nargs == 0 else action.metavar or (_choices(action) or action.dest.upper())
            told = (action.help or "").replace("%(default)s", str(action.default))
            yield _row(f"`{name}`", f"`{f'{action.option_strings[-1]} {value}'.rstrip()}`", told)


def _own(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in parser._actions if action.dest not in COMMON]  # noqa: SLF001 - likewise


def _positional(action: argparse.Action, language: Language) -> str:
    name = placeholder(str(action.metavar or _choices(action) or action.dest.upper()), language)
    return {"*": f"[{name} …]", "+": f"{name} …", "?": f"[{name}]"}.get(str(action.nargs), name)


def _choices(action: argparse.Action) -> str:
    return "|".join(map(str, action.choices or ()))


def config_keys(language: Language) -> Iterator[str]:
    """Yield the keys of a memory."""
    return _keys(MEMORY, language)


def service_keys(language: Language) -> Iterator[str]:
    """Yield the keys of the service."""
    return _keys(SERVICE, language)


def _keys(section: KeyPath, language: Language) -> Iterator[str]:
    """Yield a heading for each object of the config file below a section, with a table of its keys."""
    told, defaults = meanings(language), pyjson5.decode(reference_text())
    header = "| 键 | 类型 | 默认 | 含义 |" if language == "zh" else "| key | type | default | meaning |"
    for path in (section, *(path for path in known_paths(section) if known_keys(path))):
        if path != section:
            yield from (f"### `{named(path)}`", "", told[path], "")
        yield from (header, "|---|---|---|---|")
        for key in known_keys(path):
            below = (*path, key)
            if not known_keys(below):
                default = json.dumps(_value(defaults, below), ensure_ascii=False)
                yield _row(f"`{key}`", translated(language, expected(below)), f"`{default}`", told[below])
        yield ""


def _value(document: Any, path: KeyPath) -> Any:
    for step in path:
        document = document[step]
    return document


def python_calls(language: Language) -> Iterator[str]:
    """Yield the calls of `GatewayMemory` in groups: from their docstrings, in Chinese a line each."""
    chinese = language == "zh"
    if chinese:
        yield from ("", *_overview(gateway_memory.GatewayMemory))
    else:
        yield from _described(gateway_memory.GatewayMemory)
    for title, in_chinese, group in (
        ("A whole reply", "完成一次回复", ReplyingCalls),
        ("Who speaks: sessions", "谁在说话：会话", SessionCalls),
        ("For each message", "每条消息", TurnCalls),
        ("A context that stays where it was put", "位置固定的上下文", PlacingCalls),
        ("Asking and saving", "查询和保存", MemoryCalls),
    ):
        yield from (f"### {in_chinese if chinese else title}", "")
        calls = [call for name, call in vars(group).items() if inspect.isfunction(call) and not name.startswith("_")]
        if chinese:
            yield from _overview(*calls)
        else:
            for call in calls:
                yield from _call(call)


def python_types(language: Language) -> Iterator[str]:
    """Yield what the calls take and return."""
    kinds = (
        BlockingMemory,
        gateway_memory.Session,
        gateway_memory.Context,
        gateway_memory.Placement,
        Hit,
        gateway_memory.Facts,
        gateway_memory.Speaker,
        gateway_memory.Refused,
        gateway_memory.DayLog,
        gateway_memory.Turn,
        gateway_memory.Candidate,
    )
    load_config = gateway_memory.load_config
    if language == "zh":
        methods = (getattr(kind, name) for kind in kinds for name in METHODS.get(kind.__name__, ()))
        yield from _overview(*kinds)
        yield from _overview(*(each for each in methods if inspect.isfunction(each)), load_config)
        return
    for kind in kinds:
        yield from _described(kind)
    yield from ("### `load_config`", "", *_signature(load_config), *_prose(load_config))


def python_errors(language: Language) -> Iterator[str]:
    """Yield the errors, each with the one that it is a kind of."""
    chinese = chinese_reference() if language == "zh" else {}
    yield from ("| 错误 | 属于 | 含义 |" if chinese else "| error | is a | |", "|---|---|---|")
    for name in vars(gateway_memory)["__all__"]:
        value = getattr(gateway_memory, name)
        if inspect.isclass(value) and issubclass(value, GatewayMemoryError):
            told = chinese[name] if chinese else " ".join(str(value.__doc__).split())
            yield _row(f"`{name}`", f"`{value.__bases__[0].__name__}`", told)


def chinese_reference() -> dict[str, str]:
    """Return what each call, type and error of the package means in Chinese, by its name."""
    meanings: dict[str, str] = pyjson5.decode((DOCS / "reference.zh.json5").read_text("utf-8"))
    return meanings


def _overview(*documented: Any) -> Iterator[str]:
    """Yield a table with a row for each call or type: its arguments, what it means in Chinese, and its errors."""
    chinese, types = chinese_reference(), all(isinstance(each, type) for each in documented)
    yield from ("| 类型 | 是什么 |", "|---|---|") if types else ("| 调用 | 作用 | 错误 |", "|---|---|---|")
    for each in documented:
        name = each.__name__
        if types:
            yield _row(f"`{name}`", chinese[name])
        else:
            _, _, raised = (inspect.getdoc(each) or "").partition("Raises")
            errors = dict.fromkeys(re.findall(r"\b[A-Z]\w+Error\b", raised))
            yield _row(f"`{_called(each)}`", chinese[name], "、".join(f"`{error}`" for error in errors))
    yield ""


def _described(kind: type) -> Iterator[str]:
    yield from (f"### `{kind.__name__}`", "", *_prose(kind))
    for name in METHODS.get(kind.__name__, ()):
        yield from _call(getattr(kind, name))


def _call(call: Any) -> Iterator[str]:
    """Yield a function, or a property as its function."""
    function: Any = call.fget if isinstance(call, property) else call
    yield from (f"#### `{function.__name__}`", "")
    yield from () if isinstance(call, property) else _signature(function)
    yield from _prose(function)


def _called(call: Callable[..., object]) -> str:
    """Return how a call is written, without the types of its arguments; one of a type that has few is told with it."""
    owner = call.__qualname__.partition(".")[0]
    awaited = "await " if inspect.iscoroutinefunction(call) else ""
    signature = inspect.signature(call)
    arguments = [each.replace(annotation=each.empty) for each in signature.parameters.values() if each.name != "self"]
    bare = signature.replace(parameters=arguments, return_annotation=signature.empty)
    return f"{awaited}{call.__qualname__ if owner in METHODS else call.__name__}{bare}"


def _signature(call: Callable[..., object]) -> Iterator[str]:
    """Yield a call as its source writes it, without `self`."""
    (function,) = ast.parse(dedent(inspect.getsource(inspect.unwrap(call)))).body
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    arguments = function.args
    arguments.args = [each for each in arguments.args if each.arg != "self"]
    for place, (argument, default) in enumerate(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)):
        if isinstance(default, ast.Name) and default.id.startswith("_"):  # a constant of the module
            arguments.kw_defaults[place] = ast.Constant(inspect.signature(call).parameters[argument.arg].default)
    awaited = "await " if isinstance(function, ast.AsyncFunctionDef) else ""
    returned = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    yield from (f"`{awaited}{function.name}({ast.unparse(arguments)}){returned}`", "")


def _prose(documented: object) -> Iterator[str]:
    """Yield a docstring as Markdown: a paragraph a line, arguments and errors as lists."""
    text = inspect.getdoc(documented) or ""
    if isinstance(documented, type) and dataclasses.is_dataclass(documented):  # its fields may share a line
        name = f"(?:{'|'.join(each.name for each in dataclasses.fields(documented))})"
        text = re.sub(rf"(?<=[.;\"])\s({name}(?:, {name})*): ", r"\n\1: ", text)
    for paragraph in text.split("\n\n"):
        joined: list[str] = []
        for line in paragraph.splitlines():
            item = re.match(r"\s*((?:[\w.]+(?:, )?)+): (?=\S)", line)
            if line.strip() == "Raises:" or line.startswith("Raises, "):
                joined += [line.strip(), ""]
            elif item and not line[:1].isupper():
                joined.append(f"- `{item[1].replace(', ', '`, `')}`: {line[item.end() :]}")
            elif joined and joined[-1]:
                joined[-1] += f" {line.strip()}"
            else:
                joined.append(line.strip())
        yield from (*joined, "")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


TABLES: Final[dict[str, Callable[[Language], Iterator[str]]]] = {
    "chat commands": chat_commands,
    "search options": search_options,
    "shell commands": shell_commands,
    "shell options": shell_options,
    "config keys": config_keys,
    "service keys": service_keys,
    "python calls": python_calls,
    "python types": python_types,
    "python errors": python_errors,
}


def generated(text: str, language: Language) -> str:
    """Return a page with its tables made anew."""

    def table(match: re.Match[str]) -> str:
        rows = "\n".join(TABLES[match[1]](language)).strip()
        return f"<!-- generated: {match[1]} -->\n\n{rows}\n\n<!-- end -->"

    return re.sub(r"<!-- generated: ([\w ]+) -->.*?<!-- end -->", table, text, flags=re.DOTALL)


def main() -> int:
    """Write the pages, or with --check name those that are out of date; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write the tables of the docs from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is out of date")
    only_check = parser.parse_args().check
    outdated = 0
    written: dict[Path, Callable[[str], str]] = {
        DOCS / name: partial(generated, language=language) for name, language in PAGES.items()
    }
    written[DOCS.parent / "config.zh.json5"] = lambda _: reference_text("zh")
    for page, make in written.items():
        before = page.read_text("utf-8") if page.exists() else ""
        after = make(before)
        if after != before:
            outdated += 1
            sys.stdout.write(f"{page}: {'out of date; `make docs` writes it' if only_check else 'written'}\n")
            if not only_check:
                page.write_text(after, "utf-8")
    return 1 if only_check and outdated else 0


if __name__ == "__main__":
    raise SystemExit(main())
