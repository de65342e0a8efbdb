"""The status is of the workspace: whoever prints it tells what any process that has it open met with."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from editor import WORDS_ALONE
from inside import journal_rows, parts
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from patience import seconds, until
from scripted_provider import Fail, serving
from served import OWNER as OWNER_FACTS
from served import Served, service, written

from gateway_memory import OWNER, Config, GatewayMemory, StoreError, load_config
from gateway_memory.sync import health

pytestmark = pytest.mark.xdist_group("health")

FAILING = Path(__file__).parents[1] / "programs" / "failing_gateway.py"
PATH = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@contextmanager
def failing_gateway(workspace: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a gateway whose model has failed meanwhile; yield it, and how many of its texts have vectors."""
    process = subprocess.Popen(
        [sys.executable, str(FAILING), str(workspace)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **PATH},
        text=True,
    )
    try:
        assert process.stdout
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def shell(workspace: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "gateway_memory.cli.entry", *words, "--workspace", str(workspace)],
        capture_output=True,
        check=False,
        text=True,
        timeout=seconds(60),
        env={**os.environ, **PATH},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def by_mcp(workspace: Path, tool: str) -> dict[str, Any]:
    """Return what a tool answers, from a server in a process of its own."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "gateway_memory.cli.entry", "mcp", "--workspace", str(workspace)],
        env={**os.environ, **PATH},
    )
    async with Client(stdio_client(server), read_timeout_seconds=seconds(60)) as client:
        result = await client.call_tool(tool, {})
        assert not result.is_error, result.content
        assert isinstance(result.structured_content, dict)
        return result.structured_content


async def of_mcp(workspace: Path, _: Served) -> str:
    return json.dumps(await by_mcp(workspace, "status"))


async def of_shell(workspace: Path, _: Served) -> str:
    return await asyncio.to_thread(shell, workspace, "status")


async def of_shell_for_programs(workspace: Path, _: Served) -> str:
    facts = json.loads(await asyncio.to_thread(shell, workspace, "status", "--json"))
    places = [f"{each['place']}: {each['error']}" for each in facts["failures"]]
    vectors = f"{facts['vectors']['done']} of {facts['vectors']['rows']}"
    processes = [f"process {each['pid']} since" for each in facts["processes"]]
    return json.dumps([places, vectors, processes, facts["model"]["name"]])


async def of_chat(_: Path, served: Served) -> str:
    body = {"id": "status", "speaker": OWNER_FACTS, "text": "/memory status"}
    return str((await asyncio.to_thread(served.answer, "command", body))["answer"])


async def of_page(_: Path, served: Served) -> str:
    def seen() -> str:
        with served.client() as host, served.client("", follow_redirects=True) as browser:
            browser.get(host.post("/page/link").json()["path"])
            return browser.get("/today").text

    return re.sub(r"(rocess \d+): ", r"\1 since ", await asyncio.to_thread(seen))


SURFACES = (of_shell, of_shell_for_programs, of_chat, of_mcp, of_page)


@pytest.mark.slow
def test_an_idle_page_is_told_of_what_another_process_meets_with(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    config = written(tmp_path, memory={"autoRecall": {"embedder": {"provider": "none"}}}, port=0)
    with (
        service(config, "--workspace", str(workspace), workspaces={"main": workspace}) as served,
        served.client() as host,
        served.client("", follow_redirects=True) as browser,
    ):
        assert browser.get(host.post("/page/link").json()["path"]).status_code == 200
        with browser.stream("GET", "/news", timeout=seconds(60)) as stream:
            lines = stream.iter_lines()
            assert next(lines) == "retry: 2000"
            with failing_gateway(workspace):
                assert next(line for line in lines if line.startswith("event:")) == "event: news"
                shown = browser.get("/today", headers={"Accept-Language": "zh"}).text
                assert "模型没有给出结果" in shown
                assert "回答不是所要求的 JSON" in shown
                assert "出过故障" in browser.get("/", headers={"Accept-Language": "zh"}).text, (
                    "the first page leads there"
                )


@pytest.mark.slow
async def test_every_surface_tells_the_same_of_what_another_process_met_with(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    config = written(tmp_path, memory={"autoRecall": {}}, port=0)
    with (
        failing_gateway(workspace) as (gateway, coverage),
        service(config, "--workspace", str(workspace), workspaces={"main": workspace}) as served,
    ):
        told = {each.__name__: await each(workspace, served) for each in SURFACES}
        done, _, rows = coverage.partition(" of ")
        assert int(done) == int(rows) > 0
        for name, said in told.items():
            assert coverage in said, (name, said)
            assert "model.unreadable" in said, (name, said)
            assert "ModelError" in said, (name, said)
            assert f"rocess {gateway.pid} since" in said, (name, said)
            assert "gpt-4o-mini" in said, (name, said)
            assert "Nothing has failed" not in said, (name, said)


@pytest.mark.slow
async def test_a_failure_outlives_the_process_and_the_process_is_gone(tmp_path: Path) -> None:
    with failing_gateway(tmp_path) as (gateway, _):
        gateway.send_signal(signal.SIGKILL)
        gateway.wait()
        pid = gateway.pid
    facts = json.loads(await asyncio.to_thread(shell, tmp_path, "status", "--json"))
    assert pid not in {each["pid"] for each in facts["processes"]}
    assert "model.unreadable" in {each["place"] for each in facts["failures"]}


@pytest.mark.slow
async def test_why_of_another_process_is_of_the_scopes_last_reply(tmp_path: Path) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        assert "no reply yet" in (await by_mcp(tmp_path, "why"))["text"]
        session = await memory.start_session("agent:main:telegram:direct:1", user=OWNER)
        await memory.after_reply(session, user="Remember that the staging port is 8443.", reply="OK")
        await memory.flush()
        context = await memory.before_reply(session, "which port has staging?")
        await memory.after_reply(session, user="which port has staging?", reply="8443")
        await memory.flush()
        zoe = await memory.start_session("agent:main:telegram:direct:2", user="zoe")
        assert "no reply yet" in str(await memory.command(zoe, "/memory why")), "another person's stays theirs"
        said = (await by_mcp(tmp_path, "why"))["text"]
        assert "agent:main:telegram:direct:1" in said
        (hit, *_) = context.recalled
        assert hit.id in said
        await memory.command(session, f"/memory forget {hit.id}")
        forgotten = (await by_mcp(tmp_path, "why"))["text"]
        assert hit.id in forgotten
        assert hit.text not in forgotten, "what was forgotten is named by its id alone"


async def test_without_a_model_nothing_waits_for_the_batch(tmp_path: Path) -> None:
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.after_reply(session, user="The weather was lovely in the mountains today.", reply="Indeed.")
        await parts(memory).processor.caught_up(session.session_id, seconds(30))
        assert (await parts(memory).storage.turns.queue()).batch == 1, "it is let go after the debounce"
        facts = await memory.record(session, "status")
        assert (facts["waiting"]["batch"], facts["waiting"]["oldest_seconds"], facts["model"]["name"]) == (0, 0, None)
        said = str(await memory.command(session, "/memory status"))
        assert "rules and episodes only" in said
        assert "batch" not in said


async def test_a_model_that_is_not_asked_for_a_while_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setattr(health, "_HEALTH_SECONDS", 0.01)
    async with serving() as provider:
        provider.always = lambda _: Fail(status=401)
        defaults = words_alone().defaults
        extraction = replace(defaults.auto_extract, base_url=f"{provider.url}/v1", min_conversation_length=0)
        async with GatewayMemory(Config(defaults=replace(defaults, auto_extract=extraction)), tmp_path) as memory:
            sessions = [await memory.start_session(f"chat {number}", user=OWNER) for number in range(3)]
            for number, session in enumerate(sessions):
                said = f"I moved to Lisbon with my sister Marta last spring, and have {number} cats"
                await memory.after_reply(session, user=said, reply="I see.")
                await memory.flush()
            session = sessions[0]
            model = (await memory.record(session, "status"))["model"]
            assert (model["rests"], model["failed_turns"]) == (True, 3)
            store = parts(memory).storage.health

            async def noted() -> bool:
                return any(state.model_rests for state in (await store.processes()).values())

            async with asyncio.timeout(seconds(30)):
                while not await noted():
                    await asyncio.sleep(0.01)
            facts = json.loads(await asyncio.to_thread(shell, tmp_path, "status", "--json"))
            assert facts["model"]["rests"], "another process tells it too"
            told = str(await memory.command(session, "/memory status"))
            assert "asked again in some minutes" in told
            assert "since the model failed: 3 (its server refused the key, the model or the request)" in told
            session.language = "zh"
            assert "过几分钟再试" in str(await memory.command(session, "/memory status"))


async def test_what_cant_be_noted_is_noted_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_HEALTH_SECONDS", 0.01)
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        store, tried = parts(memory).storage.health, 0
        note = store.note

        async def full(*_: Any, **__: Any) -> None:
            nonlocal tried
            tried += 1
            raise StoreError("database or disk is full")

        monkeypatch.setattr(type(store), "note", full)
        for _ in range(3):
            parts(memory).runtime.on_error("journal", OSError("the text of a message"))
        await until(lambda: tried > 1)
        monkeypatch.setattr(type(store), "note", lambda _, *values, **named: note(*values, **named))
        (failure,) = (await memory.record(session, "status"))["failures"]
        assert (failure["place"], failure["error"], failure["count"]) == ("journal", "OSError", 3)
        rows = await journal_rows(memory, "SELECT * FROM failures")
        rows += await journal_rows(memory, "SELECT state FROM leases")
        assert "message" not in str(rows)


async def test_a_process_that_changes_in_nothing_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_HEALTH_SECONDS", 0.01)
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        store, states, looks = parts(memory).storage.health, [], 0
        note = store.note

        async def counting(_: object, state: Any, *values: Any, **named: Any) -> None:
            states.append(state)
            await note(state, *values, **named)

        alarm = memory.metrics.capture_alarm

        def looked(now: Any) -> str | None:
            nonlocal looks
            looks += 1
            return alarm(now)

        monkeypatch.setattr(type(store), "note", counting)
        monkeypatch.setattr(memory.metrics, "capture_alarm", looked)
        await until(lambda: looks > 20)
        assert len(states) <= 1
        monkeypatch.setattr(memory.metrics, "capture_alarm", lambda _: "stalled")
        await until(lambda: states and states[-1].alarm == "stalled")


def words_alone() -> Config:
    """Return a config without a model and without an encoder."""
    return load_config(Path(WORDS_ALONE))
