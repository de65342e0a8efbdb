"""Arrays that grow at their end."""

from typing import Any

import numpy as np
from numkong import cdist
from numpy.typing import NDArray

__all__ = ["Growing", "Matrix", "packed", "packed_type", "unpacked"]


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
    """Unit vectors by row as bytes, each row with its own scale.

    They stand in blocks of `_BLOCK_ROWS`, so that growing never copies more than one. A row without a vector is zero,
    and its cosine is 0. Products are made of bytes too, by the processor's own instructions for them (numkong): a
    quarter of the memory is read, and with the bundled encoder a cosine is a few thousandths off.
    """

    _BLOCK_ROWS = 8192

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self._blocks: list[NDArray[np.int8]] = []
        self._scales = Growing(np.float32)

    def grow(self, rows: int) -> None:
        """Make room for `rows` rows in all."""
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
        """Set the vectors (of `packed_type`) of the rows from `row` on; the rows must have been grown."""
        self._scales.values[row : row + len(vectors)] = vectors["scale"]
        values = vectors["values"]
        while len(values):
            block, place = divmod(row, self._BLOCK_ROWS)
            fitting = min(len(values), self._BLOCK_ROWS - place)
            self._blocks[block][place : place + fitting] = values[:fitting]
            row, values = row + fitting, values[fitting:]

    def take(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of some rows, (len(rows), dimension)."""
        blocks, places = np.divmod(rows, self._BLOCK_ROWS)
        values = np.empty((len(rows), self.dimension), np.int8)
        for block in set(blocks.tolist()):
            here = blocks == block
            values[here] = self._blocks[block][places[here]]
        taken: NDArray[np.float32] = values * self._scales.values[rows, None]
        return taken

    def products(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """The product of every row with each of `vectors`, (len(vectors), rows): cosines, where their length is 1."""
        values, scales = _as_bytes(vectors)
        rows = len(self._scales)
        out = np.empty((len(vectors), rows), np.float32)
        for block, start in zip(self._blocks, range(0, rows, self._BLOCK_ROWS), strict=True):
            end = min(start + self._BLOCK_ROWS, rows)
            # Of two single rows it makes a number.
            out[:, start:end] = np.asarray(cdist(values, block[: end - start], "dot")).reshape(len(vectors), -1)
        out *= self._scales.values
        out *= scales[:, None]
        return out


def packed_type(dimension: int) -> np.dtype[Any]:
    """How a vector is stored: its scale, and its values as shares of it, -127..127."""
    return np.dtype([("scale", "<f4"), ("values", "i1", (dimension,))])


def packed(vectors: NDArray[np.float32]) -> NDArray[Any]:
    """Vectors (n, dimension) as (n,) of `packed_type`."""
    result = np.empty(len(vectors), packed_type(vectors.shape[1]))
    result["values"], result["scale"] = _as_bytes(vectors)
    return result


def _as_bytes(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Each vector as shares, -127..127, of its scale; and their scales."""
    scales = np.abs(vectors).max(axis=1) / np.float32(127)
    return np.rint(vectors / np.where(scales, scales, 1)[:, None]).astype(np.int8), scales


def unpacked(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """The opposite of `packed`, as near as it comes."""
    floats: NDArray[np.float32] = vectors["values"].astype(np.float32)
    floats *= vectors["scale"][:, None]
    return floats
