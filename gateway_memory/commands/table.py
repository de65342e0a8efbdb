"""The commands, one entry each. The chat, its help, the shell, its completion and docs/commands.md are made from it.

To add a command, write its function, add an entry here, and its texts in `gateway_memory/edge/texts/`: its help in
`commands.json`, its answers in `phrases.json`.
"""

from difflib import get_close_matches
from typing import Final

from gateway_memory.commands.command import Command, CommandPorts, Option, Shell
from gateway_memory.commands.memories import correct, forget, list_memories, list_record, pin
from gateway_memory.commands.receipts import (
    history,
    history_record,
    receipts,
    receipts_record,
    undo,
    useful,
    why,
    wrong,
)
from gateway_memory.commands.review import approve, reject, review, review_record
from gateway_memory.commands.search import OPTIONS, search, search_record
from gateway_memory.commands.settings import link, switch_off, switch_on, unlink
from gateway_memory.commands.status import digest, digest_record, status, status_record
from gateway_memory.edge.phrases import CHAT, Language
from gateway_memory.session import Session


async def show_help(_: CommandPorts, session: Session, __: str) -> str:
    """Answer with the commands and their arguments."""
    return listed(session.language)


def listed(language: Language) -> str:
    """Return all commands with their arguments, on one line; in Chinese with their Chinese names."""
    if language == "zh":
        return f"{CHAT} " + "· ".join(f"{command.usage('zh')}（{command.aliases[0]}）" for command in COMMANDS)
    return f"{CHAT} " + " · ".join(command.usage("en") for command in COMMANDS)


def find(name: str) -> Command | None:
    """Return the command of a name or alias, in lower case."""
    return _BY_NAME.get(name)


def nearest(name: str) -> str:
    """Return the name or alias that is most like `name`, or "" if none is."""
    return next(iter(get_close_matches(name, _BY_NAME, n=1)), "")


COMMANDS: Final = (
    Command(name="status", aliases=("状态",), run=status, record=status_record, shell=Shell()),
    Command(
        name="search",
        aliases=("搜索",),
        run=search,
        record=search_record,
        shell=Shell(words="*", metavar="QUERY", options=OPTIONS),
    ),
    Command(name="list", aliases=("列出",), run=list_memories, record=list_record, shell=Shell()),
    Command(name="forget", aliases=("忘掉",), run=forget, shell=Shell(words="+", metavar="ID"), changes=True),
    Command(name="correct", aliases=("更正",), run=correct, shell=Shell(words="+", metavar="ID"), changes=True),
    Command(name="pin", aliases=("常驻",), run=pin, shell=Shell(words="+", metavar="ID"), changes=True),
    Command(
        name="review", aliases=("待审",), run=review, record=review_record, shell=Shell(words="*", metavar="WORDS")
    ),
    Command(name="approve", aliases=("批准",), run=approve, shell=Shell(words="+", metavar="ID"), changes=True),
    Command(name="reject", aliases=("拒绝",), run=reject, shell=Shell(words="+", metavar="ID"), changes=True),
    Command(name="why", aliases=("为什么",), run=why),
    Command(name="useful", aliases=("有用",), run=useful, shell=Shell(words="*", metavar="ID"), changes=True),
    Command(name="wrong", aliases=("不对",), run=wrong, shell=Shell(words="*", metavar="ID"), changes=True),
    Command(name="undo", aliases=("撤销",), run=undo, shell=Shell(words="*", metavar="ID"), changes=True),
    Command(
        name="history", aliases=("来历",), run=history, record=history_record, shell=Shell(words="+", metavar="ID")
    ),
    Command(
        name="digest",
        aliases=("小结",),
        run=digest,
        record=digest_record,
        shell=Shell(words="*", metavar="day|week|month"),
    ),
    Command(
        name="receipts",
        aliases=("回执",),
        run=receipts,
        record=receipts_record,
        shell=Shell(options=(Option(command="receipts", name="limit", metavar="N", in_chat="{}"),)),
    ),
    Command(name="on", aliases=("打开",), run=switch_on, changes=True, waits=False),
    Command(name="off", aliases=("关闭",), run=switch_off, changes=True, waits=False),
    Command(name="link", aliases=("关联",), run=link, shell=Shell(words="*", metavar="user:NAME"), changes=True),
    Command(
        name="unlink", aliases=("取消关联",), run=unlink, shell=Shell(words="*", metavar="user:NAME"), changes=True
    ),
    Command(name="help", aliases=("帮助",), run=show_help),
)

_BY_NAME: Final = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}
