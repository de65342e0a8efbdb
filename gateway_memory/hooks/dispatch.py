"""Do what an editor's event asks for, and respond in the form of that editor."""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gateway_memory.hooks.editors import (
    MEMORY_FOLDER,
    Editor,
    joined_in,
    limit_of,
    project_of,
    response_of,
    workspace_of,
)
from gateway_memory.hooks.hook import EVENTS
from gateway_memory.store.disk.workspace import private_folder

if TYPE_CHECKING:
    from gateway_memory.hooks.hook import Hook
    from gateway_memory.scope import Scope

_LONGEST_INPUT: Final = 4_000_000


def answer(hook: "Hook") -> str:
    """Return the JSON that answers a hook, and set what else it learns of the run.

    Raises:
        Exception: anything. The run then ends with the answer that the hook has.
    """
    config = hook.options.get("--config")
    given = json.loads(sys.stdin.buffer.read(_LONGEST_INPUT) or b"{}")
    if not isinstance(given, dict):
        raise TypeError("the input is no JSON object")
    editor: Editor = "claude-code" if "hook_event_name" in given and "conversation_id" not in given else "cursor"
    if editor == "claude-code":
        hook.answer = "{}"
    if hook.event:
        hook.allow(limit_of(editor, hook.event, project_of(given)))
    workspace = hook.workspace = workspace_of(given, hook.options.get("--workspace"))
    if not workspace.is_dir():
        private_folder(workspace)
        if workspace.name == MEMORY_FOLDER:  # in a project: keep the memory out of version control
            (workspace / ".gitignore").write_text("*\n", "utf-8")
    text = _text(hook, given, workspace, Path(config) if config else None, editor)
    response, hook.answered = response_of(editor, hook.event, text)
    return json.dumps(response, ensure_ascii=True)


def _text(hook: "Hook", given: dict[str, Any], workspace: Path, config: Path | None, editor: Editor) -> str:
    """Do what an event asks for, and return the text for the editor's session, "" for none."""
    event, session_id = hook.event, str(given.get("conversation_id") or given.get("session_id") or "")[:200]
    if not session_id.isprintable():  # an unprintable id is ignored; lone surrogates could not even be stored
        session_id = ""
    if event == "sessionStart":
        return _start(hook, session_id, given, workspace, config)
    if event not in EVENTS or not session_id:
        raise ValueError("there is no such hook, or no session")
    if event == "userPromptSubmit":
        from gateway_memory.hooks.prompt import relevant

        joined, prompt = joined_in(given, workspace), given.get("prompt")
        return relevant(workspace, session_id, prompt, config, time.time(), until=hook.until, joined=joined)
    from gateway_memory.hooks import later

    if event == "preCompact":
        return later.before_compaction(workspace, session_id, given, config, until=hook.until)
    if event == "stop":
        status = "completed" if editor == "claude-code" else given.get("status", "")
        return later.followup(workspace, session_id, given, config, status=status, until=hook.until)
    later.end(workspace, session_id, given, config, until=hook.until)
    return ""


def _start(hook: "Hook", session_id: str, given: dict[str, Any], workspace: Path, config: Path | None) -> str:
    """Return the opening of a session."""
    from extractor import is_mostly_chinese
    from gateway_memory.edge.prompts import Prompts
    from gateway_memory.hooks.start import opening

    joined = joined_in(given, workspace)
    text, injected = opening(workspace, session_id, config, time.time(), joined)
    if not session_id:
        return text
    # A conversation that is resumed has its earlier context still.
    _register(hook, workspace, session_id, injected, joined, anew=given.get("source") != "resume")
    # The first layer: its agent must know that it can search and save.
    prompts = Prompts(workspace=str(workspace), config=str(config.absolute()) if config else "")
    memories = "".join(line for line in text.splitlines() if line.startswith("- "))
    tools = prompts.tools(session_id, chinese=is_mostly_chinese(memories))
    return f"{text}\n\n{tools}" if text else tools


def _register(
    hook: "Hook",
    workspace: Path,
    session_id: str,
    injected: list[tuple[str, str]],
    joined: "Scope | None",
    *,
    anew: bool,
) -> None:
    """Register the session, and what its opening holds. If the journal fails, the opening is still given."""
    from gateway_memory.errors import StoreError
    from gateway_memory.hooks.state import register
    from gateway_memory.store.journal.in_place import JournalInPlace

    try:
        with JournalInPlace.open(workspace) as journal:
            register(journal, session_id, time.time(), lives=True, joined=joined)
            journal.add_injected(session_id, injected, anew=anew)
    except (StoreError, OSError) as error:
        hook.problem = error
