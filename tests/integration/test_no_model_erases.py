"""Whatever a model answers, with whatever quotation: what nothing standing says can still be found."""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from thorough import THOROUGH

from extractor import Candidate, Turn
from gateway_memory import OWNER, Config, GatewayMemory, load_config
from recall import EmbedderSettings, Stored

SAID: Final = (
    "My name is Mei. I prefer window seats on trains.",
    "By the way, the boiler in our cottage rattles when it is cold, and I'm allergic to walnuts.",
    "我叫小梅。我喜欢喝乌龙茶。上周院子里的樱桃树倒了。",
)
ASKED: Final = (
    ("which seats do I prefer on trains?", "window seats"),
    ("what is my name?", "Mei"),
    ("what is wrong with the boiler in the cottage?", "boiler"),
    ("am I allergic to walnuts?", "walnuts"),
    ("我喜欢喝什么茶？", "乌龙茶"),
    ("院子里的樱桃树怎么了？", "樱桃树"),
)
"""Questions, and words of what each is about: in what was said, and in each entry that says it."""
ENTRIES: Final = (
    "The user's name is Mei.",
    "The user prefers window seats on trains.",
    "The user has a cottage.",
    "The user is allergic to walnuts.",
    "用户喜欢喝乌龙茶",
    "用户的名字叫小梅",
    "nothing",
    "",
)
Answer = tuple[int, int, int, str, bool]
"""The entry, and its quotation: where it begins and how long it is; how important and how sure it is."""


def answered(turn: Turn, answer: Answer) -> Candidate:
    entry, begins, length, importance, explicit = answer
    return Candidate(
        content=ENTRIES[entry],
        category="fact",
        type="B",
        importance="high" if importance == "high" else "normal",
        confidence=0.95,
        turn=turn.id,
        quote=turn.user[begins : begins + length],
        explicit=explicit,
    )


async def live(answers: list[Answer]) -> None:
    async def extract(turns: Sequence[Turn], _: Sequence[Stored]) -> list[Candidate]:
        return [answered(turn, answer) for turn in turns for answer in answers if ENTRIES[answer[0]]]

    defaults = load_config().defaults
    words = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
    with tempfile.TemporaryDirectory() as folder:
        config = Config(defaults=replace(defaults, auto_recall=words))
        async with GatewayMemory(config, Path(folder), extract=extract) as memory:
            session = await memory.start_session("said", user=OWNER)
            for text in SAID:
                await memory.after_reply(session, user=text, reply="I see.")
            await memory.flush()
            session = await memory.start_session("asking", user=OWNER)
            for question, word in ASKED:
                hits = await memory.search(session, question, limit=5)
                assert any(word in hit.text for hit in hits), (question, [hit.text for hit in hits])


answer = st.tuples(
    st.integers(0, len(ENTRIES) - 1),
    st.integers(0, 60),
    st.integers(0, 100),
    st.sampled_from(["high", "normal"]),
    st.booleans(),
)


@settings(
    max_examples=200 if THOROUGH else 15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not THOROUGH,
)
@example([(0, 0, 100, "high", True)])
@example([(0, 17, 30, "high", True)])
@example([(6, 0, 100, "high", True), (5, 0, 100, "normal", False)])
@example([(2, 0, 100, "high", False), (0, 0, 100, "high", False)])
@given(st.lists(answer, max_size=4))
def test_what_no_standing_memory_says_is_found(answers: list[Answer]) -> None:
    asyncio.run(live(answers))
