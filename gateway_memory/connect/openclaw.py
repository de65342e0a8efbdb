"""OpenClaw: the plugin is copied into its state folder, and takes the memory slot in openclaw.json."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from gateway_memory.connect.json_edit import Edit, document_of
from gateway_memory.connect.plan import Plan, Where, advice, check_there, plugin_folder
from gateway_memory.errors import UsageError

_ID: Final = "gateway-memory"
_OWN: Final = "memory-core"
"""OpenClaw's own memory, which would give the model a second memory with tools of the same names."""
_HOOK: Final = "session-memory"
"""OpenClaw's own hook, which writes what was said into the workspace when a session ends, whoever said it."""
_PROMPTS: Final = ("MEMORY.md", "USER.md")
_WRITES: Final = re.compile(r"\b(?:MEMORY|USER)\.md\b|\bmemory/")


def plan_openclaw(where: Where, config: Path | None) -> Plan:
    """Return what connects OpenClaw."""
    state = Path(os.environ.get("OPENCLAW_STATE_DIR") or Path.home() / ".openclaw").expanduser()
    path = config or Path(os.environ.get("OPENCLAW_CONFIG_PATH") or state / "openclaw.json").expanduser()
    check_there("openclaw", path.parent)
    folder = (path.parent if config else state).absolute() / _ID / "plugin"
    entry = ("plugins", "entries", _ID)
    edit = Edit(
        path=path.absolute(),
        values={
            ("plugins", "slots", "memory"): _ID,
            (*entry, "enabled"): True,
            (*entry, "hooks", "allowConversationAccess"): True,
            (*entry, "config", "url"): where.url,
            (*entry, "config", "tokenFile"): str(where.token),
            ("plugins", "entries", _OWN, "enabled"): False,
            ("hooks", "internal", "entries", _HOOK, "enabled"): False,
        },
        owned=(entry,),
        items={("plugins", "load", "paths"): str(folder)},
        listed={("plugins", "allow"): _ID},
    )
    stays_on = [line for each in _workspaces(path, state) for line in _stays_on(each, where)]
    return Plan(
        changes=(edit,),
        copies={plugin_folder("openclaw"): folder},
        advice=(*advice("openclaw", memory=_OWN, hook=_HOOK), *stays_on),
    )


def _workspaces(path: Path, state: Path) -> list[Path]:
    """Return the workspaces of OpenClaw's agents that are there."""
    agents: Any = {}
    with suppress(UsageError):
        agents = document_of(path).get("agents")
    agents = agents if isinstance(agents, dict) else {}
    entries, listed = agents.get("entries"), agents.get("list")
    each = [agents.get("defaults"), *(entries.values() if isinstance(entries, dict) else ())]
    each += listed if isinstance(listed, list) else []
    named = [one["workspace"] for one in each if isinstance(one, dict) and isinstance(one.get("workspace"), str)]
    usual = [*state.glob("workspace"), *state.glob("workspace-*"), *path.parent.glob("workspace")]
    folders = [*(Path(name).expanduser() for name in named), *usual]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def _stays_on(folder: Path, where: Where) -> Iterator[str]:
    """Yield a warning for each file that OpenClaw itself goes on injecting or writing, whatever the plugin does."""
    prompts = [name for name in _PROMPTS if (folder / name).is_file()]
    prompts += [f"users/{file.parent.name}/{file.name}" for file in sorted(folder.glob("users/*/USER.md"))]
    notes = len(list(folder.glob("memory/*.md")))
    if prompts:
        yield from advice("openclaw_prompts", folder=folder, files=", ".join(prompts))
    if notes:
        yield from advice("openclaw_notes", folder=folder, number=notes)
    if prompts or notes:
        yield from advice("openclaw_import", folder=folder, workspace=where.workspace)
    with suppress(OSError):
        if _WRITES.search((folder / "AGENTS.md").read_text("utf-8", "replace")):
            yield from advice("openclaw_agents", folder=folder)
