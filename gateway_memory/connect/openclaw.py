"""OpenClaw: the plugin is copied into its state folder, and takes the memory slot in openclaw.json."""

import os
from pathlib import Path
from typing import Final

from gateway_memory.connect.files import Edit
from gateway_memory.connect.host import Plan, Where

__all__ = ["plan", "plugin_folder"]

_ID: Final = "gateway-memory"
_OWN: Final = "memory-core"
"""OpenClaw's own memory, which would give the model a second memory with tools of the same names."""


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
    }
    edit = Edit(
        path=path.absolute(),
        values=values,
        owned=(entry,),
        items={("plugins", "load", "paths"): str(folder)},
        listed={("plugins", "allow"): _ID},
    )
    return Plan(
        edit=edit,
        copies={plugin_folder(): folder},
        told=(
            "Start OpenClaw again (openclaw gateway restart).",
            "Nobody is the owner by default: agents.defaults.memorySync.identity in the service's config says who is.",
            f"Its own memory ({_OWN}) is off, so that nothing is kept or told twice; `disconnect` switches it on.",
        ),
    )


def plugin_folder() -> Path:
    """Return the plugin's folder: in the installed package, or in the checkout."""
    package = Path(__file__).parents[1]
    inside, in_checkout = package / "connect/plugins/openclaw", package.parent / "integrations/openclaw"
    return inside if inside.is_dir() else in_checkout
