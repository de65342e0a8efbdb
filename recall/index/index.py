"""The index as one thread sees it: the stored rows, and the scopes of which it holds columns in memory."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from recall.encoding.scale import BUNDLED, Scale
from recall.encoding.vectors import packed
from recall.index.sampling import Wanted, sample
from recall.index.scope_rows import ScopeRows
from recall.rows.replacement import cleaned, same_text
from recall.rows.sql import Rows
from recall.rows.tables import RowKey, SearchTerms, VectorSpace
from recall.text.row_texts import embedded_text
from recall.types import Entry, FileChange, FileEntries, Stored, Vectors

# Rows in memory over all scopes; beyond them the scopes that were used longest ago leave. A row has half a kilobyte.
_RESIDENT_ROWS = 150_000
# And scopes: each costs a few kilobytes by itself, however few rows it has.
_RESIDENT_SCOPES = 1_000
_LOADED_AT_ONCE = 1_000


class Index:
    """Rows, and what of them is in memory. Synchronous, and not thread-safe: see `IndexThread`."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._scopes: OrderedDict[str, ScopeRows] = OrderedDict()
        # Scopes in memory in which another process may have written since.
        self._behind: set[str] = set()
        # The encoder of this process, once it is loaded, and that of the vectors which are read.
        self._encoder: tuple[str, int] | None = None
        # The one whose vectors were kept, once they were.
        self._kept: tuple[str, int] | None = None
        self._space = VectorSpace("", 0, 0, 0)
        # Rises when the rows were replaced: everything is to be given to the index again, and revisions begin anew.
        self.generation = 0
        # How often the rows were found damaged.
        self.damaged = 0

    def open(self) -> bool:
        """Open the rows; return whether they are empty and need everything again."""
        opening = self.rows.open()
        self.damaged += opening == "repaired"
        if self.rows.is_current():  # else its server is away, and is looked at when it is back
            self._look_at_encoder()
        return opening != "found"

    def close(self) -> None:
        self._scopes.clear()
        self.rows.close()

    # The encoder

    @property
    def dimension(self) -> int:
        return self._space.dimension

    @property
    def scale(self) -> Scale:
        """What the cosines of the vectors that are read mean."""
        return Scale(self._space.unrelated, self._space.related) if self._space.name else BUNDLED

    @property
    def encoder(self) -> str:
        """The name of the encoder whose vectors are read; "" while there are none."""
        return self._space.name

    @property
    def is_ours(self) -> bool:
        """Whether the vectors that are read are of this process's encoder."""
        return self._encoder is not None and self._encoder == (self._space.name, self._space.dimension)

    def fits(self, vector: NDArray[np.float32]) -> bool:
        """Return whether a vector can be compared with the stored ones."""
        return self.is_ours and len(vector) == self.dimension

    def use_encoder(self, name: str, dimension: int, scale: Scale, now: float) -> bool:
        """Say which encoder this process has; its vectors are made in the background, and others' stay. now: epoch.

        False if its vectors can't be kept yet, see `remove_unused_vectors`, or were removed after this process had its
        way once: of processes with three encoders, those that started last win.
        """
        self._encoder = (name, dimension)
        space = VectorSpace(name, dimension, scale.unrelated, scale.related)
        if self.rows.use_vector_space(space, now, begins=self._kept != self._encoder):
            self._kept = self._encoder
        self._look_at_encoder()
        return self.is_ours

    def remove_unused_vectors(self, now: float) -> bool:
        """See `Rows.remove_unused_vectors`."""
        more = self.rows.remove_unused_vectors(now)
        self._look_at_encoder()
        return more

    def _look_at_encoder(self) -> None:
        """Notice whose vectors are read; columns in memory are of no use if they are another encoder's."""
        space = self.rows.vector_space()
        if space != self._space:
            self._scopes.clear()
        self._space = space

    # What other processes did

    def follow(self) -> None:
        """Notice what other processes wrote."""
        with self.following():
            pass

    @contextmanager
    def following(self, scope: str = "") -> Iterator[None]:
        """Notice what other processes wrote, and let a block read rows as they are now; see `Rows.following`."""
        with self.rows.following(scope) as poll:
            if poll == "replaced":
                self._start_anew()
            if poll == "changed":
                self._look_at_encoder()
                self._behind.update(self._scopes)
            yield

    def replace(self) -> None:
        """Put empty rows in the place of damaged ones."""
        self.damaged += 1
        self.rows.recreate()
        self._start_anew()

    def _start_anew(self) -> None:
        self.generation += 1
        self._scopes.clear()
        self._look_at_encoder()

    def _catch_up(self, scope: str) -> None:
        resident = self._scopes.get(scope)
        if resident is None:
            return
        changes = self.rows.changed_since(scope, resident.revision)
        if changes is not None:
            resident.apply(changes)
        if changes is None or resident.worn:
            del self._scopes[scope]

    def scope(self, scope: str) -> ScopeRows | None:
        """Return a scope's columns, loaded if they are not in memory; None for one that has never had rows."""
        if scope in self._behind:
            self._behind.remove(scope)
            self._catch_up(scope)
        resident = self._scopes.get(scope)
        if resident is None:
            resident = self._load(scope)
            if resident is None:
                return None
            self._scopes[scope] = resident
            self._evict(scope)
        self._scopes.move_to_end(scope)
        return resident

    def columns(self, scope: str, wanted: Wanted) -> ScopeRows | None:
        """Return a scope's columns; where its storage searches it, those of rows that a search may want."""
        resident = self._scopes.get(scope)
        large = self.rows.large(scope, 0 if resident is None else len(resident))
        if large is None:
            return self.scope(scope)
        self._scopes.pop(scope, None)
        self._behind.discard(scope)
        return sample(large, wanted, self.dimension)

    def warm(self, scope: str) -> None:
        """Load a scope, so that its first search need not."""
        if scope not in self._scopes and self.rows.large(scope, 0) is None:
            self.scope(scope)

    def vectors_of(self, scope: str, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of rows by id, without those that have none; {} where the scope's storage searches it."""
        self.warm(scope)
        if (rows := self._scopes.get(scope)) is None:
            return {}
        found = {each.entry.id: rows.row_of(each.sequence) for each in self.rows.by_ids(scope, ids)}
        there = {identity: row for identity, row in found.items() if row is not None and rows.embedded.values[row]}
        return dict(zip(there, rows.matrix.take(np.array([*there.values()], np.int64)), strict=True)) if there else {}

    def _load(self, scope: str) -> ScopeRows | None:
        # What changes between two reads is of a later revision, and is caught up with then.
        revision = self.rows.revision(scope)
        if not revision:
            return None
        loaded = ScopeRows(self.dimension, revision)
        last = -1
        while rows := self.rows.load(scope, last, _LOADED_AT_ONCE):
            loaded.take(rows)
            last = rows[-1].sequence
        loaded.index_words()
        return loaded

    def _evict(self, kept: str) -> None:
        total = sum(len(rows) for rows in self._scopes.values())
        for scope in list(self._scopes):
            if total <= _RESIDENT_ROWS and len(self._scopes) <= _RESIDENT_SCOPES:
                break
            if scope != kept:
                total -= len(self._scopes.pop(scope))
                self._behind.discard(scope)

    # Rows

    def unprepared(self, scope: str, files: Sequence[FileEntries]) -> list[Entry]:
        """Return those of the entries whose search terms must be made before `replace_files`."""
        stored = self.rows.in_files(scope, [file.name for file in files])
        known = {row.entry.id: row.entry for row in stored}
        entries = [entry for file in files for entry in file.entries]
        return [entry for entry in entries if not same_text(known.get(entry.id), cleaned(entry))]

    def replace_files(
        self, scope: str, files: Sequence[FileEntries], prepared: Mapping[str, SearchTerms]
    ) -> FileChange:
        """See `Rows.replace`."""
        change = self.rows.replace(scope, files, prepared)
        self._behind.add(scope)  # the next search catches up, or the vectors of these rows, with both at once
        return change

    def stored(self, scope: str, sequences: Sequence[int]) -> dict[int, Stored]:
        """Return rows by sequence; those that are gone are left out."""
        return {stored.sequence: stored for stored in self.rows.by_sequences(scope, sequences)}

    # Vectors

    def pending(self, limit: int) -> list[tuple[RowKey, str]]:
        """Return key and text of rows that wait for a vector."""
        pending = self.rows.pending(limit)
        return [((stored.scope, stored.sequence), embedded_text(stored.entry)) for stored in pending]

    def vectors(self) -> Vectors:
        """Return how many rows have vectors of the encoder whose vectors are read."""
        rows, missing = self.rows.totals()
        return Vectors(encoder=self._space.name, rows=rows, missing=missing)

    def put_vectors(self, rows: Sequence[RowKey], vectors: Sequence[NDArray[np.float32]]) -> bool:
        """Keep vectors as bytes, see `packing.packed`.

        False, and nothing is kept, if those of this process's encoder were removed.
        """
        if self._encoder is None or not vectors:
            return self.is_ours
        blobs = [vector.tobytes() for vector in packed(np.stack(vectors))]
        space = self._space._replace(name=self._encoder[0], dimension=self._encoder[1])
        scopes = self.rows.put_vectors(space, list(zip(rows, blobs, strict=True)))
        for scope in scopes or ():
            self._behind.discard(scope)
            self._catch_up(scope)
        return scopes is not None
