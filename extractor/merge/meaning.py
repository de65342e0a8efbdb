"""Tells from a vector whether its sentence tells of a change in words that no table knows: "flogged the Canon"."""

import base64
import math
from array import array
from collections.abc import Sequence
from operator import mul
from typing import Final

from .direction import ENCODER, INTERCEPT, PACKED, STEP

__all__ = ["telling_of_change"]

_DIRECTION: Final = array("b", base64.b64decode(PACKED))


def telling_of_change(vector: Sequence[float], encoder: str) -> float | None:
    """Return how much a sentence tells of a change: about 1 where it does, about -1 where it does not.

    encoder: the name of the one that made the vector; None for another one than the bundled.
    """
    if encoder != ENCODER or len(vector) != len(_DIRECTION):
        return None
    return STEP * math.fsum(map(mul, vector, _DIRECTION)) + INTERCEPT
