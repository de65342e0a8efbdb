"""The workspace's log: JSON lines in logs/, one file a day; old files are deleted. Several processes write at once.

The package itself configures no logging. The command line and the hooks write here; a gateway that wants the same puts
`DayLog(…)` among the processors of its own `structlog.configure`.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from gateway_memory.config.settings import LogSettings

_FILE: Final = re.compile(r"(?:gateway-memory|hooks)-(\d{4}-\d{2}-\d{2})\.jsonl")
_LONGEST: Final = 300
_LONGEST_NUMBER: Final = 5
_MOST_DAYS: Final = 36_500


class DayLog:
    """A structlog processor that writes each event as a line and passes it on. It never raises.

    It writes numbers and strings of up to 300 characters. Of other objects, exceptions included, it writes the type
    only, because their text may quote a message. clock: epoch seconds; days are in the local time zone.
    """

    def __init__(self, workspace: Path, *, retain_days: int, clock: Callable[[], float] = time.time) -> None:
        self._workspace = workspace
        self._retain_days = retain_days
        self._clock = clock
        self._day = ""

    def __call__(self, _: object, level: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Write the event, and return it unchanged."""
        with suppress(OSError):
            self._write(level, event)
        return event

    def _write(self, level: str, event: MutableMapping[str, Any]) -> None:
        if not self._workspace.is_dir():  # only a command creates a workspace
            return
        now = self._clock()
        folder = self._workspace / "logs"
        day = time.strftime("%Y-%m-%d", time.localtime(now))
        if day != self._day:
            folder.mkdir(mode=0o700, exist_ok=True)
            self._day = day
            self._let_go(folder, day)
        at = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
        row = {"at": at, "level": level, "pid": os.getpid()}
        row |= {key: _plain(value) for key, value in event.items() if key not in row}
        line = json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        descriptor = os.open(folder / f"gateway-memory-{day}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line)  # one call, so that lines of several processes do not mix
        finally:
            os.close(descriptor)

    def _let_go(self, folder: Path, today: str) -> None:
        oldest = date.fromisoformat(today) - timedelta(days=self._retain_days - 1)
        for path in folder.iterdir():
            match = _FILE.fullmatch(path.name)
            if match and match[1] < oldest.isoformat():
                path.unlink(missing_ok=True)


def retain_days(settings: "LogSettings") -> int:
    """Return for how many days logs are kept: `LOG_RETAIN_DAYS` of the environment, else the config."""
    said = os.environ.get("LOG_RETAIN_DAYS", "")
    days = int(said) if said.isdecimal() and len(said) <= _LONGEST_NUMBER else 0
    return min(days, _MOST_DAYS) if days else settings.retain_days


def configure_logging(*, verbose: bool, workspace: Path | None = None, settings: "LogSettings | None" = None) -> None:
    """Configure structlog for a command: errors (verbose: all) to standard error, `info` and above to the log."""
    import logging

    import structlog

    shown = logging.DEBUG if verbose else logging.ERROR
    kept = workspace is not None and settings is not None and settings.enabled

    def only_shown(_: object, level: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        if logging.getLevelNamesMapping().get(level.upper(), logging.ERROR) < shown:
            raise structlog.DropEvent
        return event

    processors: list[Any] = [structlog.contextvars.merge_contextvars]
    if kept:
        assert workspace is not None
        assert settings is not None
        processors.append(DayLog(workspace, retain_days=retain_days(settings)))
    processors += [
        only_shown,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False),
        structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
    ]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(min(shown, logging.INFO) if kept else shown),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # its messages quote what a client sent
    logging.getLogger("psycopg").setLevel(logging.CRITICAL)  # one line of ours says that the server is away


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value[:_LONGEST]
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in list(value)[:20]]
    if isinstance(value, dict):
        return {str(key)[:_LONGEST]: _plain(item) for key, item in list(value.items())[:20]}
    return type(value).__name__
