"""The edge of the package: whatever a disk or a database does, a host sees our own errors alone."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from gateway_memory.errors import store_failed
from recall import RecallError

__all__ = ["only_our_errors"]

T = TypeVar("T")

FOREIGN: Final = (OSError, RecallError)
_ENTERED: Final = ("__aenter__", "__aexit__")


def only_our_errors(owner: type[T]) -> type[T]:
    """Let each public call of a class that can be awaited raise StoreError in place of errors of disks and databases.

    Its instances tell their `_folder`.
    """
    for name, call in list(vars(owner).items()):
        if inspect.iscoroutinefunction(call) and (not name.startswith("_") or name in _ENTERED):
            setattr(owner, name, _translated(call))
    return owner


def _translated(call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(call)
    async def translated(self: Any, *args: Any, **values: Any) -> Any:
        try:
            return await call(self, *args, **values)
        except FOREIGN as error:
            raise store_failed(self._folder or "the memory", error) from error

    return translated
