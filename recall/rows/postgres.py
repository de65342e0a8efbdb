"""Rows in PostgreSQL: several processes share them. The tables are made by who owns the database.

Rows of the scopes that were read lately stay in memory with their texts, so that a search of them needs no more than a
look at the scope's revision; while the server is away, not even that.
"""

import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from heapq import nlargest
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gateway_memory.ground.databases import EVERY
from gateway_memory.ground.logs import get_logger
from recall.rows.columns import LOADED, STORED, joined, stored_of
from recall.rows.postgres_large import LargeRows, LargeState, pgvector_of
from recall.rows.server import Server
from recall.rows.shards import SHARD
from recall.rows.sql import Rows, put_vector
from recall.rows.sqlite_file import translating
from recall.rows.tables import LoadedRow, Opening, Poll, RowKey, ScopeChanges, ScopeSize, SearchTerms, VectorSpace
from recall.types import FileChange, FileEntries, Filter, RecallError, Stored

if TYPE_CHECKING:
    from recall.rows.postgres_building import LargeScopes

_log = get_logger(__name__)

# Rows in memory with their texts, over all scopes. A row has about a kilobyte.
_RESIDENT_ROWS = 150_000
# A scope of so many rows is searched in the database, where it has pgvector.
_LARGE_ROWS = 100_000
# The lists and the graph lag by so many rows at most, which a search reads one by one.
_BEHIND_ROWS = 500
# Beyond them, rows are not counted one by one, and neither are those without a vector, which an index has.
_COUNTED = 10_000
_PENDING_COUNTED = 100_000
# An opening asks for the same lists as the last one, where nothing of the scope has changed.
_SCOPES_WITH_RESULTS = 256
_RESULTS_KEPT = 32
_LONGEST_RESULT = 200  # rows
# Rows that wait for a vector are looked through so far for those that are this process's to make.
_PENDING_SEEN = 2_000
_OURS_AT_MOST = 1_000_000
# A row whose process has made no vector after so long is any process's. One at a time works on those of a change of the
# encoder; after so long without a sign of it, another one does.
_LEFT_SECONDS = 30.0
# A standby that is promoted, and a backup that is restored, may lack the last commits: revisions, sequences and numbers
# of scopes are then given a second time. Neither can have the same start and the same table as what was there before.
# A mere restart looks the same, and costs as much: what is in memory is loaded again.
_PLACE = "'meta'::regclass::oid || ' ' || extract(epoch from pg_postmaster_start_time())"
_META = f"select key, value from meta union all select '', {_PLACE}"
# With it, in one message, what a scope's revision is, and up to which one it is no longer known what was removed.
_META_AND_SCOPE = f"{_META} union all select ' ', revision || ' ' || forgotten from scope where key = ?"
# A replica is read for a scope if it has the newest commit of the scope, counted on the same server, and the same
# encoders. The server's name comes to it with what is committed there, so a replica that has stayed behind with
# another server never has it.
_PUT_PLACE = (
    f"insert into meta select 'place', {_PLACE} on conflict (key) do update set value = excluded.value returning key"
)
_ENCODERS = "select string_agg(key || ' ' || value, ' ' order by key) from meta where starts_with(key, 'encoder')"
_POSITION = f"select revision, {_PLACE}, ({_ENCODERS}) from scope where key = ?"
_HAS = (
    "select 1 from scope, meta where scope.key = ? and revision >= ? and meta.key = 'place' and value = ?"
    f" and ({_ENCODERS}) is not distinct from ?"
)
# Rows by their keys: their scopes, and their sequences.
_NAMED = "unnest(cast(? as text[]), cast(? as bigint[])) as n(scope, sequence)"
_MAKER = (
    "insert into meta values (?, ? || ' ' || extract(epoch from now())) on conflict (key) do update set"
    " value = excluded.value where starts_with(meta.value, ?)"
    " or split_part(meta.value, ' ', 2)::float8 < extract(epoch from now()) - ? returning key"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What a look at the server found. written: how often this process had written before."""

    meta: dict[str, str]
    place: str
    scope: str
    revision: tuple[int, int]
    written: int


@translating
class PostgresRows(Rows):
    """`Rows` in PostgreSQL. arguments: of `TimeoutConnection.connect`; they say in which schema the tables are.

    resident_rows: the maximum number of rows whose texts stay in memory. large_rows: from so many rows on a scope is
    searched in the database, if that has pgvector. replica: the DSN of a server that replays what this one writes.
    Rows of a scope are read there if it has the newest of them; "" for none. shard: what `meta` must say of the scopes
    that are kept here, "" for all; a server that has only a part of them may be away while the rows are opened.
    """

    def __init__(
        self,
        dsn: str,
        arguments: dict[str, Any],
        *,
        resident_rows: int = _RESIDENT_ROWS,
        large_rows: int = _LARGE_ROWS,
        replica: str = "",
        shard: str = "",
    ) -> None:
        self._server = Server(dsn, arguments)
        self._shard = shard
        self._replica = Server(replica, arguments) if replica else None
        super().__init__(self._server)
        self._most = resident_rows
        self._large_rows = large_rows
        self._connect = (dsn, arguments)
        self._pgvector: str | None = None
        self._building: LargeScopes | None = None
        self._texts: OrderedDict[str, dict[int, Stored]] = OrderedDict()
        # Rows that wait for a vector: those that this process has inserted, and when it first saw those of others.
        self._ours: set[RowKey] = set()
        self._seen: dict[RowKey, float] = {}
        self._nobody_waits_until = 0.0
        self._name = uuid4().hex
        # What is in memory is of this server, and of these tables; "" before they were looked at.
        self._place = ""
        self._look: _Look | None = None
        # What was read of a scope at its last revision, by query and values.
        self._results: OrderedDict[str, tuple[int, dict[tuple[object, ...], list[Any]]]] = OrderedDict()

    def open(self) -> Opening:
        try:
            opening = super().open()
        except RecallError:
            if not self._shard:
                raise
            self._server.open_later()
            opening = "found"
        if self._replica is not None:
            self._replica.open_later()
        return opening

    def close(self) -> None:
        if self._building is not None:
            self._building.close()
            self._building = None
        if self._replica is not None:
            self._replica.close()
        super().close()

    def poll(self) -> Poll:
        """Return what others may have done since the last poll; "replaced" where the server has stepped back."""
        with self.following("") as poll:
            return poll

    @contextmanager
    def following(self, scope: str) -> Iterator[Poll]:
        """Look at the server once for a block, which sees the encoders and this scope's revision as they were then."""
        try:
            yield self._look_around(scope)
        finally:
            self._look = None

    def _look_around(self, scope: str) -> Poll:
        if super().poll() == "unchanged":
            return "unchanged"
        try:
            self._look = look = self._looked(scope)
        except RecallError:
            if self.is_current():
                raise
            return "unchanged"  # the server has just gone away: what is in memory must do
        is_known = self._place in ("", look.place)
        self._place = look.place
        if is_known:
            return "changed"
        self._texts.clear()
        self._results.clear()
        self._ours.clear()
        self._seen.clear()
        return "replaced"

    def _still(self) -> _Look | None:
        """Return what the last look found, while it is of the block that runs, and nothing was written since."""
        look = self._look
        return look if look and look.written == self._server.written and not self._server.in_transaction else None

    def _meta(self) -> dict[str, str]:
        """Return what is noted of all rows, as the last look has it, or anew. Raises RecallError.

        A server that has stepped back since then is an error: sequences may name other rows there.
        """
        if look := self._still():
            return look.meta
        look = self._looked("")
        if self._place not in ("", look.place):
            raise RecallError("PostgreSQL has other rows than a moment ago; the next search begins anew")
        self._place = look.place
        return look.meta

    def _scope(self, scope: str) -> tuple[int, int]:
        look = self._still()
        return look.revision if look and look.scope == scope else super()._scope(scope)

    def _looked(self, scope: str) -> _Look:
        """Return what is noted of all rows and of a scope, and on which server, in which tables."""
        written = self._server.written
        self._server.see("")
        meta = dict(self._rows(_META_AND_SCOPE, scope) if scope else self._rows(_META))
        place = meta.pop("")
        revision, forgotten = map(int, meta.pop(" ", "0 0").split())
        if meta.get(SHARD, "") != self._shard:
            _log.error("recall.other_shards")
            raise RecallError("store.shards of this host is not the list that `gateway-memory db migrate` has noted")
        if not self._place:
            self._pgvector = pgvector_of(self._server)
        if self._replica is not None and meta.get("place") != place:
            self._rows(_PUT_PLACE)
        return _Look(meta=meta, place=place, scope=scope, revision=(revision, forgotten), written=written)

    def _reader(self, scope: str) -> Server:
        """Return where rows of a scope are read: the replica if it has the newest of them. It sees the scope then."""
        replica = self._replica
        if replica is not None and not self._server.in_transaction:
            with suppress(RecallError):
                self._server.see("")
                replica.see("")
                if any(replica.execute(_HAS, (scope, *at)).fetchall() for at in self._rows(_POSITION, scope)):
                    replica.see(scope)
                    return replica
        self._server.see(scope)
        return self._server

    def _read(self, scope: str, query: str, *values: Any) -> tuple[Server, list[Any]]:
        """Return rows of a query that sees a scope alone, and where they were read."""
        if (reader := self._reader(scope)) is not self._server:
            with suppress(RecallError):  # it was lost just now, or what it has replayed was in the way
                return reader, reader.execute(query, values).fetchall()
            self._server.see(scope)
        return self._server, self._rows(query, *values)

    def _of(self, scope: str, query: str, *values: Any) -> list[Any]:
        look = self._still()
        if look is None or look.scope != scope:
            return self._read(scope, query, scope, *values)[1]
        of, results = self._results.get(scope, (0, {}))
        if of != look.revision[0] or len(results) > _RESULTS_KEPT:
            results = {}
        self._results[scope] = look.revision[0], results
        self._results.move_to_end(scope)
        if len(self._results) > _SCOPES_WITH_RESULTS:
            self._results.popitem(last=False)
        key = (query, *values)
        if (found := results.get(key)) is None:
            found = self._read(scope, query, scope, *values)[1]
            if len(found) <= _LONGEST_RESULT:
                results[key] = found
        return found

    def large(self, scope: str, loaded: int) -> LargeRows | None:
        """Return a scope that is searched in the database; have it made, or brought up to date, where that is due."""
        if self._pgvector is None or 0 < loaded < self._large_rows or not self.is_current():
            return None
        table, space = self._slot.table, self._slot.space
        # The tables for the search may be farther on one server than on the other.
        server, states = self._read(
            scope,
            "select l.number, l.sequence, l.revision, l.ready, l.graph, l.encoder, l.dimension, l.vectors,"
            " l.vector_sum, b.rows, b.length,"
            " (select count(*) from (select 1 from row where scope = ? and sequence > l.sequence limit ?) as few),"
            f" (select count(*) from (select 1 from {table} where scope = ? and revision > l.revision limit ?) as few),"
            " exists (select 1 from removed where scope = ? and revision > l.removals)"
            " from large l, (select coalesce(sum(rows), 0)::bigint as rows, coalesce(sum(length), 0)::bigint as length"
            " from large_block where scope = ?) as b where l.scope = ?",
            scope, _BEHIND_ROWS, scope, _BEHIND_ROWS, scope, scope, scope,
        )  # fmt: skip
        if not states:
            if loaded:
                self._build(scope)
            return None
        number, sequence, revision, ready, graph, name, dimension, vectors, vector_sum, *rest = states[0]
        rows, length, behind, unseen, removed = rest
        # The graph stays with the vectors that it was made from while they serve; by others it can't be searched.
        ours = (name, dimension) == (space.name, space.dimension)
        is_outdated = not self._spaces.find((name, dimension))
        late = max(behind, unseen if ours else 0) >= _BEHIND_ROWS
        if not (ready and graph) or is_outdated or removed or late:
            self._build(scope)
        if not ready or rows < self._large_rows:
            return None
        self._texts.pop(scope, None)
        size = ScopeSize(rows + behind, length, vectors if ours else 0, vector_sum if ours else b"")
        home = self._pgvector if ours and graph else None
        made = LargeState(number=number, sequence=sequence, revision=revision, vectors=table, home=home)
        return LargeRows(server, scope, made, size)

    def _build(self, scope: str) -> None:
        from recall.rows.postgres_building import LargeScopes

        if self._building is None:
            assert self._pgvector
            self._building = LargeScopes(*self._connect, self._pgvector)
        self._building.request(scope)

    def load(self, scope: str, after: int, limit: int) -> Sequence[LoadedRow]:
        if after < 0:
            self._texts[scope] = {}
        # Vectors are as many as rows: none before this page is looked at.
        where = "and v.sequence > ? where r.scope = ? and r.sequence > ? order by r.sequence limit ?"
        rows = self._load(scope, where, after, scope, after, limit)
        if not rows:
            self._evict(scope)
        return rows

    def _load(self, scope: str, where: str, *values: Any, hint: str = "") -> list[LoadedRow]:
        """Return rows of a scope as the index loads them, and keep their texts."""
        size = len(LoadedRow._fields)
        query = f"select {LOADED}, {STORED} from {joined(self._slot.table, hint)} {where}"
        texts = self._texts.get(scope)
        loaded = []
        for row in self._read(scope, query, *values)[1]:
            loaded.append(LoadedRow._make(row[:size]))
            if texts is not None:
                texts[row[0]] = stored_of(scope, row[size:])
        return loaded

    def _evict(self, kept: str) -> None:
        self._texts.move_to_end(kept)
        total = sum(map(len, self._texts.values()))
        while total > self._most and len(self._texts) > 1:
            total -= len(self._texts.popitem(last=False)[1])

    def changed_since(self, scope: str, revision: int) -> ScopeChanges | None:
        if not self._server.is_current():
            return ScopeChanges(revision, (), (), ())
        self._server.see("")
        if self._scope(scope)[0] == revision:
            return ScopeChanges(revision, (), (), ())
        changes = super().changed_since(scope, revision)
        texts = self._texts.get(scope, {})
        for sequence in changes.removed if changes else ():
            texts.pop(sequence, None)
        return changes

    def by_sequences(self, scope: str, sequences: Sequence[int]) -> Sequence[Stored]:
        texts = self._texts.get(scope)
        if texts is None:
            return super().by_sequences(scope, sequences)
        self._texts.move_to_end(scope)
        stored = [texts[sequence] for sequence in sequences if sequence in texts]
        missing = [sequence for sequence in sequences if sequence not in texts]
        if missing and self.is_current():
            stored += super().by_sequences(scope, missing)
        return stored

    def matching(self, scope: str, only: Filter) -> Sequence[int]:
        if self.is_current() or scope not in self._texts:
            return super().matching(scope, only)
        return [sequence for sequence, stored in self._texts[scope].items() if _passes(stored, only)]

    def replace(self, scope: str, files: Sequence[FileEntries], prepared: Mapping[str, SearchTerms]) -> FileChange:
        change = super().replace(scope, files, prepared)
        if len(self._ours) > _OURS_AT_MOST:  # no encoder makes vectors here
            self._ours.clear()
        self._ours.update((scope, stored.sequence) for stored in change.added)
        return change

    def erase(self, scope: str) -> None:
        self._texts.pop(scope, None)
        self._results.pop(scope, None)
        super().erase(scope)

    # Vectors

    def totals(self) -> tuple[int, int]:
        """Return both numbers; where there are many, as the server estimates them by the table and its indexes."""
        self._server.see(EVERY)
        few = "(select count(*) from (select 1 from row {} limit ?) as few)"
        ((rows, new, others),) = self._rows(
            f"select {few.format('')}, {few.format('where embedded = 0')},"
            f" {few.format('where embedded > 0 and embedded = ?')}",
            _COUNTED, _PENDING_COUNTED, self._slot.other, _PENDING_COUNTED,
        )  # fmt: skip
        rows = max(rows, self._estimated("row")) if rows == _COUNTED else rows
        new = max(new, self._estimated("row_pending")) if new == _PENDING_COUNTED else new
        if others == _PENDING_COUNTED:
            others = max(others, rows - new - self._estimated(self._slot.table))
        return rows, new + others

    def _estimated(self, name: str) -> int:
        """Return how many entries a table or an index has, as the server estimates it."""
        return int(self._rows("select reltuples from pg_class where oid = to_regclass(?)", name)[0][0])

    def pending(self, limit: int) -> Sequence[Stored]:
        """Return rows that this process has inserted, or else those that others have left without vectors for a while.

        At last, rows that have only another encoder's, while no other process makes theirs.
        """
        self._server.see(EVERY)
        while self._ours:
            newest = nlargest(limit, self._ours, key=itemgetter(1))
            query = (
                f"select r.scope, {STORED} from row r join {_NAMED} on n.scope = r.scope and n.sequence = r.sequence"
                " where r.embedded in (0, ?) order by r.sequence desc"
            )
            rows = self._rows(query, *_named(newest), self._slot.other)
            ours = [stored_of(scope, row) for scope, *row in rows]
            self._ours.difference_update(set(newest) - set(map(_key, ours)))
            if ours:
                return ours
        now = time.monotonic()
        if now < self._nobody_waits_until:
            return []
        others = self._pending(0, max(limit, _PENDING_SEEN))
        self._seen = {_key(stored): self._seen.get(_key(stored), now) for stored in others}
        abandoned = [stored for stored in others if now - self._seen[_key(stored)] > _LEFT_SECONDS][:limit]
        found = abandoned or (self._pending(self._slot.other, limit) if self._makes_all() else [])
        if not found:
            self._nobody_waits_until = now + _LEFT_SECONDS / 6
        return found

    def _makes_all(self) -> bool:
        """Return whether there are rows with another encoder's vectors alone, and this process makes ours for them."""
        if not self._needed(self._slot.other):
            return False
        key = self._slot.key("maker")
        return bool(self._rows(_MAKER, key, self._name, self._name, _LEFT_SECONDS))

    def put_vectors(self, space: VectorSpace, vectors: Sequence[tuple[RowKey, bytes]]) -> frozenset[str] | None:
        blobs = dict(vectors)
        named = _named(blobs)
        with self._server.writing():
            self._server.see("")
            self._rows("select 1 from meta where starts_with(key, 'encoder') for share")  # or it might leave meanwhile
            self.vector_space()
            slot = self._spaces.find((space.name, space.dimension))
            if slot is None:
                return None
            self._server.see(EVERY)
            # All scopes are locked first, in one order: two processes then wait for each other in no circle.
            rows = self._rows(
                "update scope set revision = revision + 1 where key in (select key from scope where key in"
                f" (select r.scope from row r join {_NAMED} on n.scope = r.scope and n.sequence = r.sequence)"
                " order by key for update) returning key, revision",
                *named,
            )
            revisions = dict(rows)
            query = (
                f"update row r set embedded = embedded | ? from {_NAMED}"
                " where n.scope = r.scope and n.sequence = r.sequence and r.scope = any(?)"
                " returning r.scope, r.sequence"
            )
            known = self._rows(query, slot.flag, *named, list(revisions))
            self._server.executemany(
                put_vector(slot.table),
                [(sequence, scope, revisions[scope], blobs[scope, sequence]) for scope, sequence in known],
            )
        self._ours.difference_update(blobs)
        return frozenset(revisions)


def _key(stored: Stored) -> RowKey:
    return stored.scope, stored.sequence


def _named(rows: Iterable[RowKey]) -> tuple[list[str], list[int]]:
    """Return the values of `_NAMED`."""
    scopes, sequences = zip(*rows, strict=True)
    return list(scopes), list(sequences)


def _passes(stored: Stored, only: Filter) -> bool:
    """Return what `condition_of` says in SQL."""
    entry = stored.entry
    if entry.type == "S" or ((only.type or only.category) and entry.kind == "episode"):
        return False
    conditions = (
        (only.type, entry.type),
        (only.category, entry.category),
        (only.session, entry.session),
        (only.file, stored.file),
    )
    if any(value and value != actual for value, actual in conditions) or only.text not in entry.text:
        return False
    return (only.since is None or entry.at >= only.since) and (only.until is None or entry.at < only.until)
