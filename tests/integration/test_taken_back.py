"""What the model, reading a turn again, finds to be no truth about the user: the rules' line is taken back."""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_provider import Fail, Provider, Say, Step, entry, found, serving

from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.scope import KINDS
from recall import EmbedderSettings

pytestmark = pytest.mark.over_postgres

SAID = "I live in Cork. That is how the ballad of the lighthouse keeper goes on, by the way, in its third stanza."
KEPT = "I live in Cork"

Open = Callable[[], AbstractAsyncContextManager[GatewayMemory]]


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    async with serving() as provider:
        yield provider


@pytest.fixture
def opened(provider: Provider, tmp_path: Path) -> Open:
    @asynccontextmanager
    async def opened() -> AsyncIterator[GatewayMemory]:
        defaults = load_config().defaults
        extraction = replace(
            defaults.auto_extract,
            base_url=f"{provider.url}/v1",
            min_conversation_length=0,
            exclude_session_types=(),
            prompt="full",
        )
        recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
        async with GatewayMemory(
            Config(defaults=replace(defaults, auto_extract=extraction, auto_recall=recall)), tmp_path
        ) as memory:
            yield memory

    return opened


def rules_lines(asked: dict[str, Any]) -> list[dict[str, Any]]:
    """What a request lists as kept by the rules."""
    message = asked["messages"][-1]["content"]
    listed = re.search(r"<kept-by-rules>\n(.*)\n</kept-by-rules>", message, re.DOTALL)
    assert listed
    rows: list[dict[str, Any]] = json.loads(listed[1])
    return rows


def taking_back(asked: dict[str, Any]) -> Step:
    return Say(text=found(retract=[row["id"] for row in rules_lines(asked)]))


def lines(folder: Path) -> list[str]:
    files = [folder / "MEMORY.md", *sorted((folder / "memory").glob("*.md"))]
    text = "\n".join(file.read_text("utf-8") for file in files if file.exists())
    return [line[2:].partition(" <!--")[0] for line in text.split("\n") if line.startswith("- ")]


async def say(memory: GatewayMemory, message: str, **whose: Any) -> None:
    session = await memory.start_session("agent:main:telegram:direct:1", **(whose or {"user": OWNER}))
    await memory.after_reply(session, user=message, reply="I see.")
    await memory.flush()


async def command(memory: GatewayMemory, text: str) -> str:
    session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
    answer = await memory.command(session, text)
    assert answer is not None
    return answer


@pytest.mark.files
async def test_a_line_of_the_rules_that_the_model_finds_false_goes(
    provider: Provider, opened: Open, tmp_path: Path
) -> None:
    provider.always = taking_back
    async with opened() as memory:
        await say(memory, SAID)
        assert [row["text"] for row in rules_lines(provider.asked[0])] == [KEPT]
        assert lines(tmp_path) == []
        assert "retracted (model)" in await command(memory, "/memory receipts")
        await command(memory, "/memory undo")
        assert lines(tmp_path) == [KEPT], "a person has the last word"


@pytest.mark.files
async def test_what_a_false_line_had_replaced_stands_again(provider: Provider, opened: Open, tmp_path: Path) -> None:
    async with opened() as memory:
        await say(memory, "I live in Turin")
        provider.always = taking_back
        await say(memory, SAID)
        assert lines(tmp_path) == ["I live in Turin"]


@pytest.mark.files
async def test_only_lines_of_the_same_turns_are_taken_back(provider: Provider, opened: Open, tmp_path: Path) -> None:
    async with opened() as memory:
        await say(memory, "I'm allergic to walnuts")
        (identity,) = [row["id"] for row in rules_lines(provider.asked[0])]
        provider.always = lambda _: Say(text=found(retract=[identity, "m-unknown"]))
        await say(memory, "She plays the cello in the orchestra of our town, and she is good at it.")
        assert lines(tmp_path) == ["I'm allergic to walnuts"]


@pytest.mark.files
async def test_what_the_model_knows_better_takes_the_place_of_a_false_line(
    provider: Provider, opened: Open, tmp_path: Path
) -> None:
    better = entry("The user knows the ballad of the lighthouse keeper", "the ballad of the lighthouse keeper")

    def answer(asked: dict[str, Any]) -> Step:
        return Say(text=found(better, retract=[row["id"] for row in rules_lines(asked)]))

    provider.always = answer
    async with opened() as memory:
        await say(memory, SAID)
        assert lines(tmp_path) == [better["content"]]


@pytest.mark.files
async def test_a_line_that_was_edited_by_hand_stays(provider: Provider, opened: Open, tmp_path: Path) -> None:
    async with opened() as memory:
        provider.script.extend(Fail(status=400) for _ in range(8))
        await say(memory, SAID)
        file = tmp_path / "MEMORY.md"
        file.write_text(file.read_text("utf-8").replace(KEPT, "I live in Cork, and like it"), "utf-8")
        provider.script.clear()
        provider.always = taking_back
        await memory.retry()
        await memory.flush()
        assert rules_lines(provider.asked[-1])
        assert lines(tmp_path) == ["I live in Cork, and like it"]


@pytest.mark.parametrize("kind", ["room", "team"])
async def test_where_several_speak_nobody_takes_back_what_another_asked_to_remember(
    provider: Provider, opened: Open, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setitem(KINDS, "team", replace(KINDS["room"], name="team", folder="teams"))
    async with opened() as memory:
        await say(memory, f"Remember that the tram stops at ten. {SAID}", **{kind: "chess"})
        assert [row["text"] for row in rules_lines(provider.asked[0])] == [KEPT]
        await say(memory, "Remember that the tram stops at ten.")
        assert [row["text"] for row in rules_lines(provider.asked[1])] == ["the tram stops at ten"]
