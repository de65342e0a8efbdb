"""The gateways that can be connected: what each needs in its config, where its plugin goes, and what to do then."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from gateway_memory.connect.openclaw import plan_openclaw
from gateway_memory.connect.plan import Plan, Where, advice, check_there, plugin_folder, settings_beside
from gateway_memory.connect.yaml_block import Block


def _hermes(where: Where, config: Path | None) -> Plan:
    home = Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes").expanduser()
    path = (config or home / "config.yaml").absolute()
    check_there("hermes", path.parent)
    values = {"provider": "gateway-memory", "memory_enabled": "false", "user_profile_enabled": "false"}
    return Plan(
        changes=(settings_beside(path, where), Block(path=path, name="memory", values=values)),
        copies={plugin_folder("hermes"): path.parent / "plugins" / "gateway-memory"},
        in_process=True,
        advice=tuple(advice("hermes")),
    )


def _nanobot(where: Where, config: Path | None) -> Plan:
    path = config or Path.home() / ".nanobot" / "config.json"
    check_there("nanobot", path.parent)
    lines = [*advice("nanobot"), *([] if _is_dream_off(path) else advice("nanobot_dream"))]
    return Plan(changes=(settings_beside(path, where),), in_process=True, advice=tuple(lines))


def _is_dream_off(path: Path) -> bool:
    """Return whether nanobot's own memory is switched off in its config."""
    try:
        config = json.loads(path.read_text("utf-8"))
        return config["agents"]["defaults"]["dream"]["enabled"] is False
    except (OSError, ValueError, LookupError, TypeError):
        return False


GATEWAYS: Final[Mapping[str, Callable[[Where, Path | None], Plan]]] = {
    "hermes": _hermes,
    "nanobot": _nanobot,
    "openclaw": plan_openclaw,
}
"""What returns the plan of each gateway, given its config, or None for the usual place. It raises UsageError where the
gateway is not there."""
