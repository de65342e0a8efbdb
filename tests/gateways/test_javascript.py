"""The client in JavaScript: its types are those of the service, and in Node it talks to a real one."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import seconds
from served import service, written

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).with_name("javascript")
TOOLS = ROOT / ".gateways" / "javascript" / "node_modules"


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    """Install the tools, which say whether the types are those of today's calls."""
    command = [sys.executable, str(ROOT / "docs" / "javascript.py"), "--check"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=seconds(900))
    assert done.returncode == 0, done.stderr


def test_in_node_it_talks_to_a_service(tmp_path: Path) -> None:
    node = shutil.which("node")
    assert node, "Node must be installed, 20 or newer"
    workspace = tmp_path / "main"
    config = written(tmp_path, agents={"main": {"workspace": str(workspace)}}, port=0)
    with service(config, workspaces={"main": workspace}) as served:
        place = {"MEMORY_URL": served.url, "MEMORY_TOKEN": served.tokens["main"]}
        done = subprocess.run(
            [node, "--test", str(HERE / "client.test.js")],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, **place},
            timeout=seconds(120),
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 4" in done.stdout


def test_the_example_of_the_documentation_runs(tmp_path: Path) -> None:
    node, page = shutil.which("node"), (ROOT / "docs/service.md").read_text("utf-8")
    assert node
    (example,) = re.findall(r"```js\n(.*?)```", page, flags=re.DOTALL)
    workspace = tmp_path / "main"
    config = written(tmp_path, agents={"main": {"workspace": str(workspace)}}, port=0)
    with service(config, workspaces={"main": workspace}) as served:
        speaker = {"key": "monday", "channel": "telegram", "chat_type": "direct", "sender_id": "42"}
        body = {"id": "t1", "speaker": speaker, "user": "Remember that the bell is broken.", "reply": "OK"}
        served.answer("after_reply", body)
        served.answer("flush", {})
        example = example.replace("./integrations", str(ROOT / "integrations")).replace(
            "http://127.0.0.1:8765", served.url
        )
        path = tmp_path / "example.mjs"
        path.write_text(f"const token = {served.tokens['main']!r};\n{example}", "utf-8")
        done = subprocess.run([node, str(path)], check=False, capture_output=True, text=True, timeout=seconds(60))
    assert done.returncode == 0, done.stderr
    assert "the bell is broken" in done.stdout


def test_its_types_allow_and_refuse() -> None:
    options = "--noEmit --strict --target es2022 --module nodenext --moduleResolution nodenext --types node".split()
    command = [str(TOOLS / ".bin" / "tsc"), *options, "--typeRoots", str(TOOLS / "@types"), str(HERE / "typed.ts")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=seconds(120))
    assert done.returncode == 0, done.stdout
