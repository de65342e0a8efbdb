"""Who may use the service: the tokens of hosts and clients, and the headers of a request.

A host token may state who is speaking. A client token is bound to one scope, and is good for MCP and the proxy; or it
opens /metrics, and no memory. All are random, so one round of SHA-256 protects them.
"""

import hashlib
import hmac
import json
import os
import secrets
import stat
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from starlette.datastructures import Headers

from gateway_memory.errors import UsageError, WorkspaceError
from gateway_memory.ground import replace_private
from gateway_memory.scope import Scope
from gateway_memory.serving.request import ServiceError
from gateway_memory.store.disk.workspace import STATE_FOLDER, locked, private_folder

_HOST: Final = "token"
_CLIENTS: Final = "clients.json"
_BYTES: Final = 32
_PREFIX: Final = "gm-"
"""By which scanners for leaked secrets can recognize a token."""
_METRICS: Final = "metrics"
"""What stands in the place of a scope for a token that opens /metrics; it is the key of none."""
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a token allows. kind: "host" for every scope of an agent; "client" for the scope alone; "metrics" for none.

    client: the id of a client token, or "".
    """

    agent: str
    kind: Literal["host", "client", "metrics"]
    scope: str = ""
    client: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client token as it is stored. scope: the key of what it opens, or `_METRICS`. added_at: epoch seconds.

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
            digest=_digest(token),
            scope=scope.key if scope else _METRICS,
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


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


# The headers of a request: its token, and the Host and Origin that it names.

_SCHEME = "bearer"
_OPENS = {"client": "/mcp and the proxy", "metrics": "/metrics"}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Access:
    """Tells what the token of a request allows, and checks its other headers.

    workspaces: the folder of each agent. hosts: names by which clients may call the service, besides localhost.
    origins: pages that may call it, besides the service's own. A browser sends both headers, so that a page whose name
    was pointed at this machine is refused.

    Raises:
        UsageError: the file of a host token can't be trusted.
        WorkspaceError: a file can't be read or written.
    """

    def __init__(
        self, workspaces: Mapping[str, Path], *, hosts: Collection[str] = (), origins: Collection[str] = ()
    ) -> None:
        self._tokens = {agent: _digest(host_token(folder)) for agent, folder in workspaces.items()}
        self._clients = {agent: ClientTokens(folder) for agent, folder in workspaces.items()}
        self._hosts = {name.lower() for name in (*_LOOPBACK, *hosts)}
        self._origins = {origin.lower() for origin in origins}

    def check_host(self, headers: Headers, *, from_pages: bool = False) -> None:
        """Check how the client calls the service. from_pages: whether any web page may.

        Raises:
            ServiceError: forbidden.
        """
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or _name(hosts[0]) not in self._hosts:
            raise ServiceError("forbidden", "the Host header names another service; serve.hosts lists further names")
        own = {f"{scheme}://{hosts[0].strip().lower()}" for scheme in ("http", "https")}
        if not from_pages and any(origin.lower() not in self._origins | own for origin in origins):
            raise ServiceError("forbidden", "web pages of this Origin may not call the service; see serve.origins")

    def grant(self, headers: Headers) -> Grant:
        """Return what the token of a request allows, for any kind of token.

        Raises:
            ServiceError: unauthorized.
            WorkspaceError: the client tokens can't be read.
        """
        given = headers.getlist("authorization")
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        grant = self.grant_of(token) if scheme.lower() == _SCHEME else None
        if grant is None:
            what = "this token is not known" if given else "a token is missing"
            raise ServiceError("unauthorized", f"{what}: expected Authorization: Bearer …")
        return grant

    def grant_of(self, token: str) -> Grant | None:
        """Return what a token allows, or None for an unknown one. It takes as long for each.

        Raises:
            WorkspaceError: the client tokens can't be read.
        """
        digest = _digest(token.strip())
        grant: Grant | None = None
        for agent, host in self._tokens.items():
            if hmac.compare_digest(digest, host):
                grant = Grant(agent=agent, kind="host")
            for client in self._clients[agent].all():
                if hmac.compare_digest(digest, client.digest):
                    kind: Literal["client", "metrics"] = "metrics" if client.scope == _METRICS else "client"
                    grant = Grant(agent=agent, kind=kind, scope=client.scope, client=client.id)
        return grant

    def derived(self, agent: str, purpose: bytes) -> bytes | None:
        """Return a key for a purpose that only the agent's host token gives; None for an unknown agent."""
        digest = self._tokens.get(agent)
        return hmac.new(digest.encode(), purpose, hashlib.sha256).digest() if digest else None

    def host(self, headers: Headers) -> str:
        """Return the agent whose host is calling.

        Raises:
            ServiceError: unauthorized, or forbidden with the token of a client.
            WorkspaceError: the client tokens can't be read.
        """
        grant = self.grant(headers)
        if grant.kind != "host":
            raise ServiceError(
                "forbidden", f"this token is good for {_OPENS[grant.kind]} alone; hosts have another one"
            )
        return grant.agent

    def metrics(self, headers: Headers) -> None:
        """Check that the caller may read metrics: a host, or a token for just that.

        Raises:
            ServiceError: unauthorized, or forbidden with the token of an MCP client.
            WorkspaceError: the client tokens can't be read.
        """
        if self.grant(headers).kind == "client":
            raise ServiceError(
                "forbidden",
                f"this token is good for {_OPENS['client']} alone; `gateway-memory token add --metrics` makes one for "
                "here",
            )


def _name(host: str) -> str:
    """Return the name in a Host header, without its port."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0].removesuffix(".")
