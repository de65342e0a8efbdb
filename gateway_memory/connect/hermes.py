"""Hermes: the plugin is copied into its plugins folder, and settings stand beside Hermes' config."""

import os
from pathlib import Path

from gateway_memory.connect.files import Block, Edit, Plan, Where, plugin_folder

__all__ = ["plan"]


def plan(where: Where, config: Path | None) -> Plan:
    """Return what connecting Hermes changes. config: its config.yaml, or None for its usual place.

    Raises:
        ValueError: there is no Hermes.
    """
    home = Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes").expanduser()
    path = (config or home / "config.yaml").absolute()
    if not path.parent.is_dir():
        raise ValueError(f"{path.parent}: there is no such folder; set Hermes up first, or name its config by --file")
    settings: dict[tuple[str, ...], str] = {("workspace",): str(where.workspace)}
    if where.config:
        settings[("config",)] = str(where.config)
    return Plan(
        copies={plugin_folder("hermes"): path.parent / "plugins" / "gateway-memory"},
        in_process=True,
        changes=(
            Edit(path=path.with_name("gateway-memory.json"), values=settings, owned=(("config",),)),
            Block(
                path=path,
                name="memory",
                values={"provider": "gateway-memory", "memory_enabled": "false", "user_profile_enabled": "false"},
            ),
        ),
        advice=(
            "Restart Hermes. gateway-memory must be installed in Hermes' own Python.",
            "Hermes' own memory is off: it tells everybody what it noted about anybody. `disconnect` switches it on.",
        ),
    )
