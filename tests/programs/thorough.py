"""How much the tests try: a sample that is the same each time, or all of it with `GATEWAY_MEMORY_THOROUGH=1`."""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["THOROUGH", "amount", "examples", "sample"]

THOROUGH = os.environ.get("GATEWAY_MEMORY_THOROUGH", "") not in ("", "0")

_OVER_POSTGRES = os.environ.get("GATEWAY_MEMORY_TEST_BACKEND", "").startswith("postgres")
_FEWER_OVER_POSTGRES = 3

T = TypeVar("T")


def amount(usual: int, thorough: int) -> int:
    """Return how many there are to be."""
    return thorough if THOROUGH else usual


def examples(usual: int, thorough: int) -> int:
    """Return how many random lives to try. Over PostgreSQL each takes longer, and the files' run has tried them."""
    return thorough if THOROUGH else usual // _FEWER_OVER_POSTGRES if _OVER_POSTGRES else usual


def sample(cases: Sequence[T], usual: int, seed: str = "") -> list[T]:
    """Return all cases if the run is thorough, else `usual` of them, in their order. seed: chooses which."""
    if THOROUGH or usual >= len(cases):
        return list(cases)
    chosen = random.Random(seed).sample(range(len(cases)), usual)  # noqa: S311 - no secrets
    return [cases[number] for number in sorted(chosen)]
