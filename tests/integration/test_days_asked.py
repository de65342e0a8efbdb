"""A message that asks for the talk of a day gets that day's, or that there is nothing; never another day's."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gateway_memory import OWNER, Config, GatewayMemory, load_config

pytestmark = pytest.mark.over_postgres

# A Tuesday, a Wednesday, and the Monday after.
TUESDAY = datetime(2026, 11, 17, 10, tzinfo=UTC)
WEDNESDAY = datetime(2026, 11, 18, 10, tzinfo=UTC)
MONDAY = datetime(2026, 11, 23, 10, tzinfo=UTC)
TOLD = {
    TUESDAY: (
        "The sourdough starter died again, so we compared two flours.",
        "Rye flour keeps a starter alive longer.",
    ),
    WEDNESDAY: ("我们今天把阳台的番茄苗换到了大盆里。", "换盆以后要先浇透水。"),
}


@pytest.fixture
async def memory() -> AsyncIterator[GatewayMemory]:
    now = [TUESDAY]
    async with GatewayMemory(load_config(), clock=lambda: now[0]) as memory:
        for day, (said, reply) in TOLD.items():
            now[0] = day
            session = await memory.start_session(f"chat {day:%A}", user=OWNER)
            await memory.after_reply(session, user=said, reply=reply)
            await memory.flush()
            await memory.save_summary(session, topic=f"Topic of {day:%A}", summary=f"- Talked on {day:%A}.", todos=[])
            await memory.end_session(session, reason="completed")
        now[0] = MONDAY
        yield memory


@pytest.mark.parametrize(
    ("question", "day", "other"),
    [
        ("What did we talk about last Tuesday?", TUESDAY, WEDNESDAY),
        ("Remind me what we discussed on 17 November", TUESDAY, WEDNESDAY),
        ("上周三我们聊了什么？", WEDNESDAY, TUESDAY),
        ("11月18日我们聊了哪些内容", WEDNESDAY, TUESDAY),
    ],
)
async def test_the_day_is_told_and_no_other(
    memory: GatewayMemory, question: str, day: datetime, other: datetime
) -> None:
    session = await memory.start_session("later", user=OWNER)
    text = (await memory.before_reply(session, question)).text
    found = [hit.text for hit in await memory.search(session, question)]
    assert TOLD[day][0].rstrip(".。") in text
    assert f"({day:%Y-%m-%d}) Session: Topic of {day:%A}" in text
    assert any(TOLD[day][0].rstrip(".。") in hit for hit in found)
    for told in (text, *found):
        assert TOLD[other][0] not in told
        assert f"Talked on {other:%A}" not in told


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What did we talk about last Thursday?", "Nothing is remembered from 2026-11-19."),
        ("我们上周五聊了什么？", "没有 2026-11-20 的记忆。"),
        ("What did we discuss last month?", "Nothing is remembered from 2026-10-01 to 2026-10-31."),
    ],
)
async def test_a_day_without_talk_is_said_to_have_none(memory: GatewayMemory, question: str, answer: str) -> None:
    session = await memory.start_session("later", user=OWNER)
    context = await memory.before_reply(session, question)
    assert answer in context.text
    assert context.recalled == ()
    assert await memory.search(session, question) == ()
    assert await memory.command(session, f"/memory search {question}") == answer


async def test_a_filter_of_the_caller_wins_over_the_day_of_the_question(memory: GatewayMemory) -> None:
    session = await memory.start_session("later", user=OWNER)
    question = "What did we talk about last Thursday?"
    assert await memory.search(session, question, since="2026-11-17", until="2026-11-17")


async def test_the_day_is_that_of_the_configured_zone() -> None:
    now = [datetime(2026, 11, 20, 23, 30, tzinfo=UTC)]  # 07:30 on the 21st in Shanghai
    defaults = replace(load_config().defaults, time_zone="Asia/Shanghai")
    async with GatewayMemory(Config(defaults=defaults), clock=lambda: now[0]) as memory:
        session = await memory.start_session("early", user=OWNER)
        await memory.after_reply(session, user="我今天把旧自行车卖给了邻居。", reply="卖了多少钱？")
        await memory.flush()
        await memory.end_session(session, reason="completed")
        now[0] += timedelta(days=1)  # the 22nd in Shanghai, the 21st in UTC
        later = await memory.start_session("later", user=OWNER)
        assert "自行车" in (await memory.before_reply(later, "昨天我们聊了什么？")).text
        assert "没有 2026-11-20 的记忆。" in (await memory.before_reply(later, "前天我们聊了什么？")).text
