"""What a message seeks, by the bundled encoder's vector alone: `benchmarks/train_asker.py` fits it.

Whether it asks for what its asker has told: 老公生日哪天 says no "I", and "why do cats knead blankets?" has a word of
what the owner of a cat told. And where its answer is near: "what do I do for a living?" is far from "I tune pianos".
"""

import base64
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from recall.search.query import Query
from recall.tables import table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_MOST_STRANGE: Final = 5.0
_SURE: Final = 2.0  # log-odds


def of_asker(query: Query, vector: "Floats", encoder: str) -> Query:
    """Return a message with what its vector tells: a question of its asker says "I" at least once.

    `strange` is its log-odds, up to 5, of asking of the world and not of its asker; 0 where it rather asks of them.
    vector: (dimension,), of length 1. encoder: the name of its maker. Unchanged for another than the bundled one.
    """
    intercept, weights = _direction()
    if not _fits(vector, encoder):
        return query
    odds = float(np.vecdot(weights, vector)) + intercept
    own = int(query.wants and odds >= 0)
    return replace(query, selves=max(query.selves, own), strange=min(max(-odds, 0.0), _MOST_STRANGE))


def own_share(vector: "Floats", encoder: str) -> float:
    """Return how surely a question asks for what its asker has told, from 0 to 1; 0 for another encoder's vector."""
    if not _fits(vector, encoder):
        return 0.0
    intercept, weights = _direction()
    return min(max(float(np.vecdot(weights, vector)) + intercept, 0.0), _SURE) / _SURE


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
