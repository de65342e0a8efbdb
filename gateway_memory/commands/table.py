"""The commands, one entry each. The chat, its help, the shell, its completion and docs/commands.md are made from it.

To add a command, write its function, add an entry here and its phrases in `gateway_memory/edge/texts/`.
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

__all__ = ["COMMANDS", "Command", "Shell", "find", "listed", "nearest"]


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
        argument=("<id or words>|session [last|id]", "<编号或内容>|session [last|编号]"),
        help=(
            "forget a memory, an exchange or a session (this one, the last, or that of an id), with what it taught",
            "忘掉一条记忆、一轮对话或一个会话（本次、上一次 last 或某个编号），以及从中记下的内容",
        ),
        run=forget,
        shell=Shell(words="+", metavar="ID"),
        changes=True,
    ),
    Command(
        name="correct",
        aliases=("更正",),
        argument=("<id> <text>", "<编号> <内容>"),
        help=("put other words in the place of a memory", "改写一条记忆"),
        run=correct,
        shell=Shell(words="+", metavar="ID"),
        changes=True,
    ),
    Command(
        name="pin",
        aliases=("常驻",),
        argument=("<id>", "<编号>"),
        help=(
            "move a memory to MEMORY.md, with which every session opens",
            "把一条记忆移入每个会话都会加载的 MEMORY.md",
        ),
        run=pin,
        shell=Shell(words="+", metavar="ID"),
        changes=True,
    ),
    Command(
        name="review",
        aliases=("待审",),
        argument=("[words]", "[关键词]"),
        help=("what waits for your approval before it is kept", "哪些内容等你批准后才会记住"),
        run=review,
        record=review_record,
        shell=Shell(words="*", metavar="WORDS"),
    ),
    Command(
        name="approve",
        aliases=("批准",),
        argument=("<id> [text]", "<编号> [内容]"),
        help=(
            "keep what waits for review, in other words if you give them; “all” for everything",
            "记住一条待审内容，可以换成自己的说法；“all”表示全部",
        ),
        run=approve,
        shell=Shell(words="+", metavar="ID"),
        changes=True,
    ),
    Command(
        name="reject",
        aliases=("拒绝",),
        argument=("<id> [never]", "<编号> [不再问]"),
        help=(
            "do not keep what waits for review; “never”: do not ask about anything alike again",
            "不记住一条待审内容；加“不再问”则同样的内容以后也不再问",
        ),
        run=reject,
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
        name="useful",
        aliases=("有用",),
        argument=("[id] [#turn]", "[编号] [#轮次]"),
        help=(
            "say that a memory helped a reply, the last one by default; kept as feedback",
            "说明某条记忆对回复（默认最近一次）有帮助；作为反馈保存",
        ),
        run=useful,
        shell=Shell(words="*", metavar="ID"),
        changes=True,
    ),
    Command(
        name="wrong",
        aliases=("不对",),
        argument=("[id] [#turn]", "[编号] [#轮次]"),
        help=(
            "say that a memory should not have been told; kept as feedback, the memory stays",
            "说明某条记忆不该用在回复里；作为反馈保存，记忆本身不变",
        ),
        run=wrong,
        shell=Shell(words="*", metavar="ID"),
        changes=True,
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
        name="digest",
        aliases=("小结",),
        argument=("[day|week|month]", "[day|week|month]"),
        help=("what was learnt, changed and forgotten lately", "最近记下、更改、忘掉了什么"),
        run=digest,
        record=digest_record,
        shell=Shell(words="*", metavar="day|week|month"),
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
        name="link",
        aliases=("关联",),
        argument=("[code]", "[代码]"),
        help=(
            "get a code that joins this memory with yours in another direct chat, or type such a code",
            "取得代码，把这里的记忆与你在另一个私聊中的记忆合为一份；或输入这样的代码",
        ),
        run=link,
        shell=Shell(words="*", metavar="user:NAME"),
        changes=True,
    ),
    Command(
        name="unlink",
        aliases=("取消关联",),
        help=("take the last link back", "撤销最近一次关联"),
        run=unlink,
        shell=Shell(words="*", metavar="user:NAME"),
        changes=True,
    ),
    Command(
        name="help",
        aliases=("帮助",),
        help=("the commands", "有哪些命令"),
        run=show_help,
    ),
)

_BY_NAME: Final = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}
