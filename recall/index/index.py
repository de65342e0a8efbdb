"""The index as one thread sees it: index.sqlite and the scopes that are in memory. Synchronous; not thread-safe."""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recall.encoding.scale import BUNDLED, Scale
from recall.index.arrays import packed
from recall.index.filters import Filter, condition
from recall.index.prepare import cleaned, prepare, same_text
from recall.index.scope_rows import ScopeRows
from recall.index.store import IndexedRow, Store
from recall.text.entry_text import embedded_text
from recall.text.topics import traits_of
from recall.types import Entry, FileChange, Stamp, Stored

__all__ = ["Index"]

# Rows in memory over all scopes; beyond them the scopes that rested longest leave. Half a kilobyte of vector a row.
_RESIDENT_ROWS = 150_000
# And scopes: each costs a few kilobytes by itself, however few rows it has.
_RESIDENT_SCOPES = 1_000


class Index:
    """index.sqlite and what of it is in memory; one call at a time, see `IndexThread`."""

    def __init__(self, path: Path) -> None:
        self._store = Store(path)
        self._scopes: OrderedDict[str, ScopeRows] = OrderedDict()
        # Scopes in memory in which another process may have written since they were looked at.
        self._behind: set[str] = set()
        self._data_version = 0
        # The encoder of this process, once it is loaded, and the one whose vectors the file has: "name:dimension".
        self._encoder = ""
        self._stored_encoder = ""
        self.dimension = 0
        self.scale = BUNDLED
        # Rises with everything that may change what a search finds; what was cached under another one is stale.
        self.version = 0
        # Rises when the file was replaced: everything is to be given to the index again, and sequences begin anew.
        self.generation = 0
        # How often the file was found damaged.
        self.damaged = 0

    def open(self) -> bool:
        made = self._store.open()
        self.damaged += self._store.was_damaged
        try:
            self._data_version = self._store.data_version()
            self._look_at_encoder()
        except ValueError:  # a number that is none
            self.damaged += 1
            self._store.close()
            self._store.discard()
            made = self._store.open()
            self._data_version = self._store.data_version()
            self._look_at_encoder()
        return made

    def close(self) -> None:
        self._scopes.clear()
        self._store.close()

    def fits(self, vector: NDArray[np.float32]) -> bool:
        """Whether a vector is of the kind that the rows have: of the encoder that the index was told of."""
        return self.is_ours and len(vector) == self.dimension

    @property
    def is_ours(self) -> bool:
        """Whether the rows' vectors are of this process's encoder. Another process may have another one."""
        return self._encoder != "" and self._encoder == self._stored_encoder

    def use_encoder(self, name: str, dimension: int, scale: Scale) -> bool:
        """Say which encoder this process has. Vectors of another one are forgotten, and made anew in the background.

        False if, after this process had its way once, another process has another encoder: the last that started wins.
        """
        wanted = f"{name}:{dimension}"
        found = self._store.meta("encoder")
        if found != wanted and (found == "" or self._encoder != wanted):
            with self._store.writing():
                self._store.forget_vectors(self._store.next_revision())
                self._store.set_meta("encoder", wanted)
                self._store.set_meta("scale", f"{scale.unrelated} {scale.related}")
        self._encoder = wanted
        self._look_at_encoder()
        return self.is_ours

    def _look_at_encoder(self) -> None:
        """Notice which encoder's vectors the file has; what was loaded is of no use if they are another one's."""
        found = self._store.meta("encoder")
        if found != self._stored_encoder:
            self._scopes.clear()
            self.version += 1
        self._stored_encoder, self.dimension = found, _dimension_of(found)
        scale = self._store.meta("scale").split()
        self.scale = Scale(float(scale[0]), float(scale[1])) if scale else BUNDLED

    # What other processes did

    def follow(self) -> bool:
        """Notice what other processes wrote. True if the file itself was replaced, and all is to be read again."""
        if self._store.lost():
            self.reopen()
            return True
        version = self._store.data_version()
        if version != self._data_version:
            self._data_version = version
            self.version += 1
            self._look_at_encoder()
            self._behind.update(self._scopes)
        return False

    def reopen(self) -> bool:
        """Open the file again, or anew. True if it had to be made."""
        self.close()
        self.version += 1
        self.generation += 1
        return self.open()

    def replace(self) -> None:
        """Put an empty file in the place of a damaged one."""
        self.close()
        self.version += 1
        self.generation += 1
        self.damaged += 1
        self._store.discard()
        self.open()

    def _catch_up(self, key: str) -> None:
        rows, number = self._scopes.get(key), self._store.scope_number(key)
        if rows is None or number is None:
            return
        with self._store.reading():
            revision = self._store.revision()
            if revision == rows.revision:
                return
            removed = self._store.removed_since(number, rows.revision)
            if removed is None:
                del self._scopes[key]
                return
            rows.take(self._store.load(number, rows.revision) if rows.revision else self._store.load(number))
            rows.remove(removed)
            rows.put_sequences(self._store.vectors_since(number, rows.revision))
            rows.revision = revision
        if rows.worn:
            del self._scopes[key]

    def scope(self, key: str) -> ScopeRows | None:
        """A scope in memory, loaded if it isn't; None for one that has no rows."""
        if key in self._behind:
            self._behind.remove(key)
            self._catch_up(key)
        rows = self._scopes.get(key)
        if rows is None:
            number = self._store.scope_number(key)
            if number is None:
                return None
            rows = ScopeRows(self.dimension)
            with self._store.reading():
                rows.revision = self._store.revision()
                rows.take(self._store.load(number))
            rows.index_words()
            self._scopes[key] = rows
            self._let_rest(key)
        self._scopes.move_to_end(key)
        return rows

    def _let_rest(self, kept: str) -> None:
        total = sum(len(rows) for rows in self._scopes.values())
        for key in list(self._scopes):
            if total <= _RESIDENT_ROWS and len(self._scopes) <= _RESIDENT_SCOPES:
                break
            if key != kept:
                total -= len(self._scopes.pop(key))
                self._behind.discard(key)

    # Rows

    def stamps(self, scope: str) -> dict[str, Stamp]:
        number = self._store.scope_number(scope)
        return {} if number is None else self._store.stamps(number)

    def unprepared(self, scope: str, file: str, entries: Sequence[Entry]) -> list[Entry]:
        """Those of the entries whose terms must be made before `replace_file`."""
        known = {stored.entry.id: stored.entry for stored in self._rows_of(scope, file)}
        return [entry for entry in entries if not same_text(known.get(entry.id), entry)]

    def _rows_of(self, scope: str, file: str) -> list[Stored]:
        number = self._store.scope_number(scope)
        return [] if number is None else self._store.rows("r.scope = ? and r.file = ?", (number, file))

    def replace_file(
        self, scope: str, file: str, stamp: Stamp | None, entries: Sequence[Entry], prepared: dict[str, IndexedRow]
    ) -> FileChange:
        """Make the rows of a file those of `entries`; `prepared` holds terms by id, what it lacks is made here.

        Raises sqlite3.OperationalError while another process writes.
        """
        wanted = {entry.id: entry for entry in reversed(entries)}
        added: list[int] = []
        with self._store.writing():
            revision = self._store.next_revision()
            number = self._store.scope_number(scope, make=True)
            assert number is not None
            known = {stored.entry.id: stored for stored in self._rows_of(scope, file)}
            for start in range(0, len(wanted), 500):
                # A line that moved here from another file keeps its row.
                missing = [id_ for id_ in list(wanted)[start : start + 500] if id_ not in known]
                marks = ",".join("?" * len(missing))
                moved = self._store.rows(f"r.scope = ? and r.id in ({marks})", (number, *missing))
                known.update((stored.entry.id, stored) for stored in moved)
            left = [stored for id_, stored in known.items() if id_ not in wanted]
            gone = [stored.sequence for stored in left]
            fresh: list[Entry] = []
            for entry in wanted.values():
                stored = known.get(entry.id)
                if stored is None or not same_text(stored.entry, entry):
                    fresh.append(entry)
                    if stored is not None:
                        gone.append(stored.sequence)
                elif stored.entry != cleaned(entry) or stored.file != file:
                    traits = traits_of(entry.text, entry.category)
                    self._store.update(revision, stored.sequence, file, cleaned(entry), traits)
            self._store.remove(revision, number, gone)
            for entry in reversed(fresh):
                indexed = prepared.get(entry.id) or prepare(entry)
                added.append(self._store.insert(revision, number, file, cleaned(entry), indexed))
            self._store.set_stamp(number, file, stamp)
        self.version += 1
        if scope in self._scopes:
            self._catch_up(scope)
        new = self._stored(added)
        return FileChange(added=new, removed=tuple(left))

    def _stored(self, sequences: Sequence[int]) -> tuple[Stored, ...]:
        found: dict[int, Stored] = {}
        for start in range(0, len(sequences), 500):
            found.update(self._store.by_sequences(list(sequences[start : start + 500])))
        return tuple(found[sequence] for sequence in sequences if sequence in found)

    def stored(self, sequences: Sequence[int]) -> tuple[Stored, ...]:
        return self._stored(sequences)

    def added_since(self, scope: str, sequence: int) -> tuple[int, tuple[Stored, ...]]:
        number = self._store.scope_number(scope)
        if number is None:
            return 0, ()
        with self._store.reading():
            query = "select coalesce(max(sequence), 0) from row where scope = ?"
            highest = int(self._store.connection.execute(query, (number,)).fetchone()[0])
            where = "r.scope = ? and r.sequence > ? and r.kind = 'item' order by r.sequence"
            return max(highest, sequence), tuple(self._store.rows(where, (number, sequence)))

    def get(self, scope: str, id_: str) -> Stored | None:
        number = self._store.scope_number(scope)
        found = [] if number is None else self._store.rows("r.scope = ? and r.id = ?", (number, id_))
        return found[0] if found else None

    def owners(self, scope: str, ids: Sequence[str]) -> dict[str, str]:
        """The file that each of these ids stands in, for those that the index knows."""
        number = self._store.scope_number(scope)
        return {} if number is None else self._store.owners(number, ids)

    def newest(self, scope: str, limit: int) -> tuple[Stored, ...]:
        number = self._store.scope_number(scope)
        if number is None:
            return ()
        where = "r.scope = ? and r.kind = 'item' order by r.sequence desc limit ?"
        return tuple(self._store.rows(where, (number, limit)))

    def matching(self, scope: str, only: Filter) -> NDArray[np.int64]:
        """The sequences of a scope's rows that pass a filter."""
        where, values = condition(only)
        query = f"select r.sequence from row r where r.scope = ? and {where}"
        found = self._store.connection.execute(query, (self._store.scope_number(scope), *values)).fetchall()
        return np.array([sequence for (sequence,) in found], np.int64)

    def listed(self, scope: str, only: Filter, limit: int) -> tuple[Stored, ...]:
        """The items that pass a filter, the newest first."""
        where, values = condition(only)
        where = f"r.scope = ? and r.kind = 'item' and {where} order by r.at desc, r.sequence desc limit ?"
        return tuple(self._store.rows(where, (self._store.scope_number(scope), *values, limit)))

    def count(self, scope: str) -> int:
        number = self._store.scope_number(scope)
        query = "select count(*) from row where scope = ? and kind = 'item'"
        return 0 if number is None else int(self._store.connection.execute(query, (number,)).fetchone()[0])

    # Vectors

    def pending(self, limit: int) -> list[tuple[int, str]]:
        """Sequence and text of rows that wait for a vector."""
        return [(sequence, embedded_text(row.entry)) for sequence, row in self._store.pending(limit)]

    def pending_count(self) -> int:
        return self._store.pending_count()

    def row_count(self) -> int:
        return int(self._store.connection.execute("select count(*) from row").fetchone()[0])

    def put_vectors(self, sequences: Sequence[int], vectors: Sequence[NDArray[np.float32]]) -> bool:
        """Keep vectors as bytes, see `arrays.Matrix`. Raises as `replace_file`.

        False, and nothing is kept, if another process has changed to another encoder.
        """
        blobs = [vector.tobytes() for vector in packed(np.stack(vectors))] if vectors else []
        with self._store.writing():
            if self._store.meta("encoder") != self._encoder:
                return False
            scopes = self._store.put_vectors(self._store.next_revision(), list(zip(sequences, blobs, strict=True)))
        self.version += 1
        for key in scopes & self._scopes.keys():
            self._catch_up(key)
        return True


def _dimension_of(encoder: str) -> int:
    return int(encoder.rpartition(":")[2] or 0)
