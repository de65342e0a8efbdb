"""Whether a message asks for what its asker has told, by the bundled encoder's vector alone.

老公生日哪天 says no "I", and "why do cats knead blankets?" has a word of what the owner of a cat told. A logistic
regression tells them apart: `benchmarks/train_asker.py`.
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


def of_asker(query: Query, vector: "Floats", encoder: str) -> Query:
    """Return a message with what its vector tells: a question of its asker says "I" at least once.

    `strange` is its log-odds, up to 5, of asking of the world and not of its asker; 0 where it rather asks of them.
    vector: (dimension,), of length 1. encoder: the name of its maker. Unchanged for another than the bundled one.
    """
    name, step, intercept, weights = _direction()
    if encoder != name or len(vector) != len(weights):
        return query
    odds = step * float(weights @ vector) + intercept
    own = int(query.wants and odds >= 0)
    return replace(query, selves=max(query.selves, own), strange=min(max(-odds, 0.0), _MOST_STRANGE))


@cache
def _direction() -> tuple[str, float, float, "Floats"]:
    of = table("asker")
    entries = dict(of.texts("asks"))
    weights = np.frombuffer(base64.b64decode(entries["weights"]), np.int8).astype(np.float32)
    return dict(of.texts("encoder"))["name"], float(entries["step"]), float(entries["intercept"]), weights
