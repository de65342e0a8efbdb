"""What connecting a gateway consists of."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from gateway_memory.connect.json_edit import Edit
from gateway_memory.connect.yaml_block import Block
from gateway_memory.edge.phrases import fill
from gateway_memory.errors import UsageError

Change: TypeAlias = Edit | Block
"""A change of one file."""


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
    upstream: str = ""
    people: tuple[str, ...] = ()


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


def advice(name: str, **values: object) -> list[str]:
    """Return the lines of a text for whoever connects a gateway."""
    return fill("connect", name, **values).split("\n")


def check_there(host: str, folder: Path) -> None:
    """Raise UsageError where a gateway's folder isn't there."""
    if not folder.is_dir():
        raise UsageError(*advice("not_there", folder=folder, first=fill("connect", f"{host}_first")))


def settings_beside(path: Path, where: Where) -> Edit:
    """Return the settings of a plugin that opens the memory itself, in a file beside the gateway's config."""
    settings: dict[tuple[str, ...], str] = {("workspace",): str(where.workspace)}
    if where.config:
        settings[("config",)] = str(where.config)
    return Edit(path=path.with_name("gateway-memory.json").absolute(), values=settings, owned=(("config",),))


def plugin_folder(host: str) -> Path:
    """Return the folder of a gateway's plugin: in the installed package, or in the checkout."""
    package = Path(__file__).parents[1]
    inside, in_checkout = package / "connect/plugins" / host, package.parent / "integrations" / host
    return inside if inside.is_dir() else in_checkout
