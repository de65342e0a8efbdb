"""`gateway-memory doctor episodes`: what was said, its index and its age, with what to do."""

import asyncio
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from ending import CONFIG, Clock
from patience import until

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.cli.main import main

CONFIG_FILE = Path(__file__).parents[1] / "data" / "words.json5"


async def talked(workspace: Path, turns: int = 3) -> None:
    clock = Clock()
    async with GatewayMemory(CONFIG, workspace, clock=clock) as memory:
        for user in (OWNER, "zoe"):
            session = await memory.start_session(f"chat-{user}", user=user)
            for number in range(turns):
                clock.now += timedelta(minutes=1)
                await memory.after_reply(session, user=f"Where is the harbour office {number}?", reply="On pier 7.")
        await memory.flush()


def doctor(capsys: pytest.CaptureFixture[str], workspace: Path, config: Path = CONFIG_FILE) -> tuple[int, str]:
    code = main(["doctor", "episodes", "--workspace", str(workspace), "--config", str(config)])
    return code, capsys.readouterr().out


def changed(workspace: Path, file: str, query: str) -> None:
    database = sqlite3.connect(workspace / file)
    with database:
        database.execute(query)
    database.close()


async def test_nothing_is_wrong_with_a_healthy_memory_or_an_empty_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "MEMORY.md").write_text("# Memory\n", "utf-8")
    code, said = doctor(capsys, tmp_path)
    assert (code, "0 turns are kept" in said) == (0, True)
    await talked(tmp_path)
    code, said = doctor(capsys, tmp_path)
    assert code == 0
    assert said.splitlines() == [
        "✓ 6 turns are kept in 2 scopes",
        "✓ all of them can be read",
        "✓ the index has all of them",
        "All is well.",
    ]
    assert "harbour" not in said


async def test_counts_that_disagree_are_named_and_mended_as_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await talked(tmp_path)
    changed(tmp_path, "journal.sqlite", "DELETE FROM episodes WHERE turn = (SELECT max(turn) FROM episodes)")
    code, said = doctor(capsys, tmp_path)
    assert code == 1
    assert "2 turns of user:zoe are kept, and 3 are in the index (1 pages of it differ)" in said
    assert "owner" not in said
    (tmp_path / "index.sqlite").unlink()
    code, said = doctor(capsys, tmp_path)
    assert "3 turns of owner are kept, and 0 are in the index" in said
    async with GatewayMemory(CONFIG, tmp_path, clock=Clock()):  # which finishes every scope, though nobody speaks
        await until(lambda: doctor(capsys, tmp_path)[0] == 0)


async def test_what_the_next_minute_adds_is_no_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await talked(tmp_path)
    changed(tmp_path, "index.sqlite", "UPDATE file SET size = size - 2 WHERE name LIKE '%episodes%'")
    assert doctor(capsys, tmp_path)[0] == 1
    changed(tmp_path, "journal.sqlite", "UPDATE episode_pages SET behind = 1")  # as a process that was killed leaves it
    code, said = doctor(capsys, tmp_path)
    assert code == 0
    assert "4 turns that were said last are still to be added to the index" in said
    assert "the index has all of them" not in said


async def test_a_file_that_waits_for_an_answer_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with GatewayMemory(CONFIG, tmp_path) as memory:
        session = await memory.start_session("chat", user=OWNER)
        for number in range(4):
            await memory.save_fact(session, content=f"Shelf {number} carries the {number * 71} paint tins.")
    files = ["doctor", "files", "--workspace", str(tmp_path)]
    assert await asyncio.to_thread(main, files) == 0
    assert "✓ no file waits for an answer" in capsys.readouterr().out
    for file in tmp_path.glob("memory/*.md"):
        file.unlink()
    assert await asyncio.to_thread(main, files) == 1
    assert "✗ 4 of 4 lines of memory/" in capsys.readouterr().out
    restore = ["restore", "--workspace", str(tmp_path), "--config", str(CONFIG_FILE)]
    assert await asyncio.to_thread(main, restore) == 0
    assert "Restored: 4 lines of memory/" in capsys.readouterr().out
    assert await asyncio.to_thread(main, files) == 0


@pytest.mark.parametrize("damage", ["user = CAST(x'ff41' AS TEXT)", "at = 'yesterday'", "reply = x'fffe'"])
async def test_turns_that_cannot_be_read_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    await talked(tmp_path)
    changed(tmp_path, "journal.sqlite", f"UPDATE episodes SET {damage} WHERE turn = 2")
    code, said = doctor(capsys, tmp_path)
    assert code == 1
    assert "✗ 1 turns can't be read: 2. Search misses" in said


async def test_what_is_kept_for_too_long_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace, config = tmp_path / "workspace", tmp_path / "config.json5"
    workspace.mkdir()
    await talked(workspace)
    config.write_text("{agents: {defaults: {memorySync: {episodes: {keepDays: 7}}}}}", "utf-8")
    code, said = doctor(capsys, workspace, config)
    assert code == 1
    assert "6 turns are older than episodes.keepDays (7)" in said
    kept = Config(defaults=replace(CONFIG.defaults, episodes=replace(CONFIG.defaults.episodes, keep_days=7)))
    async with GatewayMemory(kept, workspace) as memory:
        await memory.flush()
    assert "0 turns are kept" in doctor(capsys, workspace, config)[1]


async def test_a_journal_that_cannot_be_opened_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "journal.sqlite").write_bytes(b"no database at all" * 100)
    code, said = doctor(capsys, tmp_path)
    assert code == 1
    assert said.startswith("✗ ")


async def test_a_session_key_in_two_processes_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with GatewayMemory(CONFIG, tmp_path) as first, GatewayMemory(CONFIG, tmp_path) as second:
        await first.start_session("one", user=OWNER)
        await second.start_session("two", user=OWNER)
        await second.start_session("one", user="zoe")  # the same key of somebody else is another session
        assert main(["doctor", "sessions", "--workspace", str(tmp_path)]) == 0
        assert "no session key was used by two processes" in capsys.readouterr().out
        session = await second.start_session("one", user=OWNER)
        assert "a session key in two processes" in str(await second.command(session, "/memory status"))
    assert main(["doctor", "sessions", "--workspace", str(tmp_path)]) == 1
    assert "A session key belongs to one process at a time" in capsys.readouterr().out


async def test_a_process_that_takes_over_a_key_shares_it_with_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        async with GatewayMemory(CONFIG, tmp_path) as memory:
            await memory.start_session("one", user=OWNER)
    assert main(["doctor", "sessions", "--workspace", str(tmp_path)]) == 0
    assert "✓" in capsys.readouterr().out
