"""Many turns, a third of them repeats and echoes: each fact is kept once, and the same again adds nothing."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from thorough import amount

from gateway_memory import OWNER, Config, GatewayMemory, load_config
from recall import EmbedderSettings

pytestmark = pytest.mark.slow

TURNS, FACTS = amount(640, 2_000), amount(80, 250)
THINGS = ["locker", "shelf", "crate", "garden gate", "storage unit", "mailbox", "desk drawer", "rack", "cabin", "boat"]
STATES = ["is painted blue", "belongs to Ingrid", "holds the winter tyres", "sticks in the rain", "needs a new hinge"]
HAN_THINGS = ["柜子", "货架", "仓库", "信箱", "抽屉"]
HAN_STATES = ["是蓝色的", "归英格丽管", "放着冬季轮胎", "下雨会卡住", "需要换铰链"]
FORMS = ["Remember that {}.", "Please remember that {}.", "Remember: {}!", "remember that {}"]
HAN_FORMS = ["记住{}。", "请记住：{}", "记住，{}！", "请记住{}"]
NOTHING = [
    "hi there",
    "thanks!",
    "ok",
    "restart the server",
    "what time is it?",
    "你好",
    "谢谢",
    "好的",
    "重启一下服务器",
    "几点了？",
]


def facts(chance: random.Random) -> list[str]:
    english = [f"{thing} {number} {state}" for thing in THINGS for number in range(1, 30) for state in STATES]
    chinese = [f"{number}号{thing}{state}" for thing in HAN_THINGS for number in range(1, 30) for state in HAN_STATES]
    return chance.sample(english, FACTS // 2) + chance.sample(chinese, FACTS // 2)


def transcript() -> tuple[list[str], list[tuple[str, str]]]:
    chance = random.Random(20260105)  # noqa: S311 - the same each time, no secret
    known = facts(chance)
    told: list[str] = []
    turns: list[tuple[str, str]] = []
    waiting = known.copy()
    chance.shuffle(waiting)
    while len(turns) < TURNS:
        draw = chance.random()
        if waiting and (draw < 0.2 or TURNS - len(turns) <= len(waiting)):
            fact = waiting.pop()
            told.append(fact)
            turns.append((form_of(fact, chance), "Noted."))
        elif told and draw < 0.4:  # said again, in another form
            turns.append((form_of(chance.choice(told), chance), "I know."))
        elif told and draw < 0.5:  # the assistant echoes what it was told
            turns.append((chance.choice(NOTHING), f"As I remember: {chance.choice(told)}."))
        else:
            turns.append((chance.choice(NOTHING), "Sure."))
    return known, turns


def form_of(fact: str, chance: random.Random) -> str:
    return chance.choice(HAN_FORMS if fact[0].isdigit() else FORMS).format(fact)


async def test_each_fact_is_kept_once_and_a_replay_adds_nothing(tmp_path: Path) -> None:
    known, turns = transcript()
    assert len(turns) == TURNS
    defaults = load_config().defaults
    recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
    store = replace(defaults.store, max_memory_md_bytes=1_000_000)
    config = Config(defaults=replace(defaults, auto_recall=recall, store=store))

    def kept() -> list[str]:
        text = "\n".join(file.read_text("utf-8") for file in tmp_path.rglob("*.md"))
        return [line[2:].partition(" <!--")[0] for line in text.split("\n") if line.startswith("- ")]

    for _ in range(2):
        async with GatewayMemory(config, tmp_path) as memory:
            for number, (user, reply) in enumerate(turns):
                session = await memory.start_session(f"session {number % 7}", user=OWNER)
                await memory.after_reply(session, user=user, reply=reply)
            await memory.flush()
        assert sorted(kept()) == sorted(known)
