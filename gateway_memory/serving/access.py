"""Who may use the service: the tokens of hosts and clients, and the headers of a request.

A host token may state who is speaking. A client token is bound to one scope, and is good for MCP and the proxy; or it
opens /metrics, and no memory. All are random, so one round of SHA-256 protects them.
"""

import hashlib
import hmac
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from starlette.datastructures import Headers

from gateway_memory.serving.errors import ServiceError
from gateway_memory.serving.tokens import METRICS, ClientTokens, digest_of, host_token


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a token allows. kind: "host" for every scope of an agent; "client" for the scope alone; "metrics" for none.

    client: the id of a client token, or "".
    """

    agent: str
    kind: Literal["host", "client", "metrics"]
    scope: str = ""
    client: str = ""


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
        self._tokens = {agent: digest_of(host_token(folder)) for agent, folder in workspaces.items()}
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
        digest = digest_of(token.strip())
        grant: Grant | None = None
        for agent, host in self._tokens.items():
            if hmac.compare_digest(digest, host):
                grant = Grant(agent=agent, kind="host")
            for client in self._clients[agent].all():
                if hmac.compare_digest(digest, client.digest):
                    kind: Literal["client", "metrics"] = "metrics" if client.scope == METRICS else "client"
                    grant = Grant(agent=agent, kind=kind, scope=client.scope, client=client.id)
        return grant

    def derive(self, agent: str, purpose: bytes) -> bytes | None:
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
