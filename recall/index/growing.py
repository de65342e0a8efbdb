"""Growing arrays: columns of numbers, and vectors as bytes."""

from typing import Any

import numpy as np
from numkong import cdist
from numpy.typing import NDArray

from recall.encoding.vectors import as_bytes


class Growing:
    """A one-dimensional array that grows at its end. `values` is a view of the filled part."""

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
    """Unit vectors by row as bytes, each row with its own scale.

    Blocks of `_BLOCK_ROWS` rows keep growing from copying everything. A row without a vector is zero, and its cosine is
    0. Products are computed on bytes (numkong), which reads a quarter of the memory; with the bundled encoder a cosine
    is a few thousandths off.
    """

    _BLOCK_ROWS = 8192

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._blocks: list[NDArray[np.int8]] = []
        self._scales = Growing(np.float32)

    def grow(self, rows: int) -> None:
        """Make room for `rows` rows in total."""
        while len(self._scales) < rows:
            full = len(self._blocks) * self._BLOCK_ROWS
            if len(self._scales) == full:
                self._blocks.append(np.zeros((0, self.dimension), np.int8))
                full += self._BLOCK_ROWS
            start = full - self._BLOCK_ROWS
            block = self._blocks[-1]
            wanted = min(rows - start, self._BLOCK_ROWS)
            if wanted > len(block):
                size = wanted if wanted == self._BLOCK_ROWS else min(max(2 * len(block), wanted, 16), self._BLOCK_ROWS)
                grown = np.zeros((size, self.dimension), np.int8)
                grown[: len(block)] = block
                self._blocks[-1] = grown
            self._scales.append(np.zeros(start + wanted - len(self._scales), np.float32))

    def put(self, row: int, vectors: NDArray[Any]) -> None:
        """Set the vectors (of `packed_type`) of the rows from `row` on, for which there is room."""
        self._scales.values[row : row + len(vectors)] = vectors["scale"]
        values = vectors["values"]
        while len(values):
            block, place = divmod(row, self._BLOCK_ROWS)
            fitting = min(len(values), self._BLOCK_ROWS - place)
            self._blocks[block][place : place + fitting] = values[:fitting]
            row, values = row + fitting, values[fitting:]

    def take(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of some rows, (len(rows), dimension)."""
        blocks, places = np.divmod(rows, self._BLOCK_ROWS)
        values = np.empty((len(rows), self.dimension), np.int8)
        for block in set(blocks.tolist()):
            here = blocks == block
            values[here] = self._blocks[block][places[here]]
        taken: NDArray[np.float32] = values * self._scales.values[rows, None]
        return taken

    def products(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the product of every row with each of `vectors`, (len(vectors), rows): cosines of unit vectors."""
        values, scales = as_bytes(vectors)
        rows = len(self._scales)
        out = np.empty((len(vectors), rows), np.float32)
        for block, start in zip(self._blocks, range(0, rows, self._BLOCK_ROWS), strict=True):
            end = min(start + self._BLOCK_ROWS, rows)
            # The product of two single rows is a scalar.
            out[:, start:end] = np.asarray(cdist(values, block[: end - start], "dot")).reshape(len(vectors), -1)
        out *= self._scales.values
        out *= scales[:, None]
        return out
