"""Runs our commands as an editor does: processes of their own, JSON in and out."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from gateway_memory.store.summaries import read_records

__all__ = ["WORDS_ALONE", "WORTH", "command", "environment", "hook", "prompted", "records", "run", "transcript"]

WORDS_ALONE = str(Path(__file__).parents[1] / "data" / "words.json5")
"""A config by which no process loads the encoder."""
WORTH = "请把登录接口改成用 JWT 认证，旧的会话先保留两周，然后通知前端同事"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gateway_memory.cli.entry", *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def run(*arguments: str, given: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(*arguments), input=given, capture_output=True, check=False, cwd=cwd, env=environment(), timeout=60
    )


def hook(event: str, workspace: Path, **given: Any) -> dict[str, Any]:
    given = {"conversation_id": "conv-1", "workspace_roots": [str(workspace.parent)], **given}
    place = ("--workspace", str(workspace), "--config", WORDS_ALONE)
    done = run("hook", event, *place, given=json.dumps(given).encode())
    assert done.returncode == 0
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def prompted(workspace: Path, **given: Any) -> dict[str, Any]:
    """Run the hook that a prompt waits for, however busy this machine is."""
    code = (
        "import sys; from gateway_memory.hooks import run; run.PROMPT_SECONDS = 30.0; "
        f"run.main(['UserPromptSubmit', '--workspace', {str(workspace)!r}, '--config', {WORDS_ALONE!r}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(given).encode(),
        capture_output=True,
        check=True,
        env=environment(),
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def transcript(path: Path, *messages: tuple[str, Any]) -> str:
    with path.open("a", encoding="utf-8") as stream:
        for role, content in messages:
            stream.write(json.dumps({"type": role, "message": {"role": role, "content": content}}) + "\n")
    return str(path)


def records(workspace: Path) -> list[dict[str, Any]]:
    found, damaged = read_records(workspace / "sessions.jsonl")
    assert damaged == []
    return found
