"""Recall without an encoder: what shares no words with the message is no answer, however much it leans on the past."""

from pathlib import Path

import pytest

from gateway_memory import OWNER, GatewayMemory, load_config

LINES = ("Lin's locker is number 12", "Lin moved to Porto in May", "林的猫叫米索")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("Do you remember what we said about my trip last time, are we still ready?", ()),
        ("还记得我们上次说的吗？", ()),
        ("Do you remember my locker?", (LINES[0],)),
        ("我的猫叫什么？", (LINES[2],)),
    ],
)
async def test_only_what_shares_words_with_the_message_is_recalled(
    tmp_path: Path, asked: str, found: tuple[str, ...]
) -> None:
    (tmp_path / "MEMORY.md").write_text("".join(f"- {line}\n" for line in LINES), "utf-8")
    path = tmp_path / "config.json5"
    path.write_text('{agents: {defaults: {memorySync: {autoRecall: {embedder: {provider: "none"}}}}}}', "utf-8")
    async with GatewayMemory(load_config(path), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        context = await memory.before_reply(session, asked)
        assert tuple(hit.text for hit in context.recalled) == found
