"""Loggers: the host's structlog if it is configured, else the standard library's below `gateway_memory`."""

import logging
from typing import Any

import structlog
from structlog.processors import LogfmtRenderer
from structlog.stdlib import BoundLogger, filter_by_level

__all__ = ["get_logger"]


class _Logger:
    """Checks at each event whether structlog is configured, since a host may configure it after the import."""

    def __init__(self, name: str) -> None:
        self._standard = structlog.wrap_logger(
            logging.getLogger(name),
            processors=[filter_by_level, LogfmtRenderer(key_order=["event"], bool_as_flag=False)],
            wrapper_class=BoundLogger,
        )

    def __getattr__(self, level: str) -> Any:
        return getattr(structlog.get_logger() if structlog.is_configured() else self._standard, level)


def get_logger(module: str) -> Any:
    """Return a logger with the name of a module."""
    return _Logger(module)
