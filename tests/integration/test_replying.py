"""One call for a whole reply, and settings that a host has in a config of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway_memory import ConfigError, Facts, GatewayMemory, load_config

SETTINGS = {
    "agents": {
        "defaults": {
            "memorySync": {"autoRecall": {"embedder": {"provider": "none"}}, "identity": {"channels": {"web": "owner"}}}
        }
    }
}
OWNERS = Facts(key="agent:main:main", channel="web", chat_type="direct")


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[GatewayMemory]:
    async with GatewayMemory(load_config(SETTINGS), tmp_path) as opened:
        yield opened


async def test_a_reply_is_told_what_is_remembered_and_kept(memory: GatewayMemory) -> None:
    asked: list[tuple[str, object]] = []

    async def model(system: str, message: object) -> str:
        asked.append((system, message))
        return "OK."

    assert await memory.reply(OWNERS, "Remember that the bell is broken.", model, turn_id="1") == "OK."
    await memory.flush()
    other = Facts(key="agent:main:second", channel="web", chat_type="direct")
    await memory.reply(other, "What is broken?", model)
    assert "the bell is broken" in asked[1][0]
    assert asked[1][1] == "What is broken?"
    assert "1" in await memory.reply(OWNERS, "/memory list", model)
    assert len(asked) == 2, "a command needs no model"


async def test_a_stranger_is_answered_without_a_memory(memory: GatewayMemory) -> None:
    async def model(system: str, message: object) -> str:
        assert system == ""
        return f"Hello. {message}"

    unknown = Facts(key="k", channel="telegram", chat_type="direct")
    assert await memory.reply(unknown, "Remember that I was here.", model) == "Hello. Remember that I was here."
    await memory.flush()
    assert await memory.receipts(limit=5) == []


async def test_an_error_of_the_model_passes_through_and_nothing_is_kept(memory: GatewayMemory) -> None:
    async def model(system: str, message: object) -> str:
        raise ConnectionRefusedError("the model is away")

    with pytest.raises(ConnectionRefusedError, match="the model is away"):
        await memory.reply(OWNERS, "Remember that the bell is broken.", model)
    await memory.flush()
    assert await memory.receipts(limit=5) == []


def test_settings_are_checked_as_a_files(tmp_path: Path) -> None:
    assert load_config(SETTINGS).defaults.auto_recall.embedder.provider == "none"
    with pytest.raises(ConfigError, match=r"the given settings.*autoRecal"):
        load_config({"agents": {"defaults": {"memorySync": {"autoRecal": {}}}}})
    with pytest.raises(ConfigError, match="no settings as JSON has them"):
        load_config({"agents": tmp_path})
