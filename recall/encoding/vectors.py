"""Vectors as they are stored: bytes, with a scale for each vector."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def packed_type(dimension: int) -> np.dtype[Any]:
    """Return how a vector is stored: its scale, and its values as multiples of it, -127 to 127."""
    return np.dtype([("scale", "<f4"), ("values", "i1", (dimension,))])


def packed(vectors: NDArray[np.float32]) -> NDArray[Any]:
    """Return vectors (n, dimension) as (n,) of `packed_type`."""
    result = np.empty(len(vectors), packed_type(vectors.shape[1]))
    result["values"], result["scale"] = as_bytes(vectors)
    return result


def as_bytes(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return each vector as multiples, -127 to 127, of its scale; and the scales."""
    scales = np.abs(vectors).max(axis=1) / np.float32(127)
    return np.rint(vectors / np.where(scales, scales, 1)[:, None]).astype(np.int8), scales


def unpacked(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """Return the floats of packed vectors, up to rounding."""
    floats: NDArray[np.float32] = vectors["values"].astype(np.float32)
    floats *= vectors["scale"][:, None]
    return floats
