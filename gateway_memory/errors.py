"""What a gateway may see raised: its own mistakes, and an unusable workspace. All else is logged and counted."""

from pathlib import Path

__all__ = [
    "ClosedError",
    "ConfigError",
    "GatewayMemoryError",
    "JournalDamagedError",
    "LeaseLostError",
    "SchemaFromFutureError",
    "ShadowedPackageError",
    "StoreError",
    "UsageError",
    "WorkspaceError",
    "place_of",
    "store_failed",
]


class GatewayMemoryError(Exception):
    """The base of all errors of gateway-memory."""


class ConfigError(GatewayMemoryError):
    """The configuration can't be used; `problems` lists all mistakes."""


class UsageError(GatewayMemoryError):
    """A call was made with arguments that make no sense together."""


class ClosedError(GatewayMemoryError):
    """The memory is not open: use it inside `async with`, on the event loop that opened it."""


class StoreError(GatewayMemoryError):
    """A turn or a memory could not be written; nothing was half-written."""


class WorkspaceError(StoreError):
    """The workspace folder can't be read or written."""


class JournalDamagedError(StoreError):
    """The journal is damaged, or gone while it was open; the message says whether it was set aside.

    The Markdown files are untouched.
    """


class LeaseLostError(StoreError):
    """Another process has taken over the work of this one; nothing was recorded."""


class SchemaFromFutureError(StoreError):
    """The journal was written by a newer version of gateway-memory."""


class ShadowedPackageError(GatewayMemoryError, ImportError):
    """Another package bears the name of one of ours, and Python finds it first (or ours is gone)."""

    def __init__(self, name: str, *, expected: Path, found: Path | None) -> None:
        where = (
            f"`import {name}` finds {found}, which is another package" if found else f"`import {name}` finds no file"
        )
        advice = f"rename or uninstall that one, or put {expected.parent} before it in sys.path"
        super().__init__(f"gateway-memory brings a package `{name}`, in {expected}, but {where}: {advice}", name=name)


def store_failed(place: object, error: BaseException) -> StoreError:
    """Return the error to raise where a store failed. place: the file or folder. Raise it from `error`."""
    return StoreError(
        f"{place} could not be read or written ({error}). What was accepted is not lost, it waits in the journal: make "
        "room, or put right what is wrong, and do it again"
    )


def place_of(error: BaseException) -> str:
    """Return where an error was raised, as "file.py:12".

    That is what a log may hold: a traceback's values, and some errors' texts, may be what was said.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace is not None else ""
