"""What of sessions can be switched off, by whom summaries are made, how ends are kept, and how sessions are counted."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from editor import WORDS_ALONE, hook, records, run, transcript
from ending import CONFIG, WORTH, Clock, said
from inside import journal_rows
from scripted_provider import Provider, Say, serving

from gateway_memory import OWNER, Config, GatewayMemory, UsageError
from gateway_memory.capture.saver import Saver
from gateway_memory.config.load import check_config
from gateway_memory.observability.prometheus import MetricsCollector


def having(**changed: Any) -> Config:
    defaults = CONFIG.defaults
    return Config(defaults=replace(defaults, sessions=replace(defaults.sessions, **changed)))


async def a_day(config: Config, workspace: Path) -> dict[str, Any]:
    """What comes of a session in which every layer has something to do."""
    async with GatewayMemory(config, workspace, clock=Clock()) as memory:
        session = await memory.start_session("editor", user=OWNER)
        await said(memory, session, WORTH)
        asked = await memory.stop(session, "completed")
        flush = await memory.before_compaction(session, usage=90, messages=30)
        stage = await memory.save_fact(session, content="阶段摘要：登录接口改好了", type="S")
        await memory.end_session(session, reason="completed")
        late = await memory.start_session("late", user=OWNER)
        saved = await memory.save_summary(late, topic="登录改造", summary="登录接口改成了 JWT")
        counts = await memory.session_counts()
    there = (workspace / "sessions.jsonl").exists()
    return {
        "asked": bool(asked), "flush": bool(flush), "stage": bool(stage), "saved": saved,
        "records": len(records(workspace)) if there else 0, "staged": counts["staged"],
    }  # fmt: skip


async def test_with_all_on_each_layer_saves(tmp_path: Path) -> None:
    found = await a_day(CONFIG, tmp_path)
    assert found == {"asked": True, "flush": True, "stage": True, "saved": True, "records": 2, "staged": 1}


@pytest.mark.parametrize(
    ("switch", "changed"),
    [
        ("records", {"asked": False, "saved": False, "records": 0}),
        ("stage_summaries", {"flush": False, "stage": False, "staged": 0}),
        ("followups", {"asked": False}),
    ],
)
async def test_what_is_switched_off_leaves_nothing_and_the_rest_goes_on(
    tmp_path: Path, switch: str, changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for name in ("save", "keep_stage"):
        original = getattr(Saver, name)

        def spy(*args: Any, _name: str = name, _original: Any = original, **values: Any) -> Any:
            calls.append(_name)
            return _original(*args, **values)

        monkeypatch.setattr(Saver, name, spy)
    found = await a_day(having(**{switch: False}), tmp_path)
    everything = {"asked": True, "flush": True, "stage": True, "saved": True, "records": 2, "staged": 1}
    assert found == everything | changed
    assert ("save" in calls) == (switch != "records")
    assert ("keep_stage" in calls) == (switch != "stage_summaries")


async def test_a_switch_of_one_agent_holds_for_its_sessions_alone(tmp_path: Path) -> None:
    quiet = having(records=False).defaults
    async with GatewayMemory(Config(defaults=CONFIG.defaults, agents={"quiet": quiet}), tmp_path) as memory:
        for agent in ("quiet", "main"):
            session = await memory.start_session(f"agent:{agent}:direct", user=OWNER)
            await said(memory, session, WORTH)
            assert bool(await memory.stop(session, "completed")) == (agent == "main")
            await memory.end_session(session, reason="completed")
    assert len(records(tmp_path)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("switch", ["records", "stageSummaries", "followups"])
def test_hooks_keep_to_the_switches(tmp_path: Path, switch: str) -> None:
    config = tmp_path / "config.json5"
    words = '{embedder: {provider: "none"}}'
    config.write_text(
        f"{{agents: {{defaults: {{memorySync: {{sessions: {{{switch}: false}}, autoRecall: {words}}}}}}}}}"
    )
    place = ("--workspace", str(tmp_path / "m"), "--config", str(config))
    path = transcript(tmp_path / "t.jsonl", ("user", WORTH), ("assistant", "好的，开始处理。"))
    given = {"conversation_id": "conv-1", "workspace_roots": [str(tmp_path)], "transcript_path": path}
    answers = {}
    stop = ("stop", {"status": "completed"})
    for event, more in (("preCompact", {}), stop, stop, ("sessionEnd", {"reason": "completed"})):
        done = run("hook", event, *place, given=json.dumps(given | more).encode())
        answers[event] = json.loads(done.stdout)
    assert bool(answers["preCompact"]) == (switch != "stageSummaries")
    assert bool(answers["stop"]) == (switch == "stageSummaries")
    run("hook", "sessionStart", *place, given=json.dumps(given | {"conversation_id": "conv-2"}).encode())
    done = run("save-summary", *place, "--topic", "a", "--summary", "b", "--session", "conv-2")
    assert (json.loads(done.stdout)["status"] == "ok") == (switch != "records")
    assert len(records(tmp_path / "m")) == (0 if switch == "records" else 2)
    assert not list((tmp_path / "m").glob("logs/hooks-*.jsonl")), "no hook failed"


GOOD = {"topic": "登录改造", "wanted": "a", "done": "b", "open": "", "next": "", "decisions": [], "todos": []}


def at(provider: Provider, summaries: str, **extraction: Any) -> Config:
    extraction["base_url"] = f"{provider.url}/v1"
    defaults = replace(CONFIG.defaults, auto_extract=replace(CONFIG.defaults.auto_extract, **extraction))
    return Config(defaults=replace(defaults, sessions=replace(defaults.sessions, summary_model=summaries)))


@pytest.mark.parametrize(
    ("model", "asked"), [("", ["gpt-4o-mini"]), ("rules", []), ("openai/small", ["small"]), ("qwen3", ["qwen3"])]
)
async def test_summaries_are_made_by_the_model_that_is_named_or_by_none(
    tmp_path: Path, model: str, asked: list[str]
) -> None:
    async with serving() as provider:
        provider.script.append(Say(text=json.dumps(GOOD)))
        async with GatewayMemory(at(provider, model), tmp_path) as memory:
            session = await memory.start_session("editor", user=OWNER)
            await memory.observe(session, kind="user", content=WORTH)
            await memory.end_session(session, reason="completed")
        assert [request["model"] for request in provider.asked] == asked
    assert (records(tmp_path)[0]["topic"] == "登录改造") == bool(asked)


async def test_summaries_may_have_a_model_where_batches_have_none(tmp_path: Path) -> None:
    async with serving() as provider:
        provider.script.append(Say(text=json.dumps(GOOD)))
        async with GatewayMemory(at(provider, "openai/small", model="rules"), tmp_path) as memory:
            session = await memory.start_session("editor", user=OWNER)
            await said(memory, session, WORTH)
            await memory.end_session(session, reason="completed")
        assert [request["model"] for request in provider.asked] == ["small"]


def test_a_model_of_summaries_of_nobody_we_know_is_refused() -> None:
    text = '{agents: {defaults: {memorySync: {\nsessions: {summaryModel: "gemini-flash"}}}}}'
    with pytest.raises(
        Exception, match=r"x:2: agents.defaults.memorySync.sessions: summaryModel: .gemini-flash. does not"
    ):
        check_config(text, "x")


async def ends(workspace: Path) -> list[tuple[Any, ...]]:
    async with GatewayMemory(CONFIG, workspace, clock=Clock()) as memory:
        return await journal_rows(memory, "SELECT reason, error, duration_ms FROM sessions ORDER BY opened_at, key")


async def test_the_error_and_the_duration_of_an_end_are_kept(tmp_path: Path) -> None:
    clock = Clock()
    async with GatewayMemory(CONFIG, tmp_path, clock=clock) as memory:
        session = await memory.start_session("a", user=OWNER)
        await said(memory, session, WORTH)
        await memory.end_session(session, reason="error", error="连接断开：timeout after 30 s", duration_ms=45000)
        session = await memory.start_session("b", user=OWNER)
        clock.now = clock.now.replace(minute=2)
        await memory.end_session(session, reason="completed")
        await memory.end_session(session, reason="error", error="too late")
        assert (await memory.session_counts())["errors"] == 1
    assert await ends(tmp_path) == [("error", "连接断开：timeout after 30 s", 45000), ("completed", "", 120000)]
    (record,) = records(tmp_path)
    assert (record["reason"], record["duration_ms"]) == ("error", 45000)
    assert record["error_message"] == "连接断开：timeout after 30 s"


async def test_what_is_exported_of_an_end_comes_back_with_an_import(tmp_path: Path) -> None:
    async with GatewayMemory(CONFIG, tmp_path / "one", clock=Clock()) as memory:
        session = await memory.start_session("a", user=OWNER)
        await said(memory, session, WORTH)
        await memory.end_session(session, reason="error", error="连接断开", duration_ms=45000)
    one, two = (("--workspace", str(tmp_path / name), "--config", WORDS_ALONE) for name in ("one", "two"))
    assert run("export", *one, "--output", str(tmp_path / "out")).returncode == 0
    assert run("import", "jsonl", str(tmp_path / "out"), *two).returncode == 0
    assert records(tmp_path / "two") == records(tmp_path / "one")


async def test_a_record_says_nothing_of_an_error_where_there_was_none(tmp_path: Path) -> None:
    async with GatewayMemory(CONFIG, tmp_path, clock=Clock()) as memory:
        session = await memory.start_session("a", user=OWNER)
        await said(memory, session, WORTH)
        assert await memory.save_summary(session, topic="a", summary="b")
        await memory.end_session(session, reason="completed")
    assert not records(tmp_path)[0].keys() & {"reason", "error_message", "duration_ms"}


@pytest.mark.parametrize(
    "error", ["my password is hunter2-4711", "<private>hunter2-4711</private> failed", "密码是hunter2-4711"]
)
async def test_the_error_is_cleaned_like_all_text(tmp_path: Path, error: str) -> None:
    async with GatewayMemory(CONFIG, tmp_path, clock=Clock()) as memory:
        session = await memory.start_session("a", user=OWNER)
        await said(memory, session, WORTH)
        await memory.end_session(session, reason=f"error {error}", error=error * 3 + "x" * 100_000)
        hidden = await memory.start_session("b", user=OWNER)
        await memory.command(hidden, "/memory off")
        await memory.end_session(hidden, reason="error", error="incognito 4711")
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"4711" not in file.read_bytes(), file
    assert max(len(row[1]) for row in await ends(tmp_path)) <= 2000


async def test_what_is_no_duration_or_error_is_refused(tmp_path: Path) -> None:
    async with GatewayMemory(CONFIG, tmp_path) as memory:
        session = await memory.start_session("a", user=OWNER)
        wrong: Any
        for wrong in (-1, "5", float("nan"), float("inf"), True, 10**400):
            with pytest.raises(UsageError, match="duration_ms"):
                await memory.end_session(session, reason="completed", duration_ms=wrong)
        with pytest.raises(UsageError, match="error"):
            await memory.end_session(session, reason="completed", error=5)  # type: ignore[arg-type]
        assert session.is_open


@pytest.mark.slow
@pytest.mark.parametrize(
    ("told", "kept"), [(45000, 45000), (45000.4, 45000), (None, 0), ("45", 0), (-1, 0), (True, 0), (10**300, 0)]
)
async def test_the_hook_hands_on_what_the_editor_says(tmp_path: Path, told: Any, kept: int) -> None:
    hook("sessionEnd", tmp_path, reason="error", error_message="磁盘满了 \ud800", duration_ms=told)
    ((reason, error, duration),) = await ends(tmp_path)
    assert (reason, error) == ("error", "磁盘满了")
    assert duration == kept or (not kept and 0 <= duration < 10_000)


async def test_sessions_are_counted_in_status_and_metrics(tmp_path: Path) -> None:
    async with GatewayMemory(CONFIG, tmp_path, clock=Clock()) as memory:
        for number in range(3):
            session = await memory.start_session(f"{number}", user=OWNER)
            await said(memory, session, f"{WORTH} {number}")
            await memory.end_session(session, reason="error", error="it failed" if number else "")
        session = await memory.start_session("open", user=OWNER)
        answer = await memory.command(session, "/memory status")
        assert "Sessions: 1 open, 3 ended (3 saved, 0 empty, 0 unsaved, 2 failed)" in str(answer)
        session.language = "zh"
        assert "会话：进行中 1，已结束 3（已保存 3，无内容 0，未能保存 0，出错 2）" in str(
            await memory.command(session, "/memory status")
        )
        gauges = memory.metrics.gauges(memory.now())
        assert gauges["sessions.ended"] == 3
        assert gauges["sessions.errors"] == 2
        assert gauges["sessions.layer.end"] == 3
        shown = {family.name: family for family in MetricsCollector(memory.metrics, memory.now).collect()}
        assert shown["gateway_memory_sessions_state_saved"].samples[0].value == 3


async def test_a_layer_of_anybodys_naming_is_no_name_of_a_gauge(tmp_path: Path) -> None:
    (tmp_path / "sessions.jsonl").write_text('{"session_id": "x", "topic": "t", "summary": "s", "layer": "我 \\n{}"}\n')
    async with GatewayMemory(CONFIG, tmp_path, clock=Clock()) as memory:
        session = await memory.start_session("one", user=OWNER)
        await said(memory, session, WORTH)
        await memory.end_session(session, reason="completed")
        assert all(name.isascii() for name in memory.metrics.gauges(memory.now()))
