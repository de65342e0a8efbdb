"""A question of one's own life finds what its asker told, before replies to other questions that have its words."""

from pathlib import Path

from inside import parts

from gateway_memory import OWNER, GatewayMemory, load_config

TALK = (
    ("我在一家小厂画游戏原画，天天加班", "好的。"),
    ("去上海坐什么车？", "坐高铁最快，哪趟都行。"),
    ("出门要带什么？", "行李少带一些，哪行都干不了重活。"),
)


async def test_what_the_asker_told_stands_before_a_reply_with_the_words_of_the_question(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("agent:main:chat:direct:1", user=OWNER)
        for said, reply in TALK:
            await memory.after_reply(session, user=said, reply=reply)
        await memory.flush()
        await parts(memory).storage.recaller.embedded()
        other = await memory.start_session("agent:main:chat:direct:2", user=OWNER)
        first, *_ = await memory.search(other, "我是干哪行的？", limit=3)
        assert "原画" in first.text
