"""Sessions end saved, exactly once, whatever ends them: the scenarios of the design, and the cases of its review."""

import asyncio
import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gateway_memory import OWNER, Config, GatewayMemory, Session
from gateway_memory.store.session_log import read_records

WORTH = "请把登录接口改成用 JWT 认证，旧的会话先保留两周，然后通知前端同事"
START = datetime(2026, 3, 1, 22, 0, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


def opened(workspace: Path, clock: Clock) -> GatewayMemory:
    return GatewayMemory(Config(), workspace, clock=clock)


def records(workspace: Path, folder: str = "") -> list[dict[str, Any]]:
    found, damaged = read_records(workspace / folder / "sessions.jsonl")
    assert damaged == []
    return found


async def said(memory: GatewayMemory, session: Session, text: str) -> None:
    """A turn in which the rules find nothing to keep."""
    await memory.after_reply(session, user=text, reply="好的，开始处理。")
    await memory.flush()


async def agent_saves(memory: GatewayMemory, session: Session) -> None:
    assert await memory.save_fact(session, content="登录接口用 JWT 认证", type="W", entities=["登录"], confidence=0.9)
    assert await memory.save_summary(session, topic="登录改造", summary="登录接口改成了 JWT", decisions=["用 JWT"])


async def test_scenario_a_long_session_in_which_every_layer_works(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
        assert "--type S" in await memory.before_compaction(session, usage=85, messages=30)
        await agent_saves(memory, session)
        assert await memory.stop(session, "completed") == ""
        await memory.end_session(session, reason="completed")
        assert (await memory.session_counts())["staged"] == 1
    (record,) = records(tmp_path)
    assert (record["layer"], record["auto_generated"], record["topic"]) == ("agent", False, "登录改造")


@pytest.mark.parametrize("compacted", [True, False])
async def test_scenario_a_medium_session_with_an_obedient_agent(tmp_path: Path, *, compacted: bool) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
        if compacted:
            await memory.before_compaction(session, usage=85, messages=30)
        await agent_saves(memory, session)
        assert await memory.stop(session, "completed") == ""
        await memory.end_session(session, reason="completed")
    assert [record["layer"] for record in records(tmp_path)] == ["agent"]


async def test_scenario_a_compaction_alone_saves_the_session(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
        await memory.before_compaction(session, usage=85, messages=30)
        assert await memory.stop(session, "completed") == "", "a stage summary is something saved"
        await memory.end_session(session, reason="completed")
    (record,) = records(tmp_path)
    assert (record["layer"], record["auto_generated"]) == ("end", True)
    assert "JWT" in record["brief"]


async def test_scenario_a_short_session_whose_agent_ignores_the_rule_costs_one_followup(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
        prompt = await memory.stop(session, "completed")
        assert prompt.startswith("[Session Save]")
        assert session.session_id in prompt
        assert await memory.stop(session, "completed") == "", "loop_limit is 1"
        await agent_saves(memory, session)
        await memory.end_session(session, reason="completed")
        assert (await memory.session_counts())["followups"] == 1
    assert [record["layer"] for record in records(tmp_path)] == ["followup"]


async def test_scenario_a_tiny_session_leaves_nothing_and_asks_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, "谢谢")
        assert await memory.before_compaction(session, usage=5, messages=2) == ""
        assert await memory.stop(session, "completed") == ""
        await memory.end_session(session, reason="completed")
        assert (await memory.session_counts())["state.nothing"] == 1
    assert records(tmp_path) == []


@pytest.mark.parametrize("status", ["error", "window_close", "", "interrupted"])
async def test_a_followup_is_asked_of_no_session_that_was_broken_off(tmp_path: Path, status: str) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
        assert await memory.stop(session, status) == ""


@pytest.mark.parametrize("reason", ["completed", "aborted", "error", "window_close", "user_close", "reset"])
async def test_every_end_saves_one_record_and_a_second_end_changes_nothing(tmp_path: Path, reason: str) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
        await asyncio.gather(*(memory.end_session(session, reason=reason) for _ in range(3)))
        await memory.end_session(session, reason="completed")
        ((found, state),) = await memory._journal.rows("SELECT reason, state FROM sessions")
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
        assert f"模块{day + 1}" in record["summary"]


async def test_a_stage_summary_is_never_loaded_recalled_or_announced(tmp_path: Path) -> None:
    async with opened(tmp_path, Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        listener = await memory.start_session("listener", user=OWNER)
        await memory.save_fact(session, content="迁移到 Kubernetes 的第二步已经完成", type="S")
        await memory.flush()
        context = await memory.before_reply(listener, "迁移到 Kubernetes 的第二步完成了吗？")
        assert "第二步" not in context.text
        assert "第二步" not in (await memory.start_session("later", user=OWNER)).opening
        assert not any("第二步" in hit.text for hit in await memory.search(listener, "Kubernetes 第二步"))
    assert any("第二步" in path.read_text("utf-8") for path in (tmp_path / "memory").glob("*.md")), "it is kept"


async def test_the_next_session_knows_where_the_last_one_stopped(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
        await memory.save_summary(session, topic="登录改造", summary="接口已改好", todos=["补刷新令牌的测试"])
        await memory.end_session(session, reason="window_close")
        clock.now += timedelta(minutes=1)
        later = await memory.start_session("editor", user=OWNER)
        assert later.session_id != session.session_id
        assert "[Last Session]" in later.opening
        assert "登录改造" in later.opening
        assert "补刷新令牌的测试" in later.opening
        guest = await memory.start_session("guest", user="zoe")
        assert "登录" not in guest.opening, "nobody's opening shows another's summary"


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
        assert await memory._lifecycle.close_abandoned(starting=False) == 0
        clock.now += timedelta(hours=2)
        assert await memory._lifecycle.close_abandoned(starting=False) == 1
        await memory.after_reply(session, user=WORTH, reply="好")
        assert session.session_id != first
        rows = await memory._journal.rows("SELECT reason FROM sessions WHERE session_id = ?", (first,))
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


DYING = """
import asyncio, os, signal, sys
from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.logs import configure_logging
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
        async with GatewayMemory(Config(), tmp_path) as memory:
            session = await memory.start_session("editor", user=OWNER)
            assert session.session_id != done.stdout.strip()
            assert "JWT" in session.opening
        (record,) = records(tmp_path)
        assert record["session_id"] == done.stdout.strip()


SAVING = """
import asyncio, sys
from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.logs import configure_logging
configure_logging(verbose=False)
async def main():
    async with GatewayMemory(Config(), sys.argv[1]) as memory:
        session = await memory.start_session("editor", user=OWNER)
        print(session.session_id, flush=True)
        sys.stdin.readline()
        print(await memory.save_summary(session, topic=sys.argv[2], summary="done"), flush=True)
asyncio.run(main())
"""


async def test_two_saves_at_once_from_two_processes_leave_one_record(tmp_path: Path) -> None:
    async with GatewayMemory(Config(), tmp_path) as memory:
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


async def test_the_host_that_shows_memory_md_itself_gets_the_rest(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("- 我的工位在三楼\n", "utf-8")
    from dataclasses import replace

    defaults = Config().defaults
    config = Config(defaults=replace(defaults, opening=replace(defaults.opening, include_memory_md=False)))
    async with GatewayMemory(config, tmp_path, clock=Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await memory.save_summary(session, topic="登录改造", summary="接口已改好")
        await memory.end_session(session, reason="completed")
        later = await memory.start_session("editor", user=OWNER)
        assert "三楼" not in later.opening
        assert "登录改造" in later.opening


async def test_an_opening_takes_more_of_the_newest_days_and_what_the_last_session_left_open(tmp_path: Path) -> None:
    clock = Clock()
    folder = tmp_path / "memory"
    folder.mkdir()
    for ago in range(9):
        day = f"{clock.now.astimezone() - timedelta(days=ago):%Y-%m-%d}"
        lines = [f"- fact number {ago}{item} of that day" for item in range(8)]
        (folder / f"{day}.md").write_text("\n".join(lines) + "\n", "utf-8")
    old = f"{clock.now.astimezone() - timedelta(days=60):%Y-%m-%d}"
    (folder / f"{old}.md").write_text("- The payment gateway Zephyr needs a client certificate\n", "utf-8")
    async with opened(tmp_path, clock) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await memory.save_summary(session, topic="payment gateway Zephyr", summary="s", todos=["client certificate"])
        await memory.end_session(session, reason="completed")
        opening = (await memory.start_session("editor", user=OWNER)).opening
    shown = [line for line in opening.split("\n") if "fact number" in line]
    assert len(shown) == 15
    of_day = [sum(f"number {ago}" in line for line in shown) for ago in range(9)]
    assert of_day == [5, 4, 2, 1, 1, 1, 1, 0, 0]
    assert "Zephyr needs a client certificate" in opening
    assert json.dumps(opening)
