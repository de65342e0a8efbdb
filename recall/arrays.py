"""Arrays that grow at their end."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Growing", "Matrix"]


class Growing:
    """A one-dimensional array that grows at its end by doubling. `values` is a view of what is filled."""

    def __init__(self, dtype: Any, values: Any = ()) -> None:
        self._buffer: NDArray[Any] = np.array(values, dtype=dtype)
        self._length = len(self._buffer)

    def __len__(self) -> int:
        return self._length

    @property
    def values(self) -> NDArray[Any]:
        return self._buffer[: self._length]

    def append(self, values: Any) -> None:
        added = np.asarray(values, dtype=self._buffer.dtype)
        end = self._length + len(added)
        if end > len(self._buffer):
            # An eighth more, not double: at 100,000 rows the slack would otherwise be megabytes of every column.
            grown = np.empty(max(end + end // 8, 16), self._buffer.dtype)
            grown[: self._length] = self.values
            self._buffer = grown
        self._buffer[self._length : end] = added
        self._length = end


class Matrix:
    """Unit vectors by row, in blocks of `_BLOCK_ROWS`, so that growing never copies more than one block.

    A row without a vector is zero, and its cosine is 0.
    """

    _BLOCK_ROWS = 8192

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._blocks: list[NDArray[np.float32]] = []
        self._rows = 0

    def grow(self, rows: int) -> None:
        """Make room for `rows` rows in all."""
        while self._rows < rows:
            full = len(self._blocks) * self._BLOCK_ROWS
            if self._rows == full:
                self._blocks.append(np.zeros((0, self.dimension), np.float32))
                full += self._BLOCK_ROWS
            start = full - self._BLOCK_ROWS
            block = self._blocks[-1]
            wanted = min(rows - start, self._BLOCK_ROWS)
            if wanted > len(block):
                size = wanted if wanted == self._BLOCK_ROWS else min(max(2 * len(block), wanted, 16), self._BLOCK_ROWS)
                grown = np.zeros((size, self.dimension), np.float32)
                grown[: len(block)] = block
                self._blocks[-1] = grown
            self._rows = start + wanted

    def put(self, row: int, vectors: NDArray[np.float32]) -> None:
        """Set the vectors of the rows from `row` on; the rows must have been grown."""
        while len(vectors):
            block, place = divmod(row, self._BLOCK_ROWS)
            fitting = min(len(vectors), self._BLOCK_ROWS - place)
            self._blocks[block][place : place + fitting] = vectors[:fitting]
            row, vectors = row + fitting, vectors[fitting:]

    def take(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of some rows, (len(rows), dimension)."""
        taken = np.empty((len(rows), self.dimension), np.float32)
        blocks, places = np.divmod(rows, self._BLOCK_ROWS)
        for block in np.unique(blocks):
            here = blocks == block
            taken[here] = self._blocks[block][places[here]]
        return taken

    def product(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """The product of every row with `vector`, (rows,): the cosine, if its length is 1."""
        out = np.zeros(self._rows, np.float32)
        for number, block in enumerate(self._blocks):
            start = number * self._BLOCK_ROWS
            end = min(start + self._BLOCK_ROWS, self._rows)
            np.matmul(block[: end - start], vector, out=out[start:end])
        return out
