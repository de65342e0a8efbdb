"""What a person answers to the question for a secret is stored nowhere in clear: in a gateway's turn or an import."""

import json
from pathlib import Path

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.transfer.items import EpisodeItem
from gateway_memory.transfer.layouts import read_layout

SECRET = "blaue-Otter-77"


async def test_an_answer_is_masked_in_every_file(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("s", user=OWNER)
        await memory.after_reply(session, user="Set up my new laptop", reply="Gladly. What is the wifi password?")
        await memory.after_reply(session, user=SECRET, reply="Thank you.")
        await memory.after_reply(session, user="My cat is called Otto-7", reply="Nice.")
        await memory.flush()
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET.encode() not in stored
    assert b"Otto-7" in stored, "the next message answers another reply"


def test_an_answer_in_an_imported_talk_is_masked(tmp_path: Path) -> None:
    said = [("user", "Set it up"), ("assistant", "What is the wifi password?"), ("user", SECRET)]
    rows = [
        {"role": role, "content": text, "timestamp": f"2026-10-01T08:0{at}:00"} for at, (role, text) in enumerate(said)
    ]
    path = tmp_path / "cli_1.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in [{"_type": "metadata", "key": "cli:1"}, *rows]), "utf-8")
    users = [item.episode.user for item in read_layout("nanobot", path) if isinstance(item, EpisodeItem)]
    assert users == ["Set it up", "[masked: password]"]
