"""Hermes: the plugin is copied into its plugins folder, and settings stand beside Hermes' config."""

import os
from pathlib import Path

from gateway_memory.connect.files import Block, Edit, Plan, Where

__all__ = ["plan", "plugin_folder"]


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
        edit=Edit(path=path.with_name("gateway-memory.json"), values=settings, owned=(("config",),)),
        copies={plugin_folder(): path.parent / "plugins" / "gateway-memory"},
        in_process=True,
        block=Block(
            path=path,
            name="memory",
            values={"provider": "gateway-memory", "memory_enabled": "false", "user_profile_enabled": "false"},
        ),
        told=(
            "Restart Hermes. gateway-memory must be installed in Hermes' own Python.",
            "Hermes' own memory is off: it tells everybody what it noted about anybody. `disconnect` switches it on.",
        ),
    )


def plugin_folder() -> Path:
    """Return the plugin's folder: in the installed package, or in the checkout."""
    package = Path(__file__).parents[1]
    inside, in_checkout = package / "connect/plugins/hermes", package.parent / "integrations/hermes"
    return inside if inside.is_dir() else in_checkout
