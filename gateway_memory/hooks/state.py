"""The state of a hook: the compiled config, and the registration of its session."""

import contextlib
import hashlib
import json
from collections.abc import Mapping
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gateway_memory.errors import UsageError
from gateway_memory.ground.files import replace_private
from gateway_memory.ground.texts import object_of
from gateway_memory.hooks.editors import joined_in
from gateway_memory.store.disk.workspace import STATE_FOLDER, own_config, private_folder

if TYPE_CHECKING:
    from gateway_memory.edge.prompts import Prompts
    from gateway_memory.scope import Scope
    from gateway_memory.store.journal.in_place import JournalInPlace


class HookInput(NamedTuple):
    """What an editor's event says, and the memory that it concerns.

    given: the input of the hook. until: when the hook has to be done, by the monotonic clock.
    """

    given: Mapping[str, Any]
    workspace: Path
    session_id: str
    config: Path | None
    until: float

    @property
    def joined(self) -> "Scope | None":
        """The project that the session has joined."""
        return joined_in(self.given, self.workspace)

    @property
    def prompts(self) -> "Prompts":
        """The prompts for its agent."""
        from gateway_memory.edge.prompts import Prompts

        return Prompts(workspace=str(self.workspace), config=str(self.config.absolute()) if self.config else "")

    def settings(self) -> dict[str, Any]:
        """Return the checked settings, by their keys, read anew each time. Raises ConfigError."""
        return settings_of(self.workspace, self.config)


def hook_key(session_id: str) -> str:
    """Return the session key of an editor's session in the journal."""
    return f"hook:{session_id}"


def register(
    journal: "JournalInPlace", session_id: str, at: float, *, lives: bool, joined: "Scope | None" = None
) -> None:
    """Register an editor's session under its own id, unless it is known.

    lives: the session is active, so that it is reopened if it had ended. An editor resumes a conversation under its old
    id, and the session keeps its only record.
    joined: the project in which the editor is open.

    Raises:
        UsageError: the id is that of a gateway's session, which may belong to another person.
    """
    from gateway_memory.store.journal import opened  # most of what imports this module needs no journal

    project = joined.key if joined else ""
    with journal.transaction() as database:
        known = opened.register(database, session_id, hook_key(session_id), at, lives=lives, joined=project)
    if not known:
        raise UsageError("a session of this id is no editor's")


def settings_of(workspace: Path, config: Path | None) -> dict[str, Any]:
    """Return the checked settings of the config's defaults, by their keys; without one, what `load_config` says.

    Checking takes pydantic and half a second, so the result is cached as JSON under the file's digest.

    Raises:
        ConfigError: the config has mistakes, or can't be read.
    """
    with contextlib.suppress(OSError):
        if cached := object_of(_compiled(workspace, config).read_bytes()):
            return cached
    from gateway_memory.config.load import load_config
    from gateway_memory.edge.config_reference import render_config

    settings: dict[str, Any] = json.loads(render_config(load_config(config, own=own_config(workspace))))["agents"][
        "defaults"
    ]["memorySync"]
    compiled = _compiled(workspace, config)
    with contextlib.suppress(OSError):
        private_folder(compiled.parent)
        replace_private(compiled, json.dumps(settings).encode())
    return settings


def _compiled(workspace: Path, config: Path | None) -> Path:
    read = config or own_config(workspace)
    source = read.read_bytes() if config or read.exists() else b""
    reference = Path(__file__).parents[1] / "config" / "settings.py"  # a new version may have new defaults
    state = reference.stat()
    digest = hashlib.blake2b(source + f"{state.st_mtime_ns} {state.st_size}".encode(), digest_size=12).hexdigest()
    return workspace / STATE_FOLDER / f"config-{digest}.json"


def zone_of(settings: Mapping[str, Any]) -> tzinfo | None:
    """Return the zone in which days are counted, None for the host's. settings: the result of `settings_of`."""
    if settings["timeZone"] == "local":
        return None
    from zoneinfo import ZoneInfo

    return ZoneInfo(settings["timeZone"])
