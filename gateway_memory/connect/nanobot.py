"""nanobot: its plugin comes with gateway-memory, and works once a settings file stands beside nanobot's config."""

import json
from pathlib import Path
from typing import Final

from gateway_memory.connect.files import Edit, Plan, Where

__all__ = ["plan"]

_DREAM: Final = (
    'Switch off nanobot\'s own memory in its config: "agents": {"defaults": {"dream": {"enabled": false}}}',
    "It writes what anybody said, in any chat, into one file that it tells everybody.",
)


def plan(where: Where, config: Path | None) -> Plan:
    """Return what connecting nanobot changes. config: its config.json, or None for its usual place.

    Raises:
        ValueError: there is no nanobot.
    """
    path = config or Path.home() / ".nanobot" / "config.json"
    if not path.parent.is_dir():
        raise ValueError(f"{path.parent}: there is no such folder; run `nanobot onboard` first, or name it by --file")
    settings: dict[tuple[str, ...], str] = {("workspace",): str(where.workspace)}
    if where.config:
        settings[("config",)] = str(where.config)
    return Plan(
        changes=(Edit(path=path.with_name("gateway-memory.json").absolute(), values=settings, owned=(("config",),)),),
        in_process=True,
        advice=(
            "nanobot takes this over at its next start. gateway-memory must be installed in nanobot's own Python.",
            *(() if _is_dream_off(path) else _DREAM),
        ),
    )


def _is_dream_off(path: Path) -> bool:
    """Return whether nanobot's own memory is switched off in its config."""
    try:
        config = json.loads(path.read_text("utf-8"))
        return config["agents"]["defaults"]["dream"]["enabled"] is False
    except (OSError, ValueError, LookupError, TypeError):
        return False
