"""What a host says in a person's turn is nobody's wish: not kept, not told, not quoted."""

import json
from pathlib import Path

import pytest
from inside import parts

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.cli.main import main

TURNS = [
    json.loads(line) for line in (Path(__file__).parent.parent / "data/whose_words.jsonl").read_text().splitlines()
]


@pytest.mark.parametrize("turn", TURNS, ids=[turn["name"] for turn in TURNS])
async def test_a_hosts_words_are_told_nowhere_and_the_persons_are(tmp_path: Path, turn: dict[str, object]) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("agent:main:main", user=OWNER)
        context = await memory.before_reply(session, str(turn["user"]))
        assert not context.text
        kept = await memory.after_reply(session, user=str(turn["user"]), reply=str(turn["reply"]))
        assert bool(kept) == bool(turn["told"])
        await memory.end_session(session, reason="completed")
        await memory.flush()
        after = await memory.start_session("agent:main:other", user=OWNER)
        block = (await memory.before_reply(after, "What did I say about it, and what do I prefer?")).text
    files = "\n".join(path.read_text("utf-8") for path in tmp_path.rglob("*.md"))
    for text in turn["not_told"]:  # type: ignore[attr-defined]
        assert text not in after.opening + block + files
    for text in turn["told"]:  # type: ignore[attr-defined]
        assert text in after.opening


LOOM = "[Telegram Ona N id:5550018 +3s 2026-10-01 10:18 GMT+2] my loom is a 120 cm Glimakra"


def write_session(folder: Path) -> Path:
    """A session of OpenClaw's with a system line before a person's words, a session's start and a reminder."""
    said = [
        ("user", f"System: [2026-10-01 10:18:01 GMT+2] Model switched.\n\n{LOOM}\n[message_id: 9]"),
        ("assistant", "A fine loom."),
        ("user", "A new session was started via /new or /reset. Do your Session Startup now."),
        ("assistant", "Hello!"),
        ("user", "System: [2026-10-01 10:20:01 GMT+2] Cron: tea\n\nA scheduled reminder has been triggered."),
        ("assistant", "Time for tea."),
        ("user", "[Thu 2026-10-01 11:30 GMT+2] the guild meets on the first Tuesday"),
        ("assistant", "[[reply_to_current]] Noted."),
    ]  # fmt: skip
    rows: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-10-01T08:00:00Z"}
    ]
    rows += [
        {"type": "message", "id": f"e{number}", "parentId": f"e{number - 1}" if number else None,
         "timestamp": f"2026-10-01T08:0{number}:00Z",
         "message": {"role": role, "content": [{"type": "text", "text": text}]}}
        for number, (role, text) in enumerate(said)
    ]  # fmt: skip
    file = folder / "agents/main/sessions/s-1.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_an_import_keeps_the_words_behind_a_system_line_and_no_prompt(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    assert main(["import", "openclaw", str(write_session(tmp_path / "home")), "--workspace", str(workspace)]) == 0
    kept = b"".join(path.read_bytes() for path in workspace.rglob("*") if path.is_file()).decode("utf-8", "replace")
    for told in ("my loom is a 120 cm Glimakra", "the guild meets on the first Tuesday", "A fine loom."):
        assert told in kept
    for hidden in (
        "Session Startup",
        "Model switched",
        "GMT+2",
        "Hello!",
        "scheduled reminder",
        "Time for tea",
        "[[reply",
    ):
        assert hidden not in kept


async def test_a_wake_up_that_a_note_holds_is_never_quoted(tmp_path: Path) -> None:
    note = tmp_path / "memory/2026-09-21-1538.md"
    note.parent.mkdir()
    note.write_text(
        "# Session: 2026-09-21 15:38:27 UTC\n\n## Conversation Summary\n\n"
        "user: Read HEARTBEAT.md if there is one, and do as it says. When all is well, answer HEARTBEAT_OK.\n"
        "user: [Telegram Marek N id:5550017 +14m 2026-09-21 22:45 GMT+2] the printer in Brno wants 420 euro for the "
        "second prototype\n[message_id: 1688]\nassistant: Noted, 420 euro.\n"
    )
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("agent:main:main", user=OWNER)
        await memory.search(session, "prototype")  # which indexes the note …
        await parts(memory).storage.recaller.embedded()  # … whose vectors come behind it
        text = (await memory.before_reply(session, "What does the second prototype cost in Brno?")).text
        assert "420 euro" in text
        assert "2026-09-21" in text
        assert "HEARTBEAT" not in text + session.opening
        found = await memory.search(session, "HEARTBEAT_OK")
        assert not any("HEARTBEAT" in hit.text for hit in found)
