"""The tokens of hosts and of clients, as files of a workspace."""

import hashlib
import json
import os
import secrets
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from gateway_memory.errors import UsageError, WorkspaceError
from gateway_memory.ground.files import replace_private
from gateway_memory.scope import Scope
from gateway_memory.store.disk.workspace import STATE_FOLDER, locked, private_folder

_HOST: Final = "token"
_CLIENTS: Final = "clients.json"
_BYTES: Final = 32
_PREFIX: Final = "gm-"
"""By which scanners for leaked secrets can recognize a token."""
METRICS: Final = "metrics"
"""What stands in the place of a scope for a token that opens /metrics; it is the key of none."""
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client token as it is stored. scope: the key of what it opens, or `METRICS`. added_at: epoch seconds.

    name: what it is for.
    """

    id: str
    digest: str
    scope: str
    name: str
    added_at: float


def host_token_path(workspace: Path) -> Path:
    """Return the file of the host token of a workspace."""
    return workspace / STATE_FOLDER / _HOST


def host_token(workspace: Path) -> str:
    """Return the host token of a workspace, which is made at the first call.

    Raises:
        UsageError: others could read or change the file, or it holds no token.
        WorkspaceError: it can't be read or written.
    """
    path = host_token_path(workspace)
    try:
        private_folder(path.parent)
        _create(path, f"{_PREFIX}{secrets.token_urlsafe(_BYTES)}\n")
        if path.stat().st_mode & _OTHERS:
            raise UsageError(
                f"{path}: other users may have read this token; delete it, and the next start makes a new one"
            )
        token = path.read_text("ascii", "replace").strip()
    except OSError as error:
        raise WorkspaceError(f"{path}: {error.strerror}") from error
    if len(token) < _BYTES:
        raise UsageError(f"{path} holds no token; delete it, and the next start makes a new one")
    return token


def _create(path: Path, text: str) -> None:
    """Write a file that only this user can read, unless it exists. It never exists in part."""
    if path.exists():
        return
    spare = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    replace_private(spare, text.encode())
    try:
        os.link(spare, path)
    except FileExistsError:  # another process was first
        pass
    finally:
        spare.unlink()


class ClientTokens:
    """The client tokens of one workspace. A service sees at its next request what another process adds or revokes."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._path = workspace / STATE_FOLDER / _CLIENTS
        self._read: tuple[tuple[int, int, int], tuple[Client, ...]] | None = None

    def add(self, scope: Scope | None, name: str) -> tuple[Client, str]:
        """Add a token, and return it with its text, which is stored nowhere. name: what it is for.

        scope: what it opens; None for /metrics alone.

        Raises:
            WorkspaceError: it can't be written.
        """
        token = f"{_PREFIX}{secrets.token_urlsafe(_BYTES)}"
        made = Client(
            id=secrets.token_hex(4),
            digest=digest_of(token),
            scope=scope.key if scope else METRICS,
            name=name,
            added_at=round(time.time()),
        )
        self._change(lambda clients: [*clients, made])
        return made, token

    def revoke(self, identity: str) -> bool:
        """Remove a token by its id; return whether it was there.

        Raises:
            WorkspaceError: it can't be written.
        """
        known = any(each.id == identity for each in self.all())
        if known:
            self._change(lambda clients: [each for each in clients if each.id != identity])
        return known

    def all(self) -> Sequence[Client]:
        """Return the tokens, oldest first.

        Raises:
            WorkspaceError: the file can't be read, or is damaged.
        """
        try:
            state = self._path.stat()
            stamp = state.st_ino, state.st_mtime_ns, state.st_size
            if self._read is None or self._read[0] != stamp:
                rows: list[dict[str, Any]] = json.loads(self._path.read_text("utf-8"))
                self._read = stamp, tuple(Client(**row) for row in rows)
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, TypeError) as error:
            raise WorkspaceError(f"{self._path}: the tokens can't be read ({type(error).__name__})") from error
        return self._read[1]

    def _change(self, change: Callable[[Sequence[Client]], Sequence[Client]]) -> None:
        try:
            with locked(self._workspace):
                rows = [asdict(each) for each in change(self.all())]
                replace_private(self._path, f"{json.dumps(rows, ensure_ascii=False, indent=1)}\n".encode())
        except OSError as error:
            raise WorkspaceError(f"{self._path}: {error.strerror or error}") from error


def digest_of(token: str) -> str:
    """Return what of a token is stored."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
