"""Do what an editor's event asks for, and respond in the form of that editor."""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway_memory.ground.texts import json_of
from gateway_memory.hooks.editors import MEMORY_FOLDER, Editor, limit_of, project_of, response_of, workspace_of
from gateway_memory.hooks.hook import EVENTS
from gateway_memory.hooks.state import HookInput
from gateway_memory.store.disk.workspace import private_folder

if TYPE_CHECKING:
    from gateway_memory.hooks.hook import Hook

_LONGEST_INPUT: Final = 4_000_000


def answer(hook: "Hook") -> str:
    """Return the JSON that answers a hook, and set what else it learns of the run.

    Raises:
        Exception: anything. The run then ends with the answer that the hook has.
    """
    config = hook.options.get("--config")
    given = json_of(sys.stdin.buffer.read(_LONGEST_INPUT) or b"{}")
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
    session_id = str(given.get("conversation_id") or given.get("session_id") or "")[:200]
    if not session_id.isprintable():  # an unprintable id is ignored; lone surrogates could not even be stored
        session_id = ""
    event = HookInput(given, workspace, session_id, Path(config) if config else None, hook.until)
    response, hook.answered = response_of(editor, hook.event, _text(hook, event, editor))
    return json.dumps(response, ensure_ascii=True)


def _text(hook: "Hook", event: HookInput, editor: Editor) -> str:
    """Do what an event asks for, and return the text for the editor's session, "" for none."""
    if hook.event == "sessionStart":
        return _start(hook, event)
    if hook.event not in EVENTS or not event.session_id:
        raise ValueError("there is no such hook, or no session")
    if hook.event == "userPromptSubmit":
        from gateway_memory.hooks.prompt import relevant

        return relevant(event, time.time())
    from gateway_memory.hooks import later

    if hook.event == "preCompact":
        return later.before_compaction(event)
    if hook.event == "stop":
        return later.followup(event, "completed" if editor == "claude-code" else event.given.get("status", ""))
    later.end_session(event)
    return ""


def _start(hook: "Hook", event: HookInput) -> str:
    """Return the opening of a session, and register the session with what it holds."""
    from extractor import is_mostly_chinese
    from gateway_memory.errors import StoreError
    from gateway_memory.hooks.start import opening
    from gateway_memory.hooks.state import register
    from gateway_memory.store.journal.in_place import JournalInPlace

    now, joined = time.time(), event.joined
    text, injected = opening(event.workspace, event.session_id, event.config, now, joined)
    if not event.session_id:
        return text
    try:
        with JournalInPlace.open(event.workspace) as journal:
            register(journal, event.session_id, now, lives=True, joined=joined)
            # A conversation that is resumed has its earlier context still.
            journal.add_injected(event.session_id, injected, anew=event.given.get("source") != "resume")
    except (StoreError, OSError) as error:  # the opening is given all the same
        hook.problem = error
    # The first layer: its agent must know that it can search and save.
    memories = "".join(line for line in text.splitlines() if line.startswith("- "))
    tools = event.prompts.tools(event.session_id, chinese=is_mostly_chinese(memories))
    return f"{text}\n\n{tools}" if text else tools
