"""The terms of the ranks, for an explanation."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

__all__ = ["Terms"]


class Terms:
    """Each row's terms, as the growth of its sum at each step, so that they always add up to the sum.

    kept: False records and copies nothing.
    """

    def __init__(self, rows: int, *, kept: bool) -> None:
        self.kept = kept
        self._last = np.zeros(rows if kept else 0, np.float32)
        self._terms: dict[str, Floats] = {}

    def added(self, name: str, scores: Floats) -> None:
        """Record what was added since the last step."""
        if self.kept:
            self._terms[name] = self._terms.get(name, np.float32(0)) + (scores - self._last)
            self._last = scores.copy()

    def of(self, row: int) -> dict[str, float]:
        return {name: float(values[row]) for name, values in self._terms.items()}
