"""What a gateway needs to be connected: the edit of its config, the plugin's files, and what to tell."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from gateway_memory.connect.block import Block
from gateway_memory.connect.files import Edit

__all__ = ["Host", "Plan", "Where"]


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

    edit: the change of the config. block: that of another one, in YAML. copies: folders of ours, and where the gateway
    finds them.

    in_process: whether the gateway opens the memory itself, without a service. told: what to do and to know
    afterwards, a line each.
    """

    edit: Edit
    block: Block | None = None
    copies: dict[Path, Path] = field(default_factory=dict)
    in_process: bool = False
    told: tuple[str, ...] = ()


class Host(Protocol):
    """A gateway, as a module below `gateway_memory.connect`."""

    @staticmethod
    def plan(where: Where, config: Path | None) -> Plan:
        """Return what connecting changes. config: the gateway's config, or None for its usual place.

        Raises:
            ValueError: the gateway is not there.
        """
