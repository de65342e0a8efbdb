"""Loggers: the host's structlog where it is configured, else the standard library's below `gateway_memory`."""

import logging
from typing import Any

import structlog
from structlog.processors import LogfmtRenderer
from structlog.stdlib import BoundLogger, filter_by_level

__all__ = ["get_logger"]


class _Logger:
    """Asks at each event whether structlog is configured: a host may do that after it has imported us."""

    def __init__(self, name: str) -> None:
        self._standard = structlog.wrap_logger(
            logging.getLogger(name),
            processors=[filter_by_level, LogfmtRenderer(key_order=["event"], bool_as_flag=False)],
            wrapper_class=BoundLogger,
        )

    def __getattr__(self, level: str) -> Any:
        return getattr(structlog.get_logger() if structlog.is_configured() else self._standard, level)


def get_logger(module: str) -> Any:
    """Return the logger of a module of this package: `gateway_memory.<module>`."""
    return _Logger(f"gateway_memory.{module}")
