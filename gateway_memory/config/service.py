"""The settings of the service, `serve` in config.json5."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlsplit

from annotated_types import Ge, Gt, Le, MinLen, Predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedAgent:
    """An agent of the service: the folder of its memory."""

    workspace: Annotated[str, MinLen(1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """The PEM files of the certificate and its key; "" for none."""

    certificate: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """What a client may ask of the service. Its own work is limited by `timeoutMs` and the like."""

    body_bytes: Annotated[int, Ge(1024), Le(1_000_000_000)] = 4_194_304
    read_seconds: Annotated[float, Gt(0), Le(3600)] = 10
    connections: Annotated[int, Gt(0), Le(100_000)] = 512
    requests: Annotated[int, Gt(0), Le(100_000)] = 256
    listeners: Annotated[int, Gt(0), Le(10_000)] = 16
    keep_alive_seconds: Annotated[int, Gt(0), Le(86_400)] = 120
    grace_seconds: Annotated[int, Ge(0), Le(3600)] = 10


def is_upstream(url: str) -> bool:
    """Return whether a URL can be the base of an upstream: "" is none."""
    try:
        parts = urlsplit(url)
        plain = not (parts.username or parts.password or parts.query or parts.fragment)
        return url == "" or (parts.scheme in ("http", "https") and bool(parts.hostname) and plain and parts.port != 0)
    except ValueError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """The proxy in front of a model. upstream: its base URL; "" for no proxy. user_field: see config.json5."""

    upstream: Annotated[str, Predicate(is_upstream)] = field(
        default="",
        metadata={"expected": 'a base URL without user, query or fragment, such as "https://api.openai.com/v1"'},
    )
    user_field: str = ""
    body_bytes: Annotated[int, Ge(1024), Le(1_000_000_000)] = 33_554_432


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Where the service listens, which agents it serves, and whom it answers.

    agents: by name. hosts: names in the Host header besides those of the address. origins: values of the Origin header
    that are accepted.
    """

    agents: Mapping[str, ServedAgent] = field(
        default_factory=dict,
        metadata={"expected": 'an object, such as {main: {workspace: "/srv/memory"}}'},
    )
    host: Annotated[str, MinLen(1)] = "127.0.0.1"
    port: Annotated[int, Ge(0), Le(65_535)] = 8765
    socket: str = ""
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    tls: TlsSettings = field(default_factory=TlsSettings)
    proxy: ProxySettings = field(default_factory=ProxySettings)
    limits: LimitSettings = field(default_factory=LimitSettings)

    def __post_init__(self) -> None:
        if bool(self.tls.certificate) != bool(self.tls.key):
            raise ValueError("tls: expected both certificate and key, or neither")
        names = [name.lower() for name in self.agents]
        if len(set(names)) < len(names):
            raise ValueError("agents: expected each agent once; names are compared without regard to case")
