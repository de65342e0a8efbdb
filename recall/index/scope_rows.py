"""One scope in memory: columns of numbers, the postings and the vectors. Texts stay in the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from recall.encoding.vectors import packed_type, unpacked
from recall.index.growing import Growing, Matrix
from recall.ranking import rank
from recall.ranking.postings import Postings
from recall.rows.tables import LoadedRow, ScopeChanges
from recall.text.topics import QUESTION

# Removed rows keep their place until they are this share of a scope; then it is loaded again.
_DEAD_SHARE = 0.3
_DEAD_ROWS = 256
# An episode of less importance is what the assistant said.
REPLIES_BELOW = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RowConstants:
    """Scores and facts of rows that change only when the rows do; the functions of `rank` with their names say what."""

    length_norms: NDArray[np.float32]
    adjacent: tuple[NDArray[np.bool_], NDArray[np.bool_]]
    recency: NDArray[np.float32]
    standing: NDArray[np.float32]
    has_speakers: bool
    lectures: NDArray[np.bool_]
    assisted: bool


class ScopeRows:
    """Rows of a scope in the order of their insertion. A row number is a position; a sequence identifies a row."""

    def __init__(self, dimension: int, revision: int) -> None:
        self.revision = revision
        self._constants: RowConstants | None = None
        self.sequences = Growing(np.int64)
        self.at = Growing(np.float64)
        self.importance = Growing(np.float32)
        self.sessions = Growing(np.uint32)
        self.traits = Growing(np.int64)
        self.speakers = Growing(np.uint32)
        self.lengths = Growing(np.float32)
        # Not removed and not of type S, which is what a search may return; and of these, the items.
        self.searchable = Growing(np.bool_)
        self.items = Growing(np.bool_)
        self.episodes = Growing(np.bool_)
        self.turns = Growing(np.int64)
        self.embedded = Growing(np.bool_)
        self.terms = Growing(np.uint32)
        self.offsets = Growing(np.int64, [0])
        self.matrix = Matrix(dimension)
        self.postings = Postings()
        self.dead = 0
        # The sum and number of the vectors, for what all rows have in common. Removed rows count until a reload.
        self.vector_sum = np.zeros(dimension, np.float32)
        self.vectors = 0

    def __len__(self) -> int:
        return len(self.sequences)

    @property
    def worn(self) -> bool:
        """Whether so many rows are removed that the scope should be loaded again."""
        return self.dead > max(_DEAD_ROWS, len(self) * _DEAD_SHARE)

    def row_of(self, sequence: int) -> int | None:
        sequences = self.sequences.values
        row = int(np.searchsorted(sequences, sequence))
        return row if row < len(sequences) and sequences[row] == sequence else None

    def apply(self, changes: ScopeChanges) -> None:
        """Bring the columns to the revision of the changes."""
        self.take(changes.rows)
        self.remove(changes.removed)
        self._put_sequences(changes.vectors)
        self.revision = changes.revision

    def take(self, rows: Sequence[LoadedRow]) -> None:
        """Append new rows, by sequence, and change the attributes of known ones."""
        self._constants = None
        last = int(self.sequences.values[-1]) if len(self) else -1
        fresh = [row for row in rows if row.sequence > last]
        for row in rows:
            if row.sequence <= last:
                self._change(row)
        if fresh:
            self._append(fresh)

    def _change(self, values: LoadedRow) -> None:
        row = self.row_of(values.sequence)
        if row is None:
            return
        self.at.values[row] = values.at
        self.importance.values[row] = values.importance
        self.sessions.values[row] = _session_of(values.file, values.session)
        self.traits.values[row] = values.traits
        self.searchable.values[row] = values.type != "S"
        self.items.values[row] = values.type != "S" and values.kind == "item"
        self.turns.values[row] = values.turn
        if values.vector is None:
            self.embedded.values[row] = False
            self.matrix.put(row, np.zeros(1, packed_type(self.matrix.dimension)))

    def _append(self, rows: Sequence[LoadedRow]) -> None:
        sequences, at, importance, types, kinds, files, sessions, turns, traits, speakers, lengths, terms, vectors = (
            zip(*rows, strict=True)
        )
        first = len(self)
        self.sequences.append(sequences)
        self.at.append(at)
        self.importance.append(importance)
        self.sessions.append([_session_of(file, session) for file, session in zip(files, sessions, strict=True)])
        self.traits.append(traits)
        self.speakers.append(speakers)
        self.lengths.append(lengths)
        searchable = np.array([type_ != "S" for type_ in types])
        self.searchable.append(searchable)
        self.items.append(searchable & np.array([kind == "item" for kind in kinds]))
        self.episodes.append([kind == "episode" for kind in kinds])
        self.turns.append(turns)
        sizes = np.fromiter(map(len, terms), np.int64, len(terms))
        if (sizes % 4).any() or (sizes // 4 < np.asarray(lengths)).any():
            raise ValueError("a row's terms are damaged")
        self.offsets.append(self.offsets.values[-1] + np.cumsum(sizes // 4))
        self.terms.append(np.frombuffer(b"".join(terms), "<u4"))
        self.embedded.append(np.zeros(len(rows), bool))
        self.matrix.grow(len(self))
        present = [place for place, vector in enumerate(vectors) if vector is not None]
        if present:
            self._put_vectors(np.array(present) + first, [vectors[place] for place in present])

    def _put_vectors(self, rows: NDArray[np.int64], blobs: Sequence[bytes]) -> None:
        """Set vectors as they are stored, see `packing.packed`; rows ascend. A row that has one keeps it."""
        new = ~self.embedded.values[rows]
        rows, vectors = rows[new], np.frombuffer(b"".join(blobs), packed_type(self.matrix.dimension))[new]
        if not len(rows):
            return
        if len(rows) == rows[-1] - rows[0] + 1:
            self.matrix.put(int(rows[0]), vectors)
        else:
            for place, row in enumerate(rows):
                self.matrix.put(int(row), vectors[place : place + 1])
        self.embedded.values[rows] = True
        self.vector_sum += unpacked(vectors).sum(axis=0)
        self.vectors += len(rows)

    def _put_sequences(self, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Set vectors by sequence; those of unknown rows are left out."""
        places = sorted((row, blob) for sequence, blob in vectors if (row := self.row_of(sequence)) is not None)
        if places:
            self._put_vectors(np.array([row for row, _ in places]), [blob for _, blob in places])

    def remove(self, sequences: Sequence[int]) -> None:
        """Let searches pass over rows; they keep their places until the scope is loaded again."""
        self._constants = None
        for sequence in sequences:
            row = self.row_of(sequence)
            if row is not None and self.lengths.values[row] >= 0:
                self.searchable.values[row] = self.items.values[row] = False
                self.lengths.values[row] = -1.0
                self.dead += 1

    @property
    def total(self) -> int:
        """How many rows the scope has."""
        return len(self)

    def average_length(self) -> float:
        return float(self.lengths.values.sum()) / len(self)

    def counts_of(self, terms: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Return how many rows of the scope hold each term."""
        counts = np.zeros(len(terms), np.int64)
        for segment in self.index_words().segments:
            starts, ends = segment.find(terms)
            counts += ends - starts
        return counts

    def adjacent(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """See `rank.adjacent`."""
        return rank.adjacent(self.sessions.values)

    def constants(self) -> "RowConstants":
        """Return what does not depend on the query. At 100,000 rows it takes as long as all that does."""
        if self._constants is None:
            lengths = self.lengths.values
            replies = self.episodes.values & (self.importance.values < REPLIES_BELOW)
            lectures, assisted = rank.lectures(self.turns.values, replies, self.average_length())
            self._constants = RowConstants(
                length_norms=rank.length_norms(lengths, self.average_length()),
                adjacent=self.adjacent(),
                recency=rank.recency(self.at.values, self.episodes.values),
                standing=rank.standing(
                    lengths,
                    (self.traits.values & QUESTION) != 0,
                    self.importance.values,
                    replies,
                ),
                has_speakers=bool(self.speakers.values.any()),
                lectures=lectures,
                assisted=assisted,
            )
        return self._constants

    def index_words(self) -> Postings:
        """Return the postings of all rows."""
        self.postings.extend(self.terms.values, self.offsets.values, len(self))
        return self.postings

    def terms_of(self, rows: NDArray[np.int64]) -> list[NDArray[np.uint32]]:
        """Return the terms of each of some rows, with repeats."""
        starts, ends = self.offsets.values[rows].tolist(), self.offsets.values[rows + 1].tolist()
        terms = self.terms.values
        return [terms[start:end] for start, end in zip(starts, ends, strict=True)]


def _session_of(file: str, session: str) -> int:
    """Return a number for a session within a file, whose rows are neighbours; 0 for a row without a session."""
    return crc32(f"{file}\n{session}".encode()) if session else 0
