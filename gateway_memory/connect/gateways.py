"""The gateways that can be connected: what each needs in its config, where its plugin goes, and what to do then."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gateway_memory.connect.files import Block, Change, Edit, document_of
from gateway_memory.edge.phrases import fill


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where the memory is.

    url, token: the service's http://…, https://… or unix:/path, and the file with its host token. workspace, config:
    the folder and the config of a memory that the gateway opens itself.
    """

    url: str
    token: Path
    workspace: Path = Path()
    config: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What connecting changes.

    changes: those of its files. copies: folders of ours, and where the gateway finds them. in_process: whether the
    gateway opens the memory itself, without a service. advice: what to do and to know afterwards, a line each.
    """

    changes: tuple[Change, ...]
    copies: dict[Path, Path] = field(default_factory=dict)
    in_process: bool = False
    advice: tuple[str, ...] = ()


def _lines(name: str, **values: object) -> list[str]:
    return fill("connect", name, **values).split("\n")


def _check_there(host: str, folder: Path) -> None:
    if not folder.is_dir():
        raise ValueError(*_lines("not_there", folder=folder, first=fill("connect", f"{host}_first")))


def _settings_beside(path: Path, where: Where) -> Edit:
    """Return the settings of a plugin that opens the memory itself, in a file beside the gateway's config."""
    settings: dict[tuple[str, ...], str] = {("workspace",): str(where.workspace)}
    if where.config:
        settings[("config",)] = str(where.config)
    return Edit(path=path.with_name("gateway-memory.json").absolute(), values=settings, owned=(("config",),))


# Hermes: the plugin is copied into its plugins folder, and settings stand beside Hermes' config.


def _hermes(where: Where, config: Path | None) -> Plan:
    home = Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes").expanduser()
    path = (config or home / "config.yaml").absolute()
    _check_there("hermes", path.parent)
    values = {"provider": "gateway-memory", "memory_enabled": "false", "user_profile_enabled": "false"}
    return Plan(
        changes=(_settings_beside(path, where), Block(path=path, name="memory", values=values)),
        copies={plugin_folder("hermes"): path.parent / "plugins" / "gateway-memory"},
        in_process=True,
        advice=tuple(_lines("hermes")),
    )


# nanobot: its plugin comes with gateway-memory, and works once a settings file stands beside nanobot's config.


def _nanobot(where: Where, config: Path | None) -> Plan:
    path = config or Path.home() / ".nanobot" / "config.json"
    _check_there("nanobot", path.parent)
    advice = [*_lines("nanobot"), *([] if _is_dream_off(path) else _lines("nanobot_dream"))]
    return Plan(changes=(_settings_beside(path, where),), in_process=True, advice=tuple(advice))


def _is_dream_off(path: Path) -> bool:
    """Return whether nanobot's own memory is switched off in its config."""
    try:
        config = json.loads(path.read_text("utf-8"))
        return config["agents"]["defaults"]["dream"]["enabled"] is False
    except (OSError, ValueError, LookupError, TypeError):
        return False


# OpenClaw: the plugin is copied into its state folder, and takes the memory slot in openclaw.json.

_ID: Final = "gateway-memory"
_OWN: Final = "memory-core"
"""OpenClaw's own memory, which would give the model a second memory with tools of the same names."""
_HOOK: Final = "session-memory"
"""OpenClaw's own hook, which writes what was said into the workspace when a session ends, whoever said it."""
_PROMPTS: Final = ("MEMORY.md", "USER.md")
_WRITES: Final = re.compile(r"\b(?:MEMORY|USER)\.md\b|\bmemory/")


def _openclaw(where: Where, config: Path | None) -> Plan:
    state = Path(os.environ.get("OPENCLAW_STATE_DIR") or Path.home() / ".openclaw").expanduser()
    path = config or Path(os.environ.get("OPENCLAW_CONFIG_PATH") or state / "openclaw.json").expanduser()
    _check_there("openclaw", path.parent)
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
        advice=(*_lines("openclaw", memory=_OWN, hook=_HOOK), *stays_on),
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
    folders = [*(Path(name).expanduser() for name in named), *usual]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def _stays_on(folder: Path, where: Where) -> Iterator[str]:
    """Yield a warning for each file that OpenClaw itself goes on injecting or writing, whatever the plugin does."""
    prompts = [name for name in _PROMPTS if (folder / name).is_file()]
    prompts += [f"users/{file.parent.name}/{file.name}" for file in sorted(folder.glob("users/*/USER.md"))]
    notes = len(list(folder.glob("memory/*.md")))
    if prompts:
        yield from _lines("openclaw_prompts", folder=folder, files=", ".join(prompts))
    if notes:
        yield from _lines("openclaw_notes", folder=folder, number=notes)
    if prompts or notes:
        yield from _lines("openclaw_import", folder=folder, workspace=where.workspace)
    with suppress(OSError):
        if _WRITES.search((folder / "AGENTS.md").read_text("utf-8", "replace")):
            yield from _lines("openclaw_agents", folder=folder)


GATEWAYS: Final[Mapping[str, Callable[[Where, Path | None], Plan]]] = {
    "hermes": _hermes,
    "nanobot": _nanobot,
    "openclaw": _openclaw,
}
"""What returns the plan of each gateway, given its config, or None for the usual place. It raises ValueError where the
gateway is not there."""


def plugin_folder(host: str) -> Path:
    """Return the folder of a gateway's plugin: in the installed package, or in the checkout."""
    package = Path(__file__).parents[1]
    inside, in_checkout = package / "connect/plugins" / host, package.parent / "integrations" / host
    return inside if inside.is_dir() else in_checkout
