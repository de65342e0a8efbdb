"""Keeps what a function made of short texts."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

__all__ = ["kept"]

T = TypeVar("T")

_TEXTS = 1024
_LONGEST = 500  # characters: a memory is shorter, and whole conversations stay nowhere


def kept(function: Callable[[str], T]) -> Callable[[str], T]:
    """Let a pure function answer from what it made before. The values are shared: nobody may change them.

    A candidate is compared with a dozen memories, each in several ways, and so is the next one.
    """
    short = lru_cache(maxsize=_TEXTS)(function)

    @wraps(function)
    def call(text: str) -> T:
        return short(text) if len(text) <= _LONGEST else function(text)

    return call
