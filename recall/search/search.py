"""One search through the index: by words, then the ranking of words and meaning."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall.index.filters import Filter
from recall.index.index import Index
from recall.index.scope_rows import ScopeRows
from recall.ranking import rank
from recall.search.candidates import Candidates
from recall.search.explain import Terms
from recall.search.hits import Found, hits_of, with_a_preference
from recall.search.query import Query, prepare_query
from recall.search.vector_query import Asked
from recall.text.topics import STANDING
from recall.types import Hit

Floats = NDArray[np.float32]

__all__ = ["Words", "ranked", "search_words"]

# A row that shares less of the query's words and lies farther from it has nothing to do with it, even as the nearest.
_RELATED_COVERAGE = 0.1
_RELATED_COSINE = 0.3
_CANDIDATES = 50
_LOOKED_AT = 10
_APPLYING = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The first half of a search: BM25 of every row of the scopes, in one array.

    `terms`: the message's own terms; `idf`: theirs. `most`: the sum of the weights of all terms. `among`: the rows that
    may be found; `everywhere`: whether all may.
    """

    query: Query
    scopes: tuple[tuple[str, ScopeRows], ...]
    scores: Floats
    among: NDArray[np.bool_]
    everywhere: bool
    terms: NDArray[np.uint32]
    idf: Floats
    most: float


class _Near(NamedTuple):
    """Some rows, looked at more closely: what they share with the message, and how they fit its days."""

    rows: Candidates
    times: NDArray[np.float64]
    coverage: Floats
    meaning: Floats | None
    fits: Floats


def search_words(
    index: Index,
    scopes: Sequence[str],
    message: str,
    preceding: Sequence[str],
    now: float,
    zone: tzinfo,
    only: Filter | None = None,
) -> Words:
    """Rank every row of the scopes by words; `only`: what of them may be found."""
    query = prepare_query(message, preceding, now, zone)
    present = tuple(
        (key, rows) for key in dict.fromkeys(scopes) if (rows := index.scope(key)) is not None and len(rows)
    )
    total = sum(len(rows) for _, rows in present)
    scores = np.zeros(total, np.float32)
    wanted = np.array(list(query.weights), np.uint32)
    idf = np.zeros(len(wanted), np.float32)
    most = 0.0
    if len(wanted) and total:
        found = [[(segment, *segment.find(wanted)) for segment in rows.index_words().segments] for _, rows in present]
        counts = np.zeros(len(wanted), np.int64)
        for segments in found:
            for _, starts, ends in segments:
                counts += ends - starts
        idf = rank.inverse_document_frequencies(counts, total)
        weights = idf * np.array(list(query.weights.values()), np.float32)
        most = float(weights.sum())
        average = sum(rows.length_sum() for _, rows in present) / total
        for (rows, place), segments in zip(_placed([rows for _, rows in present]), found, strict=True):
            norms = rows.length_norms(average)
            for segment, starts, ends in segments:
                rank.bm25_into(scores[place], segment, starts, ends, weights, norms)
    among = _among(index, present, only)
    return Words(
        query=query,
        scopes=present,
        scores=scores,
        among=among,
        everywhere=bool(among.all()),
        terms=wanted[: query.own],
        idf=idf[: query.own],
        most=most,
    )


def _among(index: Index, scopes: Sequence[tuple[str, ScopeRows]], only: Filter | None) -> NDArray[np.bool_]:
    if not scopes:
        return np.zeros(0, bool)
    parts = [rows.searchable.values for _, rows in scopes]
    if only is not None:
        parts = [
            part & np.isin(rows.sequences.values, index.matching(key, only), assume_unique=True)
            for part, (key, rows) in zip(parts, scopes, strict=True)
        ]
    return _joined(parts)


def ranked(
    index: Index,
    words: Words,
    asked: Asked | None,
    *,
    limit: int,
    min_score: float,
    explain: bool = False,
) -> tuple[Hit, ...]:
    """The best rows, by words alone if there is no vector or it is another encoder's.

    explain: the hits' parts hold what makes their ranks.
    """
    if asked is not None and not index.fits(asked.vector):
        asked = None
    total = len(words.scores)
    if not total or limit <= 0 or not (words.everywhere or words.among.any()):
        return ()
    terms = Terms(total, kept=explain)
    scores = _scores(index, words, asked, terms)
    best, applying = _best(words, scores, terms, limit)
    # The first few tell whether any can reach the least score; most messages end here.
    near = _looked_at(index, words, best[:_LOOKED_AT], asked)
    evidence = _evidence(words.query, scores[best], near)
    if not applying and rank.calibrated(evidence, 0.0, applies=False) < min_score:
        return ()
    if len(best) > _LOOKED_AT:
        near = _looked_at(index, words, best, asked)
    alike = near.rows.alike(index.scale) & rank.covering_alike(near.coverage)
    ranks = rank.newest_first(scores[best], near.times, best, alike)
    foremost = float(ranks.max())
    related = _related(near)
    if applying:
        related |= np.isin(best, list(applying))
    # By words alone, what shares none of them is a guess, however much the message leans on earlier talk.
    told = related if near.meaning is None and min_score > 0 else np.ones(len(best), bool)
    found: list[Found] = []
    for place in np.argsort(-ranks, kind="stable").tolist():
        row = int(best[place])
        score = rank.calibrated(evidence, foremost - float(ranks[place]), applies=row in applying)
        if score >= min_score and told[place]:
            parts = _parts(terms, row, float(ranks[place]), evidence, near, place) if terms.kept else {}
            found.append(Found(row, score, bool(related[place]), row in applying, parts))
        if not applying and (score < min_score or len(found) == limit):
            break  # none of those behind is surer
    sequences = _joined([rows.sequences.values for _, rows in words.scopes])
    return hits_of(index, sequences, with_a_preference(found, limit))


def _parts(terms: Terms, row: int, ranked_at: float, evidence: float, near: _Near, place: int) -> dict[str, float]:
    """What makes a row's rank and score; `place`: where it is in `near`."""
    parts = terms.of(row)
    parts |= {
        "version": ranked_at - sum(parts.values()),
        "rank": ranked_at,
        "evidence": evidence,
        "coverage": float(near.coverage[place]),
    }
    return parts if near.meaning is None else parts | {"cosine": float(near.meaning[place])}


def _best(words: Words, scores: Floats, terms: Terms, limit: int) -> tuple[NDArray[np.int64], set[int]]:
    """The rows of the highest scores, in their order, and those of them that are preferences for the task."""
    total = len(scores)
    applying: set[int] = set()
    if words.query.topics:
        traits = _joined([rows.traits.values for _, rows in words.scopes])
        applies = np.flatnonzero((traits & words.query.topics != 0) & (traits & STANDING != 0) & words.among)
        scores[applies] += np.float32(rank.TOPIC_WEIGHT)
        terms.added("task", scores)
        applying = set(applies[np.argsort(-scores[applies], kind="stable")][:_APPLYING].tolist())
    if not words.everywhere:
        scores[~words.among] = -np.inf
    count = min(max(_CANDIDATES, limit), total)
    best = np.argpartition(scores, total - count)[total - count :] if count < total else np.arange(total)
    if not words.everywhere:
        best = best[np.isfinite(scores[best])]
    # The preferences that apply are looked at even where neither words nor meaning are near.
    missing = sorted(applying.difference(best.tolist())) if applying else []
    if missing:
        best = np.append(best, missing)
    return best[np.lexsort((best, -scores[best]))], applying


def _looked_at(index: Index, words: Words, best: NDArray[np.int64], asked: Asked | None) -> _Near:
    scopes = [rows for _, rows in words.scopes]
    near = Candidates.of(scopes, best)
    times = _joined([rows.at.values for rows in scopes])[best]
    return _Near(
        rows=near,
        times=times,
        coverage=near.coverage(words.terms, words.idf),
        meaning=None if asked is None else index.scale.cosines(near.cosines(asked.vector)),
        fits=rank.dated(times, words.query.spans),
    )


def _related(near: _Near) -> NDArray[np.bool_]:
    """Which rows have anything to do with the message: by its words, its day, or by meaning."""
    related = (near.coverage >= _RELATED_COVERAGE) | (near.fits > 0)
    return related if near.meaning is None else related | (near.meaning >= _RELATED_COSINE)


def _evidence(query: Query, scores: Floats, near: _Near) -> float:
    """See `rank.evidence`. scores: of all candidates; near: the first of them, in order of rank."""
    both, meaning = near.coverage, None
    if near.meaning is not None:
        positive = np.maximum(near.meaning, 0)
        both = both * positive
        first = positive[:3].tolist()
        meaning = sum(first) / len(first)
    tenth = float(scores[_LOOKED_AT - 1]) if len(scores) >= _LOOKED_AT else min(float(scores[-1]), rank.UNRELATED_RANK)
    return rank.evidence(
        lead=float(scores[0]) - tenth,
        meaning=meaning,
        both=float(both.max()),
        first=float(scores[0]),
        selves=query.selves,
        leans=query.leans,
        task=query.task,
        dated=float(near.fits[:3].max()),
        asks=query.asks,
    )


def _scores(index: Index, words: Words, asked: Asked | None, terms: Terms) -> Floats:
    scopes = [rows for _, rows in words.scopes]
    query = words.query
    among = None if words.everywhere else words.among
    scores = rank.scaled(words.scores, among, words.most * rank.LEAST_WORDS_SHARE)
    scores *= np.float32(rank.WORDS_WEIGHT)
    for rows, place in _placed(scopes):
        scores[place] = rank.with_neighbours(scores[place], rows.beside())
    terms.added("words", scores)
    if asked is not None and any(rows.vectors for rows in scopes):
        embedded = _embedded(scopes, among)
        if embedded is None or embedded.any():
            count = sum(rows.vectors for rows in scopes)
            products = index.scale.less_common(asked.products(scopes), rank.common_share(count))
            cosines = rank.scaled(products, embedded, rank.LEAST_MEANING_RANGE)
            weight = rank.MEANING_WITH_CONTEXT_WEIGHT if asked.preceding else rank.MEANING_WEIGHT
            cosines *= np.float32(weight)
            scores += cosines
    terms.added("meaning", scores)
    for rows, place in _placed(scopes):
        if not query.looks_back:
            scores[place] += rows.recency()
            terms.added("recency", scores)
        scores[place] += rows.standing_scores()
        terms.added("form", scores)
        if query.own:
            spoken = np.isin(rows.speakers.values, words.terms) if rows.has_speakers else None
            if spoken is not None:
                scores[place] += np.float32(rank.SPEAKER_WEIGHT) * spoken
                terms.added("speaker", scores)
        if query.spans:
            scores[place] += np.float32(rank.DATE_WEIGHT) * rank.dated(rows.at.values, query.spans)
            terms.added("date", scores)
    return scores


def _embedded(scopes: Sequence[ScopeRows], among: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Which rows have vectors, of those that may be found; None for all."""
    embedded: NDArray[np.bool_] = _joined([rows.embedded.values for rows in scopes])
    if among is None:
        return None if embedded.all() else embedded
    return among & embedded


def _placed(scopes: Sequence[ScopeRows]) -> Iterator[tuple[ScopeRows, slice]]:
    """Each scope, and where its rows are among those of all."""
    first = 0
    for rows in scopes:
        yield rows, slice(first, first + len(rows))
        first += len(rows)


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One scope's values as they are, several one after the other."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
