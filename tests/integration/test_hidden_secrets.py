"""However a secret is encoded, and whichever field it comes in, no byte of the workspace and no request has it."""

import asyncio
import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hiding import ENCODINGS, SECRET, TOLD, encoded, says
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_provider import Provider, Say, entry, found, serving

from extractor import Candidate, Turn
from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.edge.observations import clip
from gateway_memory.hooks.feed import feed
from gateway_memory.hooks.state import HookInput, register
from gateway_memory.scope import OWNER_KEY
from gateway_memory.store.journal.in_place import JournalInPlace
from gateway_memory.store.journal.opened import seen_in
from recall import Stored

TOOLS = ("bash", "read_file", "apply_patch", "web", "")


def configured(provider: Provider, model: str = "openai/gpt-4o-mini") -> Config:
    defaults = load_config().defaults
    url = f"{provider.url}/v1" if model.startswith("openai") else provider.url
    extraction = replace(defaults.auto_extract, base_url=url, model=model, min_conversation_length=0)
    embedder = replace(defaults.auto_recall.embedder, provider="none")
    recall = replace(defaults.auto_recall, embedder=embedder)
    return Config(defaults=replace(defaults, auto_extract=extraction, auto_recall=recall))


def every_text(folder: Path) -> list[str]:
    return [file.read_bytes().decode("utf-8", "replace") for file in folder.rglob("*") if file.is_file()]


def assert_nowhere(texts: Sequence[str]) -> None:
    for text in texts:
        assert SECRET not in text
        assert SECRET.encode().hex() not in text
    # A JSON line, a row: what each says when it is decoded.
    for line in {
        line[:50_000] for text in texts for line in re.split(r"[\x00-\x1f]+", text) if len(line) > len(SECRET)
    }:
        assert not says(line)


async def everything_with(told: str, folder: Path) -> None:
    """Say it in each way that leads into a workspace, and look everywhere, also in what the model was asked."""
    outputs = [
        json.dumps({"tool_input": {"file_path": "/a.py", "command": "cat a"}, "tool_response": told, "exit_code": 1}),
        json.dumps({"command": told, "output": told}, ensure_ascii=False),
        json.dumps({"old_string": told, "new_string": told, "file_path": told}),
        told,
    ]
    async with serving() as provider:
        provider.always = lambda _: Say(text=found(entry(f"The user's password is {SECRET}", f"password is {SECRET}")))
        async with GatewayMemory(configured(provider), folder) as memory:
            session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
            blocks = [(await memory.before_reply(session, told)).text]
            await memory.after_reply(session, user=f"记住 {told}", reply=told)
            await memory.after_reply(session, user="I moved to Lisbon with my sister last spring", reply="How nice!")
            for tool in TOOLS:
                for output in outputs:
                    await memory.observe(session, kind="tool", content=output, tool=tool)
            await memory.observe(session, kind=told, content="it happened", tool=told)
            await memory.save_fact(session, content=told, entities=[told, "Lena"])
            await memory.save_fact(session, content=told, type="S")
            await memory.search(session, told)
            blocks.append(await memory.command(session, f"/memory search {told}") or "")
            await memory.before_compaction(session, usage=80, messages=20)
            await memory.end_session(session, reason=told)
            other = await memory.start_session(f"agent:main:telegram:direct:2{told}", user=OWNER)
            await memory.after_reply(other, user="Remember that the door is red.", reply="Yes")
            await memory.save_summary(other, topic=told, summary=told, decisions=[told], todos=[told, "call Lena"])
            await memory.end_session(other, reason="completed")
            await memory.flush()
            third = await memory.start_session("three", user=OWNER)
            blocks.append(third.opening)
            texts = every_text(folder)  # while it is open: the write-ahead logs stand there too
        hook_journal(folder, told, outputs)
        asked = [provider.prompt(number) for number in range(len(provider.asked))]
    assert_nowhere([*texts, *every_text(folder), *blocks, *asked])
    assert any("Lisbon" in prompt for prompt in asked), "the model was asked at all"


def hook_journal(folder: Path, told: str, outputs: Sequence[str]) -> None:
    """What an editor's transcript says comes by the hooks, which have no event loop."""
    lines: list[dict[str, Any]] = [{"type": "user", "message": {"role": "user", "content": told}}]
    for number, output in enumerate(outputs):
        use = {"type": "tool_use", "id": str(number), "name": TOOLS[number], "input": {"command": told}}
        result = {"type": "tool_result", "tool_use_id": str(number), "content": output, "is_error": True}
        lines.append({"type": "assistant", "message": {"role": "assistant", "content": [use]}})
        lines.append({"type": "user", "message": {"role": "user", "content": [result]}})
    with tempfile.TemporaryDirectory() as beside:
        path = Path(beside) / "transcript.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        with JournalInPlace.open(folder) as journal:
            register(journal, "conv-1", 1.0, lives=True)
            feed(journal, HookInput({}, folder, "conv-1", None, inf), path, 2.0, reached="end")
            with journal.transaction() as database:
                assert seen_in(database, OWNER_KEY, "conv-1")


@pytest.mark.parametrize("told", TOLD[:7:2])
async def test_json_in_a_tools_output_hides_nothing(told: str, tmp_path: Path) -> None:
    await everything_with(json.dumps({"stdout": json.dumps({"content": told})}), tmp_path / "workspace")


@given(st.sampled_from(TOLD), st.lists(st.sampled_from(sorted(ENCODINGS)), min_size=1, max_size=3))
@settings(max_examples=6)
def test_no_nesting_of_encodings_reaches_the_workspace_or_the_model(told: str, encodings: list[str]) -> None:
    told = encoded(told, encodings)[:20_000]
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(everything_with(told, Path(folder) / "workspace"))


async def test_a_hosts_own_model_and_files_edited_by_hand_are_cleaned_too(tmp_path: Path) -> None:
    told = f"my password is {SECRET}"

    async def extract(turns: Sequence[Turn], near: Sequence[Stored]) -> list[Candidate]:
        fact = Candidate(
            content=f"The user plays the violin in an orchestra. The user says that {told}",
            category="fact",
            type="B",
            importance="normal",
            confidence=0.9,
            entities=(told, "Lena"),
        )
        return [fact for _ in turns[:1]]

    defaults = load_config().defaults
    extraction = replace(defaults.auto_extract, min_conversation_length=0)
    config = Config(defaults=replace(defaults, auto_extract=extraction))
    async with GatewayMemory(config, tmp_path, extract=extract) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.after_reply(session, user="I moved to Lisbon with my sister Marta last spring", reply="Nice")
        await memory.flush()
        listed = await memory.command(session, "/memory list") or ""
        assert "plays the violin" in listed
        assert "[masked" not in listed, "no memory with a hole"
    assert_nowhere(every_text(tmp_path))
    async with serving() as provider:
        workspace = tmp_path / "second"
        workspace.mkdir()
        (workspace / "MEMORY.md").write_text(f"- The three of us ended up in Porto and {told} there\n", "utf-8")
        said = "the three of us, Marta, the dog and I, ended up in Porto and stayed there"
        again = found(entry("The user, Marta and the dog, the three of them, ended up in Porto there", said))
        provider.always = lambda asked: Say(text='{"actions": []}' if "<memories>" in str(asked) else again)
        async with GatewayMemory(configured(provider), workspace) as memory:
            session = await memory.start_session("one", user=OWNER)
            await memory.after_reply(session, user=f"What a journey: {said}", reply="Nice")
            await memory.flush()
        asked = [provider.prompt(number) for number in range(len(provider.asked))]
    assert any("ended up in Porto and" in prompt for prompt in asked), "the memory was told"
    assert_nowhere(asked)


def test_clipping_reads_what_is_nested_too_deep_as_text() -> None:
    assert clip("tool", "bash", '{"a":' * 100_000)
