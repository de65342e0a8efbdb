"""Notices edits of files as they are saved, by the watchfiles package (the extra `watch`)."""

from collections.abc import Awaitable, Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gateway_memory.errors import ConfigError, how_to_install
from gateway_memory.ground.logs import get_logger
from gateway_memory.scope import Scope

log = get_logger(__name__)


_SETTLE_MS: Final = 200
"""Editors save in several steps. The files are read this long after the last step."""


def check_watching() -> None:
    """Raise ConfigError if the package is missing."""
    if find_spec("watchfiles") is None:
        raise ConfigError(f"incrementalSync.watch needs the package watchfiles: {how_to_install('watch')}")


async def watch(
    workspace: Path, scopes: Callable[[], Iterable[Scope]], refresh: Callable[[Scope], Awaitable[object]]
) -> None:
    """Refresh the index whenever a file is saved, until cancelled. scopes: returns the scopes of the sessions."""
    from watchfiles import Change, DefaultFilter, awatch

    class Notes(DefaultFilter):
        def __call__(self, change: Change, path: str) -> bool:
            return path.endswith(".md") and super().__call__(change, path)

    async for changes in awatch(workspace, watch_filter=Notes(), debounce=_SETTLE_MS):
        paths = [Path(path) for _, path in changes]
        for scope in list(scopes()):
            folder = workspace / scope.folder
            if any(path.parent == folder or path.is_relative_to(folder / "memory") for path in paths):
                try:
                    await refresh(scope)
                except Exception as error:  # noqa: BLE001 - the next message retries
                    log.warning("watch.refresh_failed", error=type(error).__name__)
