"""What a message seeks, by the bundled encoder's vector alone: `benchmarks/train_asker.py` fits it.

Whether it asks for what its asker has told: 老公生日哪天 says no "I", and "why do cats knead blankets?" has a word of
what the owner of a cat told. And where its answer is near: "what do I do for a living?" is far from "I tune pianos".
"""

import base64
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from recall.tables import table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_LEAST: Final = -5.0  # log-odds
_MOST: Final = 3.0


def of_asker(vector: "Floats", encoder: str) -> float:
    """Return the log-odds, -5 to 3, that a message asks for what its asker has told, and not of the world.

    vector: (dimension,), of length 1. encoder: the name of its maker; 0 for another than the bundled one.
    """
    if not _fits(vector, encoder):
        return 0.0
    intercept, weights = _direction()
    return min(max(float(np.vecdot(weights, vector)) + intercept, _LEAST), _MOST)


def near_answer(vector: "Floats", encoder: str) -> "Floats":
    """Return the unit vector near which a question's answer is. Unchanged for another encoder than the bundled one."""
    if not _fits(vector, encoder):
        return vector
    read, added = _map()
    moved = vector + np.vecdot(added.T, np.vecdot(read, vector))
    unit: Floats = (moved / max(float(np.linalg.norm(moved)), 1e-6)).astype(np.float32)
    return unit


def _fits(vector: "Floats", encoder: str) -> bool:
    return encoder == dict(table("asker").texts("encoder"))["name"] and len(vector) == len(_direction()[1])


def _weights(name: str) -> "Floats":
    entries = dict(table("asker").texts(name))
    numbers = np.frombuffer(base64.b64decode(entries["weights"]), np.int8).astype(np.float32)
    return numbers * np.float32(entries["step"])


@cache
def _direction() -> tuple[float, "Floats"]:
    return float(dict(table("asker").texts("asks"))["intercept"]), _weights("asks")


@cache
def _map() -> tuple["Floats", "Floats"]:
    """What is read of a vector, and what is added to it: (rank, dimension) each."""
    size = len(_direction()[1])
    return _weights("read").reshape(-1, size), _weights("added").reshape(-1, size)
