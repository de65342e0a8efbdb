"""One search through the index: words first, then, when the message's vector has come, the ranking of both."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recall import rank
from recall.index import Index
from recall.query import Query, prepare_query
from recall.scope import ScopeRows
from recall.topics import STANDING
from recall.types import Hit, Near
from recall.words import clean_text, overlap, terms_of, tokens_of

__all__ = ["Words", "nearest", "ranked", "search_words"]

_CANDIDATES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The first half of a search: BM25 of every row of the scopes, in one array; valid for one version of the index."""

    version: int
    query: Query
    scopes: tuple[tuple[str, ScopeRows], ...]
    scores: NDArray[np.float32]
    coverage: NDArray[np.float32]


def search_words(index: Index, scopes: Sequence[str], message: str, preceding: Sequence[str], now: float) -> Words:
    index.follow()
    query = prepare_query(message, preceding, now)
    present = tuple((key, rows) for key in dict.fromkeys(scopes) if (rows := index.scope(key)) is not None and len(rows))
    total = sum(len(rows) for _, rows in present)
    scores = np.zeros(total, np.float32)
    coverage = np.zeros(total, np.float32)
    wanted = np.array(list(query.weights), np.uint32)
    if len(wanted) and total:
        found = [
            [(segment, *segment.find(wanted)) for segment in rows.index_words().segments] for _, rows in present
        ]
        counts = sum(ends - starts for segments in found for _, starts, ends in segments)
        assert isinstance(counts, np.ndarray)
        idf = rank.inverse_document_frequencies(counts, total)
        weights = idf * np.array(list(query.weights.values()), np.float32)
        average = float(np.concatenate([rows.lengths.values for _, rows in present]).mean())
        first = 0
        for (_, rows), segments in zip(present, found, strict=True):
            part = scores[first : first + len(rows)]
            norms = rank.length_norms(rows.lengths.values, average)
            for segment, starts, ends in segments:
                rank.bm25_into(part, segment, starts.tolist(), ends.tolist(), weights.tolist(), norms)
            first += len(rows)
        own = sum(w * (K) for w, K, t in zip(idf.tolist(), [1.0] * len(idf), query.weights, strict=True) if t in query.own_terms)
        if own:
            coverage = np.minimum(scores / (own * 1.2), 1)
    return Words(version=index.version, query=query, scopes=present, scores=scores, coverage=coverage)


def ranked(
    index: Index, words: Words, vector: NDArray[np.float32] | None, *, limit: int, min_score: float
) -> tuple[Hit, ...]:
    """The best rows, by words alone if there is no vector."""
    total = len(words.scores)
    if not total or limit <= 0:
        return ()
    groups = [rows for _, rows in words.scopes]
    among = np.concatenate([rows.searchable.values for rows in groups])
    cosines = None
    if vector is not None and any(rows.embedded.values.any() for rows in groups):
        cosines = np.concatenate([rows.matrix.product(vector[None])[0] for rows in groups])
    scores = rank.fused(words.scores, cosines, among)
    files = np.concatenate([rows.files.values for rows in groups])
    scores = rank.with_neighbours(scores, files)
    age = np.concatenate([np.arange(len(rows) - 1, -1, -1, dtype=np.float32) for rows in groups])
    scores += rank.RECENCY_WEIGHT * np.exp2(-age / rank.HALVING_ROWS)
    topics = np.concatenate([rows.topics.values for rows in groups])
    applies = ((topics & words.query.topics) != 0) & ((topics & STANDING) != 0)
    scores += rank.TOPIC_WEIGHT * applies
    scores[~among] = -np.inf
    count = min(max(_CANDIDATES, limit), total)
    best = np.argpartition(-scores, count - 1)[:count] if count < total else np.arange(total)
    best = best[np.argsort(-scores[best], kind="stable")]
    best = best[np.isfinite(scores[best])]
    found: list[tuple[int, float, dict[str, float]]] = []
    for row in best.tolist():
        cosine = float(cosines[row]) if cosines is not None else 0.0
        parts = {"words": float(words.coverage[row]), "meaning": cosine, "fused": float(scores[row])}
        score = rank.calibrated(float(scores[row]), cosine, float(words.coverage[row]), bool(applies[row]))
        if score >= min_score:
            found.append((row, score, parts))
        if len(found) == limit:
            break
    return _hits(index, words, found)


def _hits(index: Index, words: Words, found: Sequence[tuple[int, float, dict[str, float]]]) -> tuple[Hit, ...]:
    sequences = np.concatenate([rows.sequences.values for _, rows in words.scopes])
    wanted = [int(sequences[row]) for row, _, _ in found]
    stored = {row.sequence: row for row in index.stored(wanted)}
    hits = []
    for sequence, (_, score, parts) in zip(wanted, found, strict=True):
        row = stored.get(sequence)
        if row is None:
            continue
        entry = row.entry
        hits.append(
            Hit(
                id=entry.id, text=entry.text, score=score, at=entry.at, scope=row.scope, file=row.file,
                type=entry.type, category=entry.category, confidence=entry.confidence, parts=parts,
            )
        )
    return tuple(hits)


def nearest(index: Index, scope: str, text: str, vector: NDArray[np.float32] | None, limit: int) -> tuple[Near, ...]:
    """The items that are nearest to a text by cosine and by words, the best of each."""
    index.follow()
    rows = index.scope(scope)
    if rows is None or limit <= 0 or not rows.items.values.any():
        return ()
    among = rows.items.values
    terms = np.array(sorted(set(terms_of(tokens_of(clean_text(text, 4000))))), np.uint32)
    shared = np.zeros(len(rows), np.float32)
    for segment in rows.index_words().segments:
        for start, end in zip(*segment.find(terms), strict=True):
            shared[segment.rows[start:end]] += 1
    shared[~among] = 0
    best = {int(row) for row in np.argsort(-shared, kind="stable")[: 4 * limit] if shared[row] > 0}
    cosines = None
    if vector is not None:
        cosines = np.where(among & rows.embedded.values, rows.matrix.product(vector[None])[0], -2.0)
        best |= {int(row) for row in np.argsort(-cosines, kind="stable")[:limit] if cosines[row] > -2}
    found = []
    wanted = set(terms.tolist())
    stored = {row.sequence: row for row in index.stored([int(rows.sequences.values[row]) for row in best])}
    for row in best:
        entry = stored.get(int(rows.sequences.values[row]))
        if entry is None:
            continue
        cosine = float(cosines[row]) if cosines is not None and rows.embedded.values[row] else None
        own = terms_of(tokens_of(clean_text(entry.entry.text, 4000)))
        found.append(Near(stored=entry, cosine=cosine, overlap=overlap(wanted, own)))
    found.sort(key=lambda near: max(near.cosine or 0.0, near.overlap), reverse=True)
    by_overlap = sorted(found, key=lambda near: near.overlap, reverse=True)[:limit]
    by_cosine = sorted(found, key=lambda near: near.cosine or -2.0, reverse=True)[:limit]
    kept = {id(near) for near in (*by_overlap, *by_cosine)}
    return tuple(near for near in found if id(near) in kept)
