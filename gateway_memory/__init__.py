"""Long-term memory for chat gateways, shared by all sessions."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gateway_memory.edge.shadowed import check_packages

if TYPE_CHECKING:
    from extractor import Candidate, Turn
    from gateway_memory.capture.reader import Extract
    from gateway_memory.config.load import load_config
    from gateway_memory.config.settings import Config
    from gateway_memory.context.builder import Context
    from gateway_memory.errors import (
        ClosedError,
        ConfigError,
        GatewayMemoryError,
        JournalDamagedError,
        RefusedError,
        SchemaFromFutureError,
        ShadowedPackageError,
        StoreError,
        UsageError,
        WorkspaceError,
    )
    from gateway_memory.identity import Facts, Refused, Speaker
    from gateway_memory.memory import GatewayMemory
    from gateway_memory.observability.logs import DayLog
    from gateway_memory.scope import OWNER
    from gateway_memory.session import Session
    from gateway_memory.store.journal.turns import UNNUMBERED

__all__ = [
    "OWNER",
    "UNNUMBERED",
    "Candidate",
    "ClosedError",
    "Config",
    "ConfigError",
    "Context",
    "DayLog",
    "Extract",
    "Facts",
    "GatewayMemory",
    "GatewayMemoryError",
    "JournalDamagedError",
    "Refused",
    "RefusedError",
    "SchemaFromFutureError",
    "Session",
    "ShadowedPackageError",
    "Speaker",
    "StoreError",
    "Turn",
    "UsageError",
    "WorkspaceError",
    "__version__",
    "load_config",
]

__version__ = "0.2.0"

_HOMES = {
    "OWNER": ".scope",
    "UNNUMBERED": ".store.journal.turns",
    "Candidate": "extractor",
    "Config": ".config.settings",
    "Context": ".context.builder",
    "DayLog": ".observability.logs",
    "Extract": ".capture.reader",
    "Facts": ".identity",
    "GatewayMemory": ".memory",
    "Refused": ".identity",
    "Session": ".session",
    "Speaker": ".identity",
    "Turn": "extractor",
    "load_config": ".config.load",
}

check_packages()


def __getattr__(name: str) -> Any:
    """Import a public name on first access. A hook runs in its own process and needs almost none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, ".errors"), __name__), name)
    globals()[name] = value
    return value
