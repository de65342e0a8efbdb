"""What a hook gets from its editor, how it responds, and the state that it uses, without an event loop."""

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from gateway_memory.errors import UsageError
from gateway_memory.ground.files import replace_private
from gateway_memory.ground.texts import object_of
from gateway_memory.hooks.hook import EVENTS
from gateway_memory.store.disk.workspace import STATE_FOLDER, own_config, private_folder

if TYPE_CHECKING:
    from gateway_memory.edge.prompts import Prompts
    from gateway_memory.scope import Scope
    from gateway_memory.store.journal.in_place import JournalInPlace

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


# The state of a hook: the compiled config, and the registration of its session.


class HookInput(NamedTuple):
    """What an editor's event says, and the memory that it concerns.

    given: the input of the hook. until: when the hook has to be done, by the monotonic clock.
    """

    given: Mapping[str, Any]
    workspace: Path
    session_id: str
    config: Path | None
    until: float

    @property
    def joined(self) -> "Scope | None":
        """The project that the session has joined."""
        return joined_in(self.given, self.workspace)

    @property
    def prompts(self) -> "Prompts":
        """The prompts for its agent."""
        from gateway_memory.edge.prompts import Prompts

        return Prompts(workspace=str(self.workspace), config=str(self.config.absolute()) if self.config else "")

    def settings(self) -> dict[str, Any]:
        """Return the checked settings, by their keys, read anew each time. Raises ConfigError."""
        return settings_of(self.workspace, self.config)


def hook_key(session_id: str) -> str:
    """Return the session key of an editor's session in the journal."""
    return f"hook:{session_id}"


def register(
    journal: "JournalInPlace", session_id: str, at: float, *, lives: bool, joined: "Scope | None" = None
) -> None:
    """Register an editor's session under its own id, unless it is known.

    lives: the session is active, so that it is reopened if it had ended. An editor resumes a conversation under its old
    id, and the session keeps its only record.
    joined: the project in which the editor is open.

    Raises:
        UsageError: the id is that of a gateway's session, which may belong to another person.
    """
    from gateway_memory.store.journal import opened  # most of what imports this module needs no journal

    project = joined.key if joined else ""
    with journal.transaction() as database:
        known = opened.register(database, session_id, hook_key(session_id), at, lives=lives, joined=project)
    if not known:
        raise UsageError("a session of this id is no editor's")


def settings_of(workspace: Path, config: Path | None) -> dict[str, Any]:
    """Return the checked settings of the config's defaults, by their keys; without one, what `load_config` says.

    Checking takes pydantic and half a second, so the result is cached as JSON under the file's digest.

    Raises:
        ConfigError: the config has mistakes, or can't be read.
    """
    with contextlib.suppress(OSError):
        if cached := object_of(_compiled(workspace, config).read_bytes()):
            return cached
    from gateway_memory.config.load import load_config
    from gateway_memory.edge.config_reference import render_config

    settings: dict[str, Any] = json.loads(render_config(load_config(config, own=own_config(workspace))))["agents"][
        "defaults"
    ]["memorySync"]
    compiled = _compiled(workspace, config)
    with contextlib.suppress(OSError):
        private_folder(compiled.parent)
        replace_private(compiled, json.dumps(settings).encode())
    return settings


def _compiled(workspace: Path, config: Path | None) -> Path:
    read = config or own_config(workspace)
    source = read.read_bytes() if config or read.exists() else b""
    reference = Path(__file__).parents[1] / "config" / "settings.py"  # a new version may have new defaults
    state = reference.stat()
    digest = hashlib.blake2b(source + f"{state.st_mtime_ns} {state.st_size}".encode(), digest_size=12).hexdigest()
    return workspace / STATE_FOLDER / f"config-{digest}.json"


def zone_of(settings: Mapping[str, Any]) -> tzinfo | None:
    """Return the zone in which days are counted, None for the host's. settings: the result of `settings_of`."""
    if settings["timeZone"] == "local":
        return None
    from zoneinfo import ZoneInfo

    return ZoneInfo(settings["timeZone"])
