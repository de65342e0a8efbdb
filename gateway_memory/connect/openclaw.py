"""OpenClaw: the plugin is copied into its state folder, and takes the memory slot in openclaw.json."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from gateway_memory.connect.files import Edit, Plan, Where, document_of, plugin_folder

__all__ = ["plan"]

_ID: Final = "gateway-memory"
_OWN: Final = "memory-core"
"""OpenClaw's own memory, which would give the model a second memory with tools of the same names."""
_HOOK: Final = "session-memory"
"""OpenClaw's own hook, which writes what was said into the workspace when a session ends, whoever said it."""
_PROMPTS: Final = ("MEMORY.md", "USER.md")
_WRITES: Final = re.compile(r"\b(?:MEMORY|USER)\.md\b|\bmemory/")


def plan(where: Where, config: Path | None) -> Plan:
    """Return what connecting OpenClaw changes. config: its openclaw.json, or None for its usual place.

    Raises:
        ValueError: there is no OpenClaw.
    """
    state = Path(os.environ.get("OPENCLAW_STATE_DIR") or Path.home() / ".openclaw").expanduser()
    path = config or Path(os.environ.get("OPENCLAW_CONFIG_PATH") or state / "openclaw.json").expanduser()
    if not path.parent.is_dir():
        raise ValueError(f"{path.parent}: there is no such folder; set OpenClaw up first, or name its config by --file")
    folder = (path.parent if config else state).absolute() / _ID / "plugin"
    entry = ("plugins", "entries", _ID)
    values = {
        ("plugins", "slots", "memory"): _ID,
        (*entry, "enabled"): True,
        (*entry, "hooks", "allowConversationAccess"): True,
        (*entry, "config", "url"): where.url,
        (*entry, "config", "tokenFile"): str(where.token),
        ("plugins", "entries", _OWN, "enabled"): False,
        ("hooks", "internal", "entries", _HOOK, "enabled"): False,
    }
    edit = Edit(
        path=path.absolute(),
        values=values,
        owned=(entry,),
        items={("plugins", "load", "paths"): str(folder)},
        listed={("plugins", "allow"): _ID},
    )
    return Plan(
        changes=(edit,),
        copies={plugin_folder("openclaw"): folder},
        advice=(
            "Start OpenClaw again (openclaw gateway restart).",
            "Nobody is the owner by default: agents.defaults.memorySync.identity in the service's config says who is.",
            f"Its own memory ({_OWN}) and its hook {_HOOK} are off; `disconnect` gives both their former setting.",
            *_stays_on(_workspaces(path, state), where),
        ),
    )


def _workspaces(path: Path, state: Path) -> list[Path]:
    """Return the workspaces of OpenClaw's agents that are there."""
    agents: Any = {}
    with suppress(ValueError):
        agents = document_of(path).get("agents")
    agents = agents if isinstance(agents, dict) else {}
    entries, listed = agents.get("entries"), agents.get("list")
    each = [agents.get("defaults"), *(entries.values() if isinstance(entries, dict) else ())]
    each += listed if isinstance(listed, list) else []
    named = [one["workspace"] for one in each if isinstance(one, dict) and isinstance(one.get("workspace"), str)]
    usual = [*state.glob("workspace"), *state.glob("workspace-*"), *path.parent.glob("workspace")]
    found = [*(Path(name).expanduser() for name in named), *usual]
    return [folder for folder in dict.fromkeys(found) if folder.is_dir()]


def _stays_on(workspaces: list[Path], where: Where) -> Iterator[str]:
    """Yield what OpenClaw goes on telling and writing in its workspaces, which no plugin can switch off."""
    for folder in workspaces:
        prompts = [name for name in _PROMPTS if (folder / name).is_file()]
        prompts += [f"users/{file.parent.name}/{file.name}" for file in sorted(folder.glob("users/*/USER.md"))]
        notes = len(list(folder.glob("memory/*.md")))
        if prompts:
            yield f"{folder}: OpenClaw tells {', '.join(prompts)} to whoever writes, strangers too."
        if notes:
            yield f"{folder}: the {notes} files in memory/ can be read by the model in every chat."
        if prompts or notes:
            yield "Take over what they hold, and then move them away:"
            yield f"  gateway-memory import openclaw {folder} --workspace {where.workspace}"
        with suppress(OSError):
            if _WRITES.search((folder / "AGENTS.md").read_text("utf-8", "replace")):
                yield f"{folder}: AGENTS.md tells the model to keep such files. Delete its part about memory."
