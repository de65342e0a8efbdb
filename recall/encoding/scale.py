"""Maps another encoder's cosines to the bundled one's scale, with which ranking, scores and merging were fitted.

Encoders differ in what a cosine means: unrelated texts have about 0 with one, and .75 with another. A few memories,
each with a message that it answers, give two points of an encoder's scale: the mean cosine of unrelated pairs, and
that of related ones. They are mapped to the bundled encoder's points, linearly in between; 1 stays 1.

This calibrates the scale alone. How well an encoder distinguishes a useful memory from a similar one differs too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall.tables import table

Floats = NDArray[np.float32]


SAMPLES = tuple(
    text
    for language in ("English", "Chinese")
    for _, pair in table("samples").texts(language)
    for text in pair.split(" / ")
)
"""Memory and message in turn, first in English, then the same in Chinese."""
# An encoder with a smaller gap distinguishes nothing, and stretching it would only amplify noise.
_LEAST_GAP = 0.02


@dataclass(frozen=True, slots=True)
class Scale:
    """The mean cosine of unrelated pairs of a memory and a message, and of related ones."""

    unrelated: float
    related: float

    @property
    def slope(self) -> float:
        """The slope of the mapping up to the cosine of related pairs."""
        return (BUNDLED.related - BUNDLED.unrelated) / (self.related - self.unrelated)

    def cosines(self, values: Floats) -> Floats:
        """Return cosines of this encoder as the bundled one's; -1, which means no vector, stays."""
        if self == BUNDLED:
            return values
        below = BUNDLED.unrelated + (values - self.unrelated) * self.slope
        rest = (1 - BUNDLED.related) / max(1 - self.related, _LEAST_GAP)
        above = BUNDLED.related + (values - self.related) * rest
        cosines: Floats = np.clip(np.where(values <= self.related, below, above), -1, 1).astype(np.float32)
        return np.where(values <= -1, np.float32(-1), cosines)

    def less_common(self, values: Floats, share: float) -> Floats:
        """Return mapped products with a query vector less a share of the rows' mean (`rank.message_vector`).

        For x = c - share * m, where c and the mean m are cosines, it returns what x is when both are mapped.
        """
        if self == BUNDLED:
            return values
        moved = (1 - share) * (BUNDLED.unrelated - self.slope * self.unrelated)
        return (np.float32(self.slope) * values + np.float32(moved)).astype(np.float32)


BUNDLED = Scale(0.0442, 0.3826)
"""The bundled encoder's scale, by `scale_of` over `SAMPLES`."""


def scale_of(vectors: NDArray[Any]) -> Scale:
    """Return an encoder's scale from the unit vectors of `SAMPLES`, in the language that it distinguishes better."""
    half = len(SAMPLES) // 2
    scales = []
    for part in (vectors[:half], vectors[half:]):
        near = np.asarray(np.vecdot(part[0::2, None], part[None, 1::2]), np.float64)
        related = float(np.trace(near)) / len(near)
        unrelated = (float(near.sum()) - float(np.trace(near))) / (near.size - len(near))
        scales.append(Scale(round(unrelated, 4), round(related, 4)))
    best = max(scales, key=lambda scale: (scale.related - scale.unrelated) / max(1 - scale.unrelated, _LEAST_GAP))
    return best if best.related - best.unrelated >= _LEAST_GAP and best.related < 1 else BUNDLED


def unit_rows(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Return vectors at length 1; zero for one whose length is zero or not finite."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    usable = np.isfinite(lengths) & (lengths > 0)
    vectors: NDArray[np.float32] = np.where(usable, rows / np.where(usable, lengths, 1), 0).astype(np.float32)
    return vectors
