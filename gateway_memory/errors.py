"""The errors that a host may see: its own mistakes, and an unusable workspace. Others are logged and counted."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class GatewayMemoryError(Exception):
    """The base class of all errors of gateway-memory."""


class ConfigError(GatewayMemoryError):
    """The configuration can't be used; `problems` lists all mistakes."""


class UsageError(GatewayMemoryError):
    """The arguments of a call are invalid or contradict each other."""


class RefusedError(UsageError):
    """The speaker of a message cannot be identified; `reason` says why, and what would settle it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ClosedError(GatewayMemoryError):
    """The memory is not open. Use it inside `async with`, on the event loop that opened it."""


class StoreError(GatewayMemoryError):
    """A turn or a memory could not be read or written. Nothing was written partially."""


class StoreRefusedError(StoreError):
    """The store works, and refuses what was to be written or asked: the same again would be refused again."""


class StoreBusyError(StoreError):
    """The store works, and somebody else holds what is to be written, such as one scope. Other work can go on."""


class WorkspaceError(StoreError):
    """The workspace folder can't be read or written."""


class JournalDamagedError(StoreError):
    """The journal is damaged, or was removed while it was open. The message says whether it was set aside.

    The Markdown files are unchanged.
    """


class LeaseLostError(StoreError):
    """Another process has taken over the work of this process. Nothing was recorded."""


class SchemaFromFutureError(StoreError):
    """A newer version of gateway-memory wrote the journal."""


class ShadowedPackageError(GatewayMemoryError, ImportError):
    """Python finds another package under the name of one of ours, or finds no file for ours."""

    def __init__(self, name: str, *, expected: Path, found: Path | None) -> None:
        where = (
            f"`import {name}` finds {found}, which is another package" if found else f"`import {name}` finds no file"
        )
        advice = f"rename or uninstall that one, or put {expected.parent} before it in sys.path"
        super().__init__(f"gateway-memory brings a package `{name}`, in {expected}, but {where}: {advice}", name=name)


def store_failed(place: object, error: BaseException) -> StoreError:
    """Return the error for a failed store. place: the file or folder. Raise it from `error`."""
    return StoreError(
        f"{place} could not be read or written ({error}). What was accepted is not lost, it waits in the journal: make "
        "room, or put right what is wrong, and do it again"
    )


@contextmanager
def store_errors(place: object, *kinds: type[Exception]) -> Iterator[None]:
    """Raise StoreError in place of these errors of a block. place: as in `store_failed`."""
    try:
        yield
    except kinds as error:
        raise store_failed(place, error) from error


def how_to_install(extra: str) -> str:
    """Return how to install one of our extras. No index has the package, so its bare name would be somebody else's."""
    return f"pip install '.[{extra}]' in a checkout of gateway-memory, or of its wheel: pip install 'FILE.whl[{extra}]'"


def place_of(error: BaseException) -> str:
    """Return where an error was raised, as "file.py:12".

    A log may contain this. Values in a traceback and the texts of some errors may contain messages.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace is not None else ""
