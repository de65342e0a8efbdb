"""Translate errors of disks and databases into StoreError at the edge of the package."""

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
    """Make each public coroutine method of a class raise StoreError instead of errors of disks and databases.

    Instances must have a `_folder`, which the message names.
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
