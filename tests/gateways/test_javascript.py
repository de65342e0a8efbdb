"""The client in JavaScript: its types are those of the service, and in Node it talks to a real one."""

import os
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


def test_its_types_allow_and_refuse() -> None:
    options = "--noEmit --strict --target es2022 --module nodenext --moduleResolution nodenext --types node".split()
    command = [str(TOOLS / ".bin" / "tsc"), *options, "--typeRoots", str(TOOLS / "@types"), str(HERE / "typed.ts")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=seconds(120))
    assert done.returncode == 0, done.stdout
