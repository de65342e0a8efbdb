"""How much the tests try: a sample that is the same each time, or all of it with `GATEWAY_MEMORY_THOROUGH=1`."""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["THOROUGH", "amount", "sample"]

THOROUGH = os.environ.get("GATEWAY_MEMORY_THOROUGH", "") not in ("", "0")

T = TypeVar("T")


def amount(usual: int, thorough: int) -> int:
    """Return how many there are to be."""
    return thorough if THOROUGH else usual


def sample(cases: Sequence[T], usual: int, seed: str = "") -> list[T]:
    """Return all cases if the run is thorough, else `usual` of them, in their order. seed: chooses which."""
    if THOROUGH or usual >= len(cases):
        return list(cases)
    chosen = random.Random(seed).sample(range(len(cases)), usual)  # noqa: S311 - no secrets
    return [cases[number] for number in sorted(chosen)]
