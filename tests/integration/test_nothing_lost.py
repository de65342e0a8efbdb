"""Whatever a model answers, what the rules have kept stands, or what stands says it; and what was said is found."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted_provider import Say, Step, serving

from extractor.merge.decide import says
from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.store.markdown import parse
from recall import EmbedderSettings

MESSAGES = (
    "I lead a team of 4 engineers, and we ship on Fridays. What is a good size for a team?",
    "My sister Ana lives in Leeds. I'm allergic to walnuts. Can I eat pesto?",
    "I have a dog. Remember that I drink oolong tea in the morning. I live in Cork.",
)
QUOTES = (
    *MESSAGES,
    "I lead a team of 4 engineers",
    "What is a good size for a team?",
    "My sister Ana lives in Leeds",
    "I'm allergic to walnuts",
    "I have a dog",
    "I drink oolong tea in the morning",
    "I live in Cork",
    "nobody said this",
)
CONTENTS = (
    "The user asks about the team size",
    "The user leads a team of 4 engineers",
    "The user leads a team of engineers",
    "The user ships on Fridays with a team of 4",
    "The user lives in Leeds",
    "The user's sister Ana lives in Leeds",
    "The user moved from Cork to Leeds",
    "The user lives in Cork",
    "The user is allergic to walnuts",
    "The user is no longer allergic to walnuts",
    "The user walks a dog in the morning",
    "The user drinks coffee in the morning",
    "The user switched from oolong tea to coffee",
    "用户养了一只狗",
)
ENTRY = st.fixed_dictionaries(
    {
        "quote": st.sampled_from(QUOTES),
        "content": st.sampled_from(CONTENTS),
        "category": st.sampled_from(["fact", "preference", "decision", "instruction"]),
        "importance": st.sampled_from(["high", "normal"]),
    }
)
ANSWER = st.lists(ENTRY, max_size=5)
COMPARED = st.sampled_from(["add", "skip", "update", "supersede"])


def kept(folder: Path) -> list[str]:
    return [
        block.text
        for file in folder.rglob("*.md")
        for block in parse(file.read_text("utf-8"), file=file.name)
        if block.kind == "item"
    ]


async def told(url: str, folder: str) -> tuple[list[str], list[bool]]:
    """Tell the messages: what stands then, and of each message, whether a search for it finds what was said."""
    defaults = load_config().defaults
    model = "local" if url else "rules"
    extraction = replace(defaults.auto_extract, model=model, base_url=url, min_conversation_length=0)
    recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
    config = Config(defaults=replace(defaults, auto_extract=extraction, auto_recall=recall))
    async with GatewayMemory(config, folder) as memory:
        session = await memory.start_session("agent:main:main", user=OWNER)
        for message in MESSAGES:
            await memory.after_reply(session, user=message, reply="I see.")
            await memory.flush()
        asking = await memory.start_session("agent:main:later", user=OWNER)
        found = [await memory.search(asking, message, kinds=["episode"]) for message in MESSAGES]
        return kept(Path(folder)), [bool(hits) for hits in found]


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(answers=st.lists(ANSWER, min_size=3, max_size=3), action=COMPARED)
async def test_no_answer_loses_a_line_of_the_rules_that_nothing_standing_says(
    answers: list[list[Mapping[str, str]]], action: str
) -> None:
    def answer(asked: dict[str, Any]) -> Step:
        message = asked["messages"][-1]["content"]
        if "<memories>" not in message:
            return Say(text=json.dumps({"entries": waiting.pop(0) if waiting else []}))
        rows = json.loads(message.removeprefix("<memories>\n").removesuffix("\n</memories>"))
        actions = [{"number": row["number"], "action": action, "target": row["known"][0]["id"]} for row in rows]
        return Say(text=json.dumps({"actions": actions}))

    waiting: list[Any] = list(answers)
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        lines, found_by_rules = await told("", one)
        assert len(lines) >= 4
        async with serving() as provider:
            provider.always = answer
            standing, found = await told(f"{provider.url}/v1", other)
    lost = [line for line in lines if not any(line == text or says(text, line, None) for text in standing)]
    changed = [line for line in lost if not any(_changes(text, line) for text in standing)]
    assert changed == []
    assert found == found_by_rules


def _changes(text: str, line: str) -> bool:
    """Return whether a statement tells in so many words that a line holds no more."""
    told = {"The user moved from Cork to Leeds": "Cork", "The user switched from oolong tea to coffee": "oolong",
            "The user is no longer allergic to walnuts": "walnuts"}  # fmt: skip
    return told.get(text, "\0") in line
