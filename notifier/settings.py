"""Settings of the notifier: the keys of `notify` in config.json5, in snake case."""

import re
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, MinLen, Predicate

from gateway_memory.ground.brought import brought

_A_YEAR_SECONDS = 31_536_000
_MOST = 1_000_000_000


def is_workspace_id(name: str) -> bool:
    """Return whether a name is valid as a workspace id in topics; "" stands for the workspace's own id."""
    return bool(re.fullmatch(r"[A-Za-z0-9_-]{0,64}", name))


def _is_broker(name: str) -> bool:
    return name == "mqtt" or name in brought("broker")


@dataclass(frozen=True, slots=True, kw_only=True)
class MqttSettings:
    """How gateway processes reach each other. Secrets are given by the names of environment variables only."""

    enabled: bool = False
    host: Annotated[str, MinLen(1)] = "localhost"
    port: Annotated[int, Ge(1), Le(65535)] = 1883
    protocol: Literal["5", "3.1.1"] = "5"
    transport: Literal["tcp", "websockets"] = "tcp"
    username_env: str = ""
    password_env: str = ""
    tls: bool = False
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    workspace_id: Annotated[str, Predicate(is_workspace_id)] = field(
        default="",
        metadata={"expected": "up to 64 letters, digits, - and _"},
    )
    secret_env: str = ""
    trust_broker: bool = False
    expiry_seconds: Annotated[int, Ge(60), Le(_A_YEAR_SECONDS)] = 86400
    history_events: Annotated[int, Gt(0), Le(_MOST)] = 10000


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifierSettings:
    """Whether other sessions hear of a change, and how many updates wait for each, and how long."""

    enabled: bool = True
    broker: Annotated[str, Predicate(_is_broker)] = field(
        default="mqtt", metadata={"expected": '"mqtt" or the name of a broker that an installed package brings'}
    )
    inject_summary: bool = True
    max_pending_updates: Annotated[int, Gt(0), Le(_MOST)] = 10
    pending_max_age_seconds: Annotated[float, Gt(0), Le(100 * _A_YEAR_SECONDS)] = 604800
    mqtt: MqttSettings = field(default_factory=MqttSettings)
