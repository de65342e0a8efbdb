"""What a hook gets from its editor, how it responds, and what an editor's file says of our hooks."""

import contextlib
import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from gateway_memory.errors import UsageError
from gateway_memory.ground.texts import json_of
from gateway_memory.hooks.hook import EVENTS

if TYPE_CHECKING:
    from gateway_memory.scope import Scope

Editor = Literal["cursor", "claude-code"]
FILES: Final[dict[Editor, str]] = {"cursor": ".cursor/hooks.json", "claude-code": ".claude/settings.json"}
"""Each editor's file, in a project or in the home folder."""
_Respond = Callable[[str], dict[str, Any]]


def _context(event: str) -> _Respond:
    return lambda text: {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


_RESPONSES: Final[dict[Editor, dict[str, tuple[_Respond, dict[str, Any]]]]] = {
    "cursor": {
        "sessionStart": (lambda text: {"additional_context": text}, {"additional_context": ""}),
        "userPromptSubmit": (lambda text: {"continue": True, "additional_context": text}, {"continue": True}),
        "preCompact": (lambda text: {"user_message": text}, {}),
        "stop": (lambda text: {"followup_message": text}, {}),
    },
    "claude-code": {  # it takes no text before a compaction: what it compacts is in the transcript, which was just read
        "sessionStart": (_context("SessionStart"), _context("SessionStart")("")),
        "userPromptSubmit": (_context("UserPromptSubmit"), {}),
        "stop": (lambda text: {"decision": "block", "reason": text}, {}),
    },
}
"""The JSON by which an editor takes a text at an event, and what it gets where there is none."""
OURS: Final = re.compile(
    rf"(?:(?:^|[/\s'\"])gateway-memory['\"]?|-m gateway_memory(?:\.cli)?\.entry) hook ({'|'.join(EVENTS)})\b"
)
"""The command of our installations, in the current form or in an earlier one without a path; group 1 is the event."""
MEMORY_FOLDER: Final = ".memory"
_REMOTE: Final = re.compile(r'^\[remote "origin"\][^\[]*?^\s*url\s*=\s*\S*?([^/:\s]+?)(?:\.git)?/?\s*$', re.MULTILINE)
"""Group 1 is the name of the repository at the end of its address."""
_LONGEST_SECONDS: Final = 600


def workspace_of(given: Mapping[str, Any], named: str | None) -> Path:
    """Return the workspace of a hook: the named one, or `.memory` in the project's folder.

    given: the input of the hook.

    Raises:
        FileNotFoundError: the project's folder is not there.
    """
    named = named or os.environ.get("GATEWAY_MEMORY_WORKSPACE")
    if named:
        return Path(named).expanduser().absolute()
    folder = project_of(given)
    if not folder.is_dir():
        raise FileNotFoundError("the project's folder is not there")
    return folder / MEMORY_FOLDER


def project_of(given: Mapping[str, Any]) -> Path:
    """Return the project's folder by the input of a hook."""
    roots = given.get("workspace_roots")
    # Claude Code's cwd follows its agent into subfolders; the project's folder is in the environment.
    root = roots[0] if isinstance(roots, list) and roots else os.environ.get("CLAUDE_PROJECT_DIR") or given.get("cwd")
    return Path(str(root)) if root else Path.cwd()


def joined_in(given: Mapping[str, Any], workspace: Path) -> "Scope | None":
    """Return the project that a hook's session has joined: the repository, unless the workspace is in it.

    given: the input of the hook.
    """
    folder = project_of(given).expanduser().absolute()
    if workspace.is_relative_to(folder):
        return None
    from gateway_memory.scope import KINDS, Scope, is_name  # most hooks have a workspace of the project's own

    name = _repository_of(folder)
    return Scope.of(KINDS["project"], name) if is_name(name) else None


def _repository_of(folder: Path) -> str:
    """Return the name of the repository in which a folder is, by its remote or its own folder; "" if it is in none."""
    root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
    if root is None:
        return ""
    with contextlib.suppress(OSError, ValueError):
        state = root / ".git"
        if state.is_file():  # a worktree: its repository has the config
            named = root / state.read_text("utf-8").partition(":")[2].strip()
            state = named.resolve().parents[1]  # of .git/worktrees/NAME
        remote = _REMOTE.search((state / "config").read_text("utf-8", "replace"))
        return remote[1] if remote else state.parent.name
    return root.name


def response_of(editor: Editor, event: str, text: str) -> tuple[dict[str, Any], bool]:
    """Return the response to a hook in the form of its editor, and whether it holds the text."""
    respond, empty = _RESPONSES[editor].get(event, (None, {}))
    return (respond(text), True) if respond and text else (empty, False)


def limit_of(editor: Editor, event: str, project: Path) -> float:
    """Return the seconds that an editor allows a hook of ours: the number in the project's file, or in that of all."""
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() raises where there is none
    for folder in (project, Path(home)):
        with contextlib.suppress(OSError, ValueError, RecursionError):
            document = json.loads((folder / FILES[editor]).read_text("utf-8-sig"))
            named = [seconds for command, seconds in commands_in(document) if event_in(command) == event]
            if named:
                return min(named)
    return float(EVENTS[event])


def commands_in(document: object) -> Iterator[tuple[str, float]]:
    """Yield each command of an editor's file with its seconds; ours without a number have the usual ones."""
    hooks = document.get("hooks") if isinstance(document, dict) else None
    for entries in hooks.values() if isinstance(hooks, dict) else ():
        for entry in entries if isinstance(entries, list) else ():
            inner = entry.get("hooks", [entry]) if isinstance(entry, dict) else ()
            for each in inner if isinstance(inner, list) else ():
                if isinstance(each, dict):
                    command = str(each.get("command", ""))
                    yield command, _seconds(each.get("timeout")) or EVENTS.get(event_in(command), 0)


def _seconds(number: object) -> float:
    """Return a number of an editor's file within reason, 0 for what is none."""
    if not isinstance(number, int | float) or isinstance(number, bool) or not number > 0:
        return 0.0
    return float(min(number, _LONGEST_SECONDS))


def event_in(command: str) -> str:
    """Return the event of which a command is our hook, or ""."""
    command_match = OURS.search(command)
    return command_match[1] if command_match else ""


def document_of(path: Path, content: bytes) -> Any:
    """Return the document in an editor's file; {} for an empty one.

    Raises:
        UsageError: it is no JSON.
    """
    try:
        return json_of(content.removeprefix(BOM_UTF8).strip() or b"{}")
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: this is no JSON; mend it first") from None
