"""`gateway-memory hook EVENT`, called by an editor: JSON in, JSON out, and always exit code 0."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any, Final

__all__ = ["EVENTS", "main", "workspace_of"]

EVENTS: Final = {"sessionStart": 10, "userPromptSubmit": 2, "preCompact": 5, "stop": 5, "sessionEnd": 30}
"""Each hook and the seconds that its editor allows."""
_MARGIN_SECONDS: Final = 1.0
PROMPT_SECONDS = 0.2
"""The time that a prompt waits for its memories. With the start of Python, the editor waits for less than 0.3 s."""
_LONGEST_INPUT: Final = 4_000_000
_FOLDER: Final = ".memory"


class _TimeUp(BaseException):
    """The editor's time limit is reached. Nothing may catch this on the way."""


def main(arguments: list[str]) -> int:
    """Run one hook, print valid JSON, and return 0. The workspace's log says why a hook did nothing."""
    started = time.monotonic()
    # Claude Code capitalizes the names of its events.
    event = next((name for name in EVENTS if [name.lower()] == [each.lower() for each in arguments[:1]]), "")
    workspace: Path | None = None
    answer: dict[str, Any] = {}
    problem = ""
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        seconds = PROMPT_SECONDS if event == "userPromptSubmit" else EVENTS.get(event, 5) - _MARGIN_SECONDS
        signal.setitimer(signal.ITIMER_REAL, seconds)
        options = dict(zip(arguments[1::2], arguments[2::2], strict=False))
        named = options.get("--workspace")
        workspace = _there_already(named)  # its log records unreadable input
        given = json.loads(sys.stdin.buffer.read(_LONGEST_INPUT) or b"{}")
        if not isinstance(given, dict):
            raise TypeError("the input is no JSON object")  # noqa: TRY301 - every mistake ends in the same place
        workspace = workspace_of(given, named)
        config = options.get("--config")
        if not workspace.is_dir():
            workspace.mkdir(parents=True, exist_ok=True)
            if workspace.name == _FOLDER:  # in a project: keep the memory out of version control
                (workspace / ".gitignore").write_text("*\n", "utf-8")
        answer = _run(event, given, workspace, Path(config) if config else None)
    except BaseException as error:  # noqa: BLE001 - an editor must never fail because of a hook
        problem = _described(error)
    for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _note(workspace, event, problem, time.monotonic() - started)
    try:
        sys.stdout.write(json.dumps(answer, ensure_ascii=True) + "\n")
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def workspace_of(given: dict[str, Any], named: str | None) -> Path:
    """Return the workspace of a hook: the named one, or `.memory` in the project's folder."""
    named = named or os.environ.get("GATEWAY_MEMORY_WORKSPACE")
    if named:
        return Path(named).expanduser().absolute()
    roots = given.get("workspace_roots")
    # Claude Code's cwd follows its agent into subfolders; the project's folder is in the environment.
    root = roots[0] if isinstance(roots, list) and roots else os.environ.get("CLAUDE_PROJECT_DIR") or given.get("cwd")
    folder = Path(str(root)) if root else Path.cwd()
    if not folder.is_dir():
        raise FileNotFoundError("the project's folder is not there")
    return folder / _FOLDER


def _there_already(named: str | None) -> Path | None:
    try:
        found = workspace_of({}, named)
    except OSError:
        return None
    return found if found.is_dir() else None


def _interrupt(number: int, _: FrameType | None) -> None:
    raise _TimeUp(signal.Signals(number).name)


def _run(event: str, given: dict[str, Any], workspace: Path, config: Path | None) -> dict[str, Any]:
    session_id = str(given.get("conversation_id") or given.get("session_id") or "")[:200]
    if not session_id.isprintable():  # an unprintable id is ignored; lone surrogates could not even be stored
        session_id = ""
    claude = "hook_event_name" in given and "conversation_id" not in given
    if event == "sessionStart":
        from extractor import is_mostly_chinese
        from gateway_memory.hooks.start import opening
        from gateway_memory.sessions.prompts import Prompts

        text, held = opening(workspace, config, time.time())
        # A conversation that is resumed holds what it was told before.
        _register(workspace, session_id, held, anew=given.get("source") != "resume")
        if session_id:  # the first layer: its agent must know that it can search and save
            prompts = Prompts(workspace=str(workspace), config=str(config.absolute()) if config else "")
            told = "".join(line for line in text.splitlines() if line.startswith("- "))
            tools = prompts.tools(session_id, chinese=is_mostly_chinese(told))
            text = f"{text}\n\n{tools}" if text else tools
        output = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}
        return output if claude else {"additional_context": text}
    if event not in EVENTS or not session_id:
        raise ValueError("there is no such hook, or no session")
    if event == "userPromptSubmit":
        from gateway_memory.hooks.prompt import relevant

        text = relevant(workspace, session_id, given.get("prompt"), config, time.time())
        if not claude:
            return {"continue": True, "additional_context": text} if text else {"continue": True}
        output = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}}
        return output if text else {}
    from gateway_memory.hooks import later

    if event == "preCompact":
        prompt = later.before_compaction(workspace, session_id, given, config)
        # Claude Code accepts no message here. What it compacts is in the transcript, which was just read.
        return {"user_message": prompt} if prompt and not claude else {}
    if event == "stop":
        status = "completed" if claude else given.get("status", "")
        prompt = later.followup(workspace, session_id, given, config, status=status)
        asked = {"decision": "block", "reason": prompt} if claude else {"followup_message": prompt}
        return asked if prompt else {}
    later.end(workspace, session_id, given, config)
    return {}


def _register(workspace: Path, session_id: str, held: list[tuple[str, str]], *, anew: bool) -> None:
    """Register the session, and what its opening holds. If the journal fails, the hook still returns the opening."""
    if not session_id:
        return
    from gateway_memory.errors import StoreError
    from gateway_memory.hooks.state import register
    from gateway_memory.store.journal.in_place import JournalInPlace

    try:
        with JournalInPlace.open(workspace) as journal:
            register(journal, session_id, time.time(), lives=True)
            journal.show(session_id, held, anew=anew)
    except (StoreError, OSError) as error:
        _note(workspace, "sessionStart", _described(error), 0.0)


def _described(error: BaseException) -> str:
    """Return the kind and place of an error's first cause. Its text may contain messages."""
    while error.__cause__ is not None:
        error = error.__cause__
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__}{place}"


def _note(workspace: Path | None, event: str, problem: str, seconds: float) -> None:
    """Record when a hook ran, and log why one did nothing. If neither can be written, do nothing."""
    if workspace is None:
        return
    try:
        if event and seconds:
            ran = workspace / ".gateway-memory" / "hooks"
            ran.mkdir(parents=True, exist_ok=True)
            (ran / event).touch()
        if problem:
            logs = workspace / "logs"
            logs.mkdir(exist_ok=True)
            now = time.time()
            row = {
                "event": "hook.failed",
                "hook": event,
                "error": problem,
                "seconds": round(seconds, 3),
                "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
            }
            day = time.strftime("%Y-%m-%d", time.localtime(now))
            with (logs / f"hooks-{day}.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
    except OSError:
        return
