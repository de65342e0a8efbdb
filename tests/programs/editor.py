"""Runs our commands as an editor does: processes of their own, JSON in and out."""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from patience import seconds

from gateway_memory.hooks.editors import FILES
from gateway_memory.hooks.hook import EVENTS
from gateway_memory.hooks.state import settings_of
from gateway_memory.store.summaries import read_records

__all__ = [
    "WORDS_ALONE", "WORTH", "command", "compiled", "environment", "hook", "patient", "records", "run", "transcript",
]  # fmt: skip

WORDS_ALONE = str(Path(__file__).parents[1] / "data" / "words.json5")
"""A config by which no process loads the encoder."""
WORTH = "请把登录接口改成用 JWT 认证，旧的会话先保留两周，然后通知前端同事"
_HOOK_SECONDS = 30.0


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gateway_memory.cli.entry", *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def patient() -> dict[str, str]:
    """The environment of a person whose editors' files let each hook run long, as they need it on a busy machine."""
    return {**environment(), "HOME": _patient_home()}


@cache
def _patient_home() -> str:
    home = Path(tempfile.mkdtemp(prefix="gateway-memory-home-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    entries = {
        event: [{"command": f"gateway-memory hook {event}", "timeout": seconds(_HOOK_SECONDS)}] for event in EVENTS
    }
    for file in FILES.values():
        (home / file).parent.mkdir()
        (home / file).write_text(json.dumps({"hooks": entries}), "utf-8")
    return str(home)


def run(*arguments: str, given: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(*arguments),
        input=given,
        capture_output=True,
        check=False,
        cwd=cwd,
        env=patient() if arguments[:1] == ("hook",) else environment(),
        timeout=seconds(60),
    )


def hook(event: str, workspace: Path, **given: Any) -> dict[str, Any]:
    given = {"conversation_id": "conv-1", "workspace_roots": [str(workspace.parent)], **given}
    place = ("--workspace", str(workspace), "--config", WORDS_ALONE)
    done = run("hook", event, *place, given=json.dumps(given).encode())
    assert done.returncode == 0
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def compiled(workspace: Path) -> Path:
    """Make a workspace in which an earlier hook has compiled the config: that takes most of a hook's time."""
    workspace.mkdir(parents=True, exist_ok=True)
    settings_of(workspace, Path(WORDS_ALONE))
    return workspace


def transcript(path: Path, *messages: tuple[str, Any]) -> str:
    with path.open("a", encoding="utf-8") as stream:
        for role, content in messages:
            stream.write(json.dumps({"type": role, "message": {"role": role, "content": content}}) + "\n")
    return str(path)


def records(workspace: Path) -> list[dict[str, Any]]:
    found, damaged = read_records(workspace / "sessions.jsonl")
    assert damaged == []
    return found
