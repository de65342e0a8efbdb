"""What the chat answers in Chinese has no English word that has a Chinese one."""

import re
from pathlib import Path

from chinese import english

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.commands.dispatch import COMMANDS
from gateway_memory.config.settings import MemorySync
from recall import EmbedderSettings, RecallSettings

SETTINGS = MemorySync(auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none")))
TYPED = """
{name}
{name} {id}
{name} 22222222
{name} 1 2 3
{name} 没有的东西
{name} 绿茶
帮助 {name}
"""
MORE = """
记住 我的密码是 Xk3vQ8mW2xT7nB
记住我喜欢绿茶
记住 我住在三楼
记住了多少
搜索 --limit x
搜索 绿茶 --explain
修改 绿茶 改成 红茶
清空 今天
小结 一个月
日程 30
回执 3
批准 all
关闭 召回
打开 火箭
关闭
记住 我喜欢咖啡
恢复
这是什么
"""


async def test_no_answer_of_the_chat_is_english(tmp_path: Path) -> None:
    left: dict[str, set[str]] = {}
    async with GatewayMemory(Config(defaults=SETTINGS), tmp_path) as memory:
        session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
        await memory.before_reply(session, "我在哪里喝茶？")
        await memory.after_reply(session, user="我喜欢喝绿茶，我妹妹住在大理", reply="记下了。")
        await memory.after_reply(session, user="好的", reply="嗯。")
        await memory.flush()
        (identity, *_) = [each["id"] for each in (await memory.record(session, "list"))["memories"]]
        names = [command.chinese for command in COMMANDS]
        lines = [
            *MORE.strip().splitlines(),
            *(line.format(name=n, id=identity) for n in names for line in TYPED.split("\n")[1:-1]),
        ]
        known = {identity}
        for line in lines:
            told = str(await memory.command(session, f"/memory {line}"))
            known |= {each["id"] for each in (await memory.record(session, "list"))["memories"]}
            known |= set(re.findall(r"(?<=· )[a-z2-7]{8}\b", told))  # of what is forgotten
            if words := english(told) - known - set(line.split()):
                left[line] = words
    assert left == {}
    assert len(lines) > 150
