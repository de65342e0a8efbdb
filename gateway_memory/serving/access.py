"""Who may use the service: the token of a request, and the Host and Origin that it names."""

from collections.abc import Collection

from starlette.datastructures import Headers

from gateway_memory.serving.errors import ServiceError
from gateway_memory.serving.tokens import Grant, Keys

__all__ = ["Access"]

_SCHEME = "bearer"
_OPENS = {"client": "/mcp", "metrics": "/metrics"}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Access:
    """Checks the headers of a request.

    keys: the known tokens. hosts: names by which clients may call the service, besides localhost. origins: pages that
    may call it, besides the service's own. A browser sends both headers, so that a page whose name was pointed at this
    machine is refused.
    """

    def __init__(self, keys: Keys, *, hosts: Collection[str], origins: Collection[str]) -> None:
        self._keys = keys
        self._hosts = {name.lower() for name in (*_LOOPBACK, *hosts)}
        self._origins = {origin.lower() for origin in origins}

    def check_host(self, headers: Headers) -> None:
        """Check how the client calls the service.

        Raises:
            ServiceError: forbidden.
        """
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or _name(hosts[0]) not in self._hosts:
            raise ServiceError("forbidden", "the Host header names another service; serve.hosts lists further names")
        own = {f"{scheme}://{hosts[0].strip().lower()}" for scheme in ("http", "https")}
        if any(origin.lower() not in self._origins | own for origin in origins):
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
        """Return what a token allows, or None for an unknown one.

        Raises:
            WorkspaceError: the client tokens can't be read.
        """
        return self._keys.verify(token.strip())

    def derived(self, agent: str, purpose: bytes) -> bytes | None:
        """Return a key for a purpose that only the agent's host token gives; None for an unknown agent."""
        return self._keys.derived(agent, purpose)

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
                "this token is good for /mcp alone; `gateway-memory token add --metrics` makes one for here",
            )


def _name(host: str) -> str:
    """Return the name in a Host header, without its port."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0].removesuffix(".")
