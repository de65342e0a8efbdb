"""Long-term memory for chat gateways: what one session learns, the others know."""

from gateway_memory.config import load_config
from gateway_memory.context import Context
from gateway_memory.errors import (
    ClosedError,
    ConfigError,
    GatewayMemoryError,
    JournalDamagedError,
    SchemaFromFutureError,
    StoreError,
    UsageError,
    WorkspaceError,
)
from gateway_memory.memory import GatewayMemory
from gateway_memory.session import OWNER, Session
from gateway_memory.settings import Config

__all__ = [
    "OWNER",
    "ClosedError",
    "Config",
    "ConfigError",
    "Context",
    "GatewayMemory",
    "GatewayMemoryError",
    "JournalDamagedError",
    "SchemaFromFutureError",
    "Session",
    "StoreError",
    "UsageError",
    "WorkspaceError",
    "load_config",
]
