"""Sessions end saved, exactly once, whatever ends them: the cases of the design's review."""

import asyncio
import sqlite3
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from ending import CONFIG, WORTH, Clock, agent_saves, opened, records, said
from inside import journal_rows, parts
from patience import seconds

from gateway_memory import OWNER, GatewayMemory
from gateway_memory.store.journal.sessions import End


@pytest.mark.parametrize("reason", ["completed", "aborted", "error", "window_close", "user_close", "reset"])
async def test_every_end_saves_one_record_and_a_second_end_changes_nothing(tmp_path: Path, reason: str) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
        await asyncio.gather(*(memory.end_session(session, reason=reason) for _ in range(3)))
        await memory.end_session(session, reason="completed")
        ((found, state),) = await journal_rows(memory, "SELECT reason, state FROM sessions")
        assert (found, state) == (reason, "saved")
    assert len(records(tmp_path)) == 1


async def test_another_sessions_record_last_in_the_file_hides_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        one = await memory.start_session("one", user=OWNER)
        other = await memory.start_session("other", user=OWNER)
        for session in (one, other):
            await said(memory, session, WORTH)
        await agent_saves(memory, one)
        await memory.end_session(other, reason="completed")
        assert records(tmp_path)[-1]["session_id"] == other.session_id
        assert await memory.stop(one, "completed") == ""
        assert not await memory.save_summary(one, topic="again", summary="again")
        await memory.end_session(one, reason="completed")
        assert (await memory.session_counts())["doubles_prevented"] == 1
    assert sorted(record["layer"] for record in records(tmp_path)) == ["agent", "end"]


@pytest.mark.parametrize("days", [1, 5])
async def test_a_session_over_midnight_or_many_days_knows_all_of_its_stages(tmp_path: Path, days: int) -> None:
    clock = Clock()
    async with opened(tmp_path, clock) as memory:
        session = await memory.start_session("editor", user=OWNER)
        for day in range(days + 1):
            await memory.save_fact(session, content=f"阶段摘要：第{day + 1}天完成了模块{day + 1}", type="S")
            clock.now += timedelta(hours=20)
        assert await memory.stop(session, "completed") == "", "the stages of earlier days count"
        await memory.end_session(session, reason="completed")
    (record,) = records(tmp_path)
    for day in range(days + 1):
        assert f"模块{day + 1}" in record["topic"] + record["summary"], "the last one is the topic"


async def test_a_private_observation_leaves_no_trace(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
        await memory.observe(session, kind="decision", content="geheim 4711", private=True)
        await memory.observe(session, kind="tool", tool="bash", content="<private>geheim 4711</private> done")
        await memory.end_session(session, reason="completed")
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"4711" not in everything
    assert len(records(tmp_path)) == 1


async def test_a_silent_session_is_closed_as_abandoned_and_its_next_message_opens_another(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock) as memory:
        session = await memory.start_session("editor", user=OWNER)
        first = session.session_id
        await said(memory, session, WORTH)
        clock.now += timedelta(hours=23)
        assert await parts(memory).lifecycle.close_abandoned(starting=False) == 0
        clock.now += timedelta(hours=2)
        assert await parts(memory).lifecycle.close_abandoned(starting=False) == 1
        await memory.after_reply(session, user=WORTH, reply="好")
        assert session.session_id != first
        rows = await journal_rows(memory, "SELECT reason FROM sessions WHERE session_id = ?", (first,))
        assert rows == [("abandoned",)]
    assert [record["session_id"] for record in records(tmp_path)] == [first]


async def test_a_process_that_closes_in_order_leaves_its_sessions_to_be_resumed(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
    async with opened(tmp_path, clock) as memory:
        assert (await memory.start_session("editor", user=OWNER)).session_id == session.session_id
    assert records(tmp_path) == []


@pytest.mark.parametrize("later", ["the next opening", "the background"])
async def test_a_record_that_an_end_could_not_write_is_written_later(
    tmp_path: Path, later: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()

    async def fails(*_: object) -> bool:
        raise OSError("the disk is busy")

    async with opened(tmp_path, clock) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
        with monkeypatch.context() as broken:  # no disk fails on demand
            broken.setattr(parts(memory).storage.records, "save", fails)
            await memory.end_session(session, reason="user_close", error="it rained", duration_ms=7000)
        assert records(tmp_path) == []
        assert await journal_rows(memory, "SELECT state FROM sessions") == [("unsaved",)]
        if later == "the background":
            assert await parts(memory).lifecycle.close_abandoned(starting=False) == 0
            assert len(records(tmp_path)) == 1
    async with opened(tmp_path, clock) as memory:
        assert await journal_rows(memory, "SELECT reason, state FROM sessions") == [("user_close", "saved")]
    (record,) = records(tmp_path)
    assert (record["session_id"], record["reason"], record["error_message"]) == (
        session.session_id,
        "user_close",
        "it rained",
    )


async def test_a_session_that_ends_while_its_turns_wait_gets_its_record_when_they_are_read(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock) as memory:
        processor, key = parts(memory).processor, "editor"
        session = await memory.start_session(key, user=OWNER)
        async with processor._plan_lock:  # as under load: the rules don't come to the turn in time
            await memory.after_reply(session, user="Remember that tea is green", reply="OK")
            scope, end = session.scope, End(reason="completed")
            await parts(memory).lifecycle.end(session.session_id, scope, key, end, patient=False)
            assert await journal_rows(memory, "SELECT state FROM sessions") == [("unsaved",)]
        await parts(memory).lifecycle.close_abandoned(starting=False)
        assert await journal_rows(memory, "SELECT state FROM sessions") == [("saved",)]
    assert len(records(tmp_path)) == 1


DYING = """
import asyncio, os, signal, sys
from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.observability.logs import configure_logging
configure_logging(verbose=False)
async def main():
    async with GatewayMemory(Config(), sys.argv[1]) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await memory.after_reply(session, user=sys.argv[2], reply="ok")
        print(session.session_id, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""


async def test_a_session_of_a_killed_process_is_closed_at_the_next_start(tmp_path: Path) -> None:
    command = [sys.executable, "-c", DYING, str(tmp_path), WORTH]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
    assert done.returncode == -9
    for _ in range(2):
        async with GatewayMemory(CONFIG, tmp_path) as memory:
            session = await memory.start_session("editor", user=OWNER)
            assert session.session_id != done.stdout.strip()
            assert "JWT" in session.opening
        (record,) = records(tmp_path)
        assert record["session_id"] == done.stdout.strip()


SAVING = """
import asyncio, sys
from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.observability.logs import configure_logging
configure_logging(verbose=False)
async def main():
    async with GatewayMemory(Config(), sys.argv[1]) as memory:
        session = await memory.start_session("editor", user=OWNER)
        print(session.session_id, flush=True)
        sys.stdin.readline()
        print(await memory.save_summary(session, topic=sys.argv[2], summary="done"), flush=True)
asyncio.run(main())
"""


@pytest.mark.slow
async def test_two_saves_at_once_from_two_processes_leave_one_record(tmp_path: Path) -> None:
    async with GatewayMemory(CONFIG, tmp_path) as memory:
        session = await memory.start_session("editor", user=OWNER)
        pipe = asyncio.subprocess.PIPE
        both = [
            await asyncio.create_subprocess_exec(
                sys.executable, "-c", SAVING, str(tmp_path), name, stdin=pipe, stdout=pipe
            )
            for name in ("one", "two")
        ]
        for process in both:
            assert process.stdout
            assert (await process.stdout.readline()).decode().strip() == session.session_id
        answers = await asyncio.gather(*(process.communicate(b"go\n") for process in both))
    assert sorted(out.decode().strip() for out, _ in answers) == ["False", "True"]
    assert len(records(tmp_path)) == 1


async def test_a_memory_with_many_abandoned_sessions_opens_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, Clock()) as memory:
        await memory.start_session("first", user=OWNER)
    with sqlite3.connect(tmp_path / "journal.sqlite") as database:  # as if the process had been killed
        database.execute(
            "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 299) INSERT INTO sessions "
            "(session_id, key, scope, opened_at, seen_at, slot) SELECT 'dead' || i, 'k' || i, 'owner', 0, 0, 0 FROM n"
        )
    monkeypatch.setattr("gateway_memory.wiring._CLOSING_SECONDS", 0.0)
    async with opened(tmp_path, Clock()) as memory:
        counts = await memory.session_counts()
        assert counts["open"] > 0, "it did not wait"
        session = await memory.start_session("k299", user=OWNER)
        assert await memory.after_reply(session, user="Remember that the lamp is red.", reply="OK")

        async with asyncio.timeout(seconds(30)):
            while (await memory.session_counts())["open"] > 2:  # this one, and the one that was left in order
                await asyncio.sleep(0.02)
        await memory.flush()
        assert await memory.search(session, "lamp", kinds=["memory"])
