"""Clients of MCP that others made: its conformance suite and its inspector, against our service."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import conforming_service
import pytest
from npm import installed, node
from patience import seconds
from served import Served, service, written

from gateway_memory import OWNER
from gateway_memory.scope import resolve_scope
from gateway_memory.serving.tokens import ClientTokens

PACKAGES = ("@modelcontextprotocol/conformance@0.1.16", "@modelcontextprotocol/inspector@0.15.0")
EXPECTED_FAILURES = Path(__file__).with_name("mcp_expected_failures.yaml")


@pytest.fixture(scope="module")
def programs() -> Path:
    return installed("mcp-clients", *PACKAGES)


def run(programs: Path, script: str, *arguments: str) -> str:
    command = [str(node(programs)), str(programs / "node_modules/@modelcontextprotocol" / script), *arguments]
    environment = {**os.environ, "PATH": f"{node(programs).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=seconds(300))
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture
def served(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    workspace = tmp_path / "w"
    workspace.mkdir()
    (workspace / ".gateway-memory").mkdir()
    _, token = ClientTokens(workspace).add(resolve_scope(user=OWNER, room=None), "a client's")
    monkeypatch.setenv("TOKEN", token)
    monkeypatch.setenv("EVERYTHING", getattr(request, "param", ""))
    program = conforming_service.__file__
    config = written(tmp_path, port=0)
    with service(config, "--workspace", str(workspace), workspaces={"main": workspace}, program=program) as running:
        yield running


def conformance(programs: Path, served: Served, *options: str) -> str:
    return run(programs, "conformance/dist/index.js", "server", "--url", f"{served.url}/mcp", *options)


def test_our_server_conforms(programs: Path, served: Served) -> None:
    conformance(programs, served, "--expected-failures", str(EXPECTED_FAILURES))


@pytest.mark.parametrize("served", ["1"], indirect=True)
def test_the_same_server_with_the_suite_s_tools_conforms_in_full(programs: Path, served: Served) -> None:
    assert " 0 failed" in conformance(programs, served).splitlines()[-1]


def test_the_inspector_lists_and_calls_each_tool(programs: Path, served: Served) -> None:
    def inspected(method: str, *options: str) -> dict[str, Any]:
        where = ("--cli", f"{served.url}/mcp", "--transport", "http", "--method", method)
        answer: dict[str, Any] = json.loads(run(programs, "inspector/cli/build/cli.js", *where, *options))
        return answer

    def called(tool: str, **values: str) -> dict[str, Any]:
        given = [part for name, value in values.items() for part in ("--tool-arg", f"{name}={value}")]
        result = inspected("tools/call", "--tool-name", tool, *given)
        assert not result.get("isError"), result
        content: dict[str, Any] = result["structuredContent"]
        return content

    saved = called("save_fact", content="My locker is number 12")
    calls = {
        "save_fact": {"content": "The bell is broken"},
        "search_memory": {"query": "locker"},
        "get_memory": {"id": saved["id"]},
        "recent": {},
        "history": {"id": saved["id"]},
        "why": {},
        "status": {},
        "save_summary": {"topic": "Repairs", "summary": "The bell is broken."},
        "end_session": {},
        "forget": {"id": saved["id"], "confirm": "true"},
    }
    assert {tool["name"] for tool in inspected("tools/list")["tools"]} == set(calls)
    answers = {tool: called(tool, **values) for tool, values in calls.items()}
    assert answers["search_memory"]["items"][0]["text"] == "My locker is number 12"
    assert answers["forget"]["forgotten"]
    assert inspected("resources/list")["resources"]
    assert inspected("resources/templates/list")["resourceTemplates"]
    assert inspected("prompts/list")["prompts"]
