"""The commands, one entry each. The chat, its help, the shell, its completion and docs/commands.md are made from it.

To add a command, write its function, add an entry here and its phrases in `gateway_memory/phrases.py`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, Literal

from gateway_memory.commands.memories import forget, list_memories, list_record
from gateway_memory.commands.option import Option, Text
from gateway_memory.commands.ports import CommandPorts
from gateway_memory.commands.receipts import history, history_record, receipts, receipts_record, undo, why
from gateway_memory.commands.search import OPTIONS, search, search_record
from gateway_memory.commands.status import status, status_record
from gateway_memory.commands.switches import switch_off, switch_on
from gateway_memory.phrases import CHAT, Language
from gateway_memory.session import Session

__all__ = ["COMMANDS", "Command", "Shell", "find", "listed", "nearest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """How a command is called in a shell, as `gateway-memory NAME`.

    words: how many words it takes, as argparse writes it ("" for none); metavar: what help calls them.
    """

    words: Literal["", "*", "+"] = ""
    metavar: str = ""
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of the chat, and of the shell if `shell` is given.

    aliases: other names, the one that help shows in Chinese first. argument: what stands behind the name. run: gets
    the text behind the name and returns the answer. record: returns what the command tells as JSON values. changes:
    whether it changes the memory or the session. listed: whether `/memory help` shows it. waits: whether it waits until
    the turns said before it are processed.
    """

    name: str
    help: Text
    run: Callable[[CommandPorts, Session, str], Awaitable[str]]
    aliases: tuple[str, ...] = ()
    argument: Text = ("", "")
    record: Callable[[CommandPorts, Session, str], Awaitable[dict[str, Any]]] | None = None
    shell: Shell | None = None
    changes: bool = False
    listed: bool = True
    waits: bool = True

    def usage(self, language: Language) -> str:
        """Return the name with its argument."""
        return f"{self.name} {self.argument[language == 'zh']}".rstrip()


async def show_help(_: CommandPorts, session: Session, __: str) -> str:
    """Answer with the commands and their arguments."""
    return listed(session.language)


def listed(language: Language) -> str:
    """Return the commands that help shows, on one line; in Chinese with their Chinese names."""
    shown = [command for command in COMMANDS if command.listed]
    if language == "zh":
        return f"{CHAT} " + "· ".join(f"{command.usage('zh')}（{command.aliases[0]}）" for command in shown)
    return f"{CHAT} " + " · ".join(command.usage("en") for command in shown)


def find(name: str) -> Command | None:
    """Return the command of a name or alias, in lower case."""
    return _BY_NAME.get(name)


def nearest(name: str) -> str:
    """Return the name or alias that is most like `name`, or "" if none is."""
    return next(iter(get_close_matches(name, _BY_NAME, n=1)), "")


COMMANDS: Final = (
    Command(
        name="status",
        aliases=("状态",),
        help=(
            "what is on, how much is kept, what waits, what failed last",
            "哪些功能开着、有多少记忆、什么在排队、上次失败",
        ),
        run=status,
        record=status_record,
        shell=Shell(),
    ),
    Command(
        name="search",
        aliases=("搜索",),
        argument=("<words>", "<关键词>"),
        help=("search the memories", "搜索记忆"),
        run=search,
        record=search_record,
        shell=Shell(words="*", metavar="QUERY", options=OPTIONS),
    ),
    Command(
        name="list",
        aliases=("列出",),
        help=("the newest memories", "最新的记忆"),
        run=list_memories,
        record=list_record,
        shell=Shell(),
    ),
    Command(
        name="forget",
        aliases=("忘掉",),
        argument=("<id or words>", "<编号或内容>"),
        help=("forget a memory by its id", "按编号忘掉一条记忆"),
        run=forget,
        shell=Shell(words="+", metavar="ID"),
        changes=True,
    ),
    Command(
        name="why",
        aliases=("为什么",),
        help=(
            "what was recalled for the last reply, and what became of that turn",
            "上一次回复用到了哪些记忆，那一轮处理得怎样",
        ),
        run=why,
    ),
    Command(
        name="undo",
        aliases=("撤销",),
        argument=("[id]", "[编号]"),
        help=("take back the last change, or the last one of a memory", "撤销最近一次改动，或某条记忆最近一次改动"),
        run=undo,
        shell=Shell(words="*", metavar="ID"),
        changes=True,
    ),
    Command(
        name="history",
        aliases=("来历",),
        argument=("<id>", "<编号>"),
        help=("what became of a memory", "一条记忆的来历"),
        run=history,
        record=history_record,
        shell=Shell(words="+", metavar="ID"),
    ),
    Command(
        name="receipts",
        aliases=("回执",),
        argument=("[number]", "[条数]"),
        help=("what became of the last turns and commands", "最近各轮对话和命令的处理结果"),
        run=receipts,
        record=receipts_record,
        shell=Shell(
            options=(
                Option(
                    name="limit",
                    metavar="N",
                    in_chat="{}",
                    help=("at most so many (default: 20)", "最多几条（默认 20）"),
                ),
            )
        ),
        listed=False,
    ),
    Command(
        name="on",
        aliases=("打开",),
        argument=("[feature]", "[功能]"),
        help=("switch a feature on in this session, or all", "在本会话打开一个功能，或全部"),
        run=switch_on,
        changes=True,
        waits=False,
    ),
    Command(
        name="off",
        aliases=("关闭",),
        argument=("[feature]", "[功能]"),
        help=("switch a feature off in this session, or all: incognito", "在本会话关闭一个功能，或全部（无痕模式）"),
        run=switch_off,
        changes=True,
        waits=False,
    ),
    Command(
        name="help",
        aliases=("帮助",),
        help=("the commands", "有哪些命令"),
        run=show_help,
        listed=False,
    ),
)

_BY_NAME: Final = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}
