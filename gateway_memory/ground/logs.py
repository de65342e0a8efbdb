"""Loggers: the host's structlog if it is configured, else the standard library's below `gateway_memory`."""

import logging
from typing import Any


def get_logger(module: str) -> Any:
    """Return the logger of a module, whose name it has below `gateway_memory`."""
    return _Logger(module if module.startswith("gateway_memory") else f"gateway_memory.{module}")


class _Logger:
    """Checks at each event whether structlog is configured, since a host may configure it after the import."""

    def __init__(self, name: str) -> None:
        import structlog  # whoever needs only the rest of this module does without
        from structlog.processors import LogfmtRenderer
        from structlog.stdlib import BoundLogger, filter_by_level

        self._structlog = structlog
        self._standard = structlog.wrap_logger(
            logging.getLogger(name),
            processors=[filter_by_level, LogfmtRenderer(key_order=["event"], bool_as_flag=False)],
            wrapper_class=BoundLogger,
        )

    def __getattr__(self, level: str) -> Any:
        return getattr(self._structlog.get_logger() if self._structlog.is_configured() else self._standard, level)
