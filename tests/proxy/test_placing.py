"""What is put into a conversation stays there, byte for byte, and an edited message leaves nothing behind."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from gateway_memory import OWNER, Config, GatewayMemory, UsageError, load_config
from recall import EmbedderSettings

KEY = "proxy:web:c1"


def config() -> Config:
    defaults = load_config().defaults
    recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
    extract = replace(defaults.auto_extract, model="rules")
    return Config(defaults=replace(defaults, auto_recall=recall, auto_extract=extract))


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    async with GatewayMemory(config(), tmp_path) as memory:
        yield memory


async def keep(memory: GatewayMemory, text: str, key: str = "proxy:web:other") -> None:
    other = await memory.start_session(key, user=OWNER)
    await memory.after_reply(other, user=text, reply="OK.")
    await memory.flush()


async def test_a_placed_message_gets_the_same_again_whatever_was_learnt_since(memory: GatewayMemory) -> None:
    await keep(memory, "Remember that the boiler is in the cellar.")
    session = await memory.start_session(KEY, user=OWNER)
    first = await memory.place(session, "Good morning", message_id="m1")
    assert "cellar" in first.opening
    await keep(memory, "Remember that the spare key is at the bakery.")
    second = await memory.place(session, "Where is the spare key?", message_id="m2")
    assert "bakery" in second.blocks["m2"]
    assert second.opening == first.opening
    await keep(memory, "Remember that the spare key is now with Lou.")
    again = await memory.place(session, "Where is the spare key?", message_id="m2")
    assert again == second
    assert (await memory.placed(session)).blocks == second.blocks


async def test_what_was_placed_outlives_a_restart(memory: GatewayMemory, tmp_path: Path) -> None:
    await keep(memory, "Remember that the boiler is in the cellar.")
    session = await memory.start_session(KEY, user=OWNER)
    before = await memory.place(session, "Good morning", message_id="m1")
    await keep(memory, "Remember that the spare key is at the bakery.")
    await memory.__aexit__(None, None, None)
    async with GatewayMemory(config(), tmp_path) as later:
        session = await later.start_session(KEY, user=OWNER)
        assert (await later.place(session, "Good morning", message_id="m1")) == before


async def test_a_block_is_not_told_again_after_a_restart(memory: GatewayMemory, tmp_path: Path) -> None:
    session = await memory.start_session(KEY, user=OWNER)
    await memory.place(session, "Good morning", message_id="m1")
    await keep(memory, "Remember that the spare key is at the bakery.")
    assert "bakery" in (await memory.place(session, "Where is the spare key?", message_id="m2")).blocks["m2"]
    await memory.__aexit__(None, None, None)
    async with GatewayMemory(config(), tmp_path) as later:
        session = await later.start_session(KEY, user=OWNER)
        again = await later.place(session, "So where is the spare key?", message_id="m3")
        assert "bakery" not in again.blocks.get("m3", "")


async def test_a_conversation_that_rests_goes_on_as_before(
    memory: GatewayMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway_memory.sessions.registry._MOST_PLACED", 1)
    await keep(memory, "Remember that the boiler is in the cellar.")
    session, other = [await memory.start_session(key, user=OWNER) for key in (KEY, "proxy:web:c2")]
    first = await memory.place(session, "Good morning", message_id="m1")
    await keep(memory, "Remember that the spare key is at the bakery.")
    second = await memory.place(session, "Where is the spare key?", message_id="m2")
    await memory.place(other, "Good evening", message_id="m1")
    assert not session.is_open, "it rests"
    await keep(memory, "Remember that the ladder is with Zoe.")
    third = await memory.place(session, "So where is the spare key?", message_id="m3")
    assert third.opening == first.opening == session.opening
    assert third.blocks["m2"] == second.blocks["m2"]
    assert "bakery" not in third.blocks.get("m3", "")
    assert "Zoe" in third.blocks["m3"], "what was learnt meanwhile"


async def test_what_was_forgotten_since_leaves_what_was_placed(memory: GatewayMemory) -> None:
    await keep(memory, "Remember that the boiler is in the cellar.")
    await keep(memory, "Remember that my sister is called Ada.")
    session = await memory.start_session(KEY, user=OWNER)
    before = await memory.place(session, "Good morning", message_id="m1")
    assert "cellar" in before.opening
    await memory.command(session, "/memory forget the boiler is in the cellar")
    after = await memory.placed(session)
    assert "cellar" not in after.opening
    assert "Ada" in after.opening


async def test_another_conversation_and_another_person_get_their_own(memory: GatewayMemory) -> None:
    session = await memory.start_session(KEY, user=OWNER)
    await memory.place(session, "Hello", message_id="m1")
    await keep(memory, "Remember that the boiler is in the cellar.")
    other = await memory.start_session("proxy:web:c2", user=OWNER)
    assert "cellar" in (await memory.place(other, "Hello", message_id="m1")).opening
    zoe = await memory.start_session(KEY, user="zoe")
    placed = await memory.place(zoe, "Hello, where is the boiler?", message_id="m1")
    assert "cellar" not in placed.opening + "".join(placed.blocks.values())
    with pytest.raises(UsageError):
        await memory.place(zoe, "Hello", message_id="")


async def lines(memory: GatewayMemory) -> str:
    visit = await memory.visit(user=OWNER)
    return json.dumps(await memory.record(visit, "list"))


async def test_an_edited_message_takes_back_what_it_said_before_and_brings_back_what_that_replaced(
    memory: GatewayMemory,
) -> None:
    await keep(memory, "I live in Cork.")
    session = await memory.start_session(KEY, user=OWNER)
    await memory.after_reply(session, user="I live in Berlin now.", reply="Nice.", turn_id="p1")
    await memory.flush()
    assert "Berlin" in await lines(memory)
    await memory.after_reply(session, user="I like figs.", reply="Nice.", turn_id="p2", replaces="p1")
    await memory.flush()
    told = await lines(memory)
    assert "Berlin" not in told
    assert "figs" in told
    assert "Cork" in told
    hits = await memory.search(session, "Berlin", kinds=["episode"])
    assert not any("Berlin" in hit.text for hit in hits)
    await memory.command(session, "/memory undo")  # the newest: figs
    await memory.command(session, "/memory undo")
    assert "Berlin" in await lines(memory)


async def test_an_edit_that_comes_before_the_rules_have_read_leaves_nothing_either(memory: GatewayMemory) -> None:
    session = await memory.start_session(KEY, user=OWNER)
    await memory.after_reply(session, user="Remember that the gate is green.", reply="OK", turn_id="p1")
    await memory.after_reply(session, user="Remember that the gate is red.", reply="OK", turn_id="p2", replaces="p1")
    await memory.flush()
    told = await lines(memory)
    assert "green" not in told
    assert "red" in told


async def test_what_was_said_elsewhere_stays_after_an_edit(memory: GatewayMemory) -> None:
    await keep(memory, "Remember that the gate is green.")
    session = await memory.start_session(KEY, user=OWNER)
    await memory.after_reply(session, user="Remember that the gate is green.", reply="OK", turn_id="p1")
    await memory.flush()
    await memory.after_reply(session, user="I like figs.", reply="OK", turn_id="p2", replaces="p1")
    await memory.flush()
    assert "green" in await lines(memory)


async def test_a_reply_that_was_made_again_is_the_one_that_is_told(memory: GatewayMemory) -> None:
    session = await memory.start_session(KEY, user=OWNER)
    said = "Remember that I like figs. What shall I cook with them?"
    first = await memory.after_reply(session, user=said, reply="A quiche with leek.", turn_id="p1")
    await memory.flush()
    before = await lines(memory)
    assert await memory.after_reply(session, user=said, reply="A tagine with lamb.", turn_id="p1") == first
    await memory.flush()
    assert await lines(memory) == before, "what the user said stays as it was learnt"
    texts = [hit.text for hit in await memory.search(session, "What shall I cook with figs?", kinds=["episode"])]
    assert any("tagine" in text for text in texts), texts
    assert not any("quiche" in text for text in texts), texts


async def test_a_conversation_that_waits_holds_no_report_of_its_last_reply(memory: GatewayMemory) -> None:
    await keep(memory, "Remember that the boiler is in the cellar.")
    sessions = [await memory.start_session(f"proxy:web:{number}", user=OWNER) for number in range(5)]
    for session in sessions:
        await memory.place(session, "Where is the boiler?", message_id="m1")
        assert session.report is not None
        await memory.after_reply(session, user="Where is the boiler?", reply="In the cellar.", turn_id="m1")
    await memory.flush()
    assert [session.report for session in sessions] == [None] * len(sessions)
