"""One search of a scope: lexical scores first, then the ranking of lexical and semantic scores together."""

import math
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recall.index.index import Index
from recall.index.sampling import Wanted
from recall.index.scope_rows import REPLIES_BELOW, ScopeRows
from recall.ranking import calibration, rank
from recall.search.asker import near_answer, of_asker
from recall.search.candidates import CandidateRow, Candidates, QueryVector, Terms, chosen, hits_of, rank_with_words
from recall.search.query import Query, prepare_query
from recall.text.topics import QUESTION, STANDING, WIDE
from recall.types import Hit, SearchRequest

Floats = NDArray[np.float32]


# A row with less coverage and a lower cosine is unrelated to the message, even where it is the nearest.
_RELATED_COVERAGE = 0.1
_RELATED_COSINE = 0.3
_CANDIDATES = 50
_RERANKED_FIRST = 10
_APPLYING = 3
# From so high a product of cosine and coverage on, a line is evidence enough that a question is none of the world.
_NEAR = 0.6
_FIRST_FEW = 3
# The log-odds from which on a message asks for what its asker has told as one does that says "I", and surely.
_LIKELY, _SURE = 1.0, 2.0
# A line that has so large a share of what was searched for, by weight, is found, however far its meaning is.
_HAS_ITS_WORDS = 0.5
# The gap in worth to the best row, in log-odds, up to which a row is injected: for a message that asks for something,
# and for one that only states something.
_MUCH_LESS_WORTH, _LESS_WORTH = 2.6, 0.7
_TELLING_FROM = 0.53
"""The importance from which on a passage of the user's tells something: see `Entry`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalScores:
    """BM25 of every row of a scope.

    vector: of the message; None where it has none, or one of another encoder. terms: the message's own terms, with
    their `idf`. most: the sum of all terms' weights. named: whether a row has a name that is in the message. own: how
    surely it asks for what its asker has told, from 0 to 1; 0 where it is named. allowed: the rows that may be found;
    all_allowed: whether all may.
    """

    query: Query
    vector: QueryVector | None
    rows: ScopeRows
    scores: Floats
    allowed: NDArray[np.bool_]
    all_allowed: bool
    terms: NDArray[np.uint32]
    idf: Floats
    most: float
    named: bool
    own: float


class BestHits(NamedTuple):
    """The best rows of a search, and the best of those below its least score."""

    hits: tuple[Hit, ...] = ()
    weak: tuple[Hit, ...] = ()


class _Reranked(NamedTuple):
    """Features of a few candidates: what they share with the message, and how they fit its days."""

    rows: Candidates
    times: NDArray[np.float64]
    coverage: Floats
    cosines: Floats | None
    fits: Floats


def lexical_scores(
    index: Index, request: SearchRequest, vector: QueryVector | None, zone: tzinfo | None
) -> LexicalScores | None:
    """Return BM25 of the rows of the request's scope; None where it has no rows.

    Of a scope that is not in memory, they are the rows that may be among the best for the words and the vector.
    """
    query = prepare_query(request.query, request.preceding, request.now, zone)
    if vector is not None:
        vector = vector.alone() if query.alone else vector
        vector = vector if index.fits(vector.vector) else None
    odds = of_asker(vector.vector, index.encoder) if vector is not None else 0.0
    if not request.asked:  # who searches has said that something is of use
        query = replace(query, of_asker=odds)
    if vector is not None and query.wants:
        vector = replace(vector, sought=near_answer(vector.vector, index.encoder))
    toward = None if vector is None else vector.toward
    wanted_rows = Wanted(
        weights=query.weights, toward=toward, spans=query.spans, standing=bool(query.topics), only=request.only
    )
    rows = index.columns(request.scope, wanted_rows)
    if rows is None or not len(rows):
        return None
    scores = np.zeros(len(rows), np.float32)
    wanted = np.array(list(query.weights), np.uint32)
    idf = np.zeros(len(wanted), np.float32)
    most, named = 0.0, False
    if len(wanted):
        counts = rows.counts_of(wanted)
        named = bool(counts[np.isin(wanted, list(query.names))].any())
        idf = rank.inverse_document_frequencies(counts, rows.total)
        weights = idf * np.array(list(query.weights.values()), np.float32)
        most = float(weights.sum())
        norms = rows.constants().length_norms
        for segment in rows.index_words().segments:
            rank.bm25_into(scores, segment, *segment.find(wanted), weights, norms)
    allowed: NDArray[np.bool_] = rows.searchable.values
    if request.only is not None:
        matching = np.array(index.rows.matching(request.scope, request.only), np.int64)
        allowed = allowed & np.isin(rows.sequences.values, matching, assume_unique=True)
    if request.unsaid:
        allowed = allowed & ~(rows.episodes.values & np.isin(rows.turns.values, list(request.unsaid)))
    return LexicalScores(
        query=query,
        vector=vector,
        rows=rows,
        scores=scores,
        allowed=allowed,
        all_allowed=bool(allowed.all()),
        terms=wanted[: query.own],
        idf=idf[: query.own],
        most=most,
        named=named,
        own=min(max(odds, 0.0), _SURE) / _SURE if query.wants and not named else 0.0,
    )


def best_hits(index: Index, lexical: LexicalScores, request: SearchRequest) -> BestHits:
    """Return the best rows; by lexical scores alone where there is no vector."""
    limit, min_score, vector = request.limit + request.episodes, request.min_score, lexical.vector
    if limit <= 0 or not (lexical.all_allowed or lexical.allowed.any()):
        return BestHits()
    terms = Terms(len(lexical.scores), kept=request.explain)
    scores = _scores(index, lexical, vector, terms, asked=request.asked)
    best, applying = _best(lexical, scores, terms, limit)
    if vector is not None and lexical.rows.constants().assisted:
        best = _assisted(index, lexical, scores, best, vector, terms)
    # The first few tell whether any row can reach the least score. Most messages end here.
    near = _rerank(index, lexical, best[:_RERANKED_FIRST], vector)
    message = _message(lexical, scores[best], near, best, named=lexical.named and request.episodes > 0)
    evidence = calibration.evidence(message, by_meaning=near.cosines is not None)
    silent = not applying and evidence < _odds(min_score)
    if len(best) > _RERANKED_FIRST and not silent:
        near = _rerank(index, lexical, best, vector)
    looked_at = best[: len(near.coverage)]
    alike = near.rows.alike(index.scale) & rank.covering_alike(near.coverage)
    turns = lexical.rows.turns.values[looked_at]
    alike &= (turns[:, None] != turns[None, :]) | (turns == 0)  # a memory is no version of its turn's words
    echoes = _echoes(lexical.rows, looked_at) & (not request.asked)
    alike &= ~(echoes[:, None] | echoes[None, :])  # nor is a question of what answers it
    ranks = rank.newest_first(scores[looked_at], near.times, looked_at, alike)
    evident = ~echoes if not echoes.all() else np.ones(len(echoes), bool)
    behind = np.maximum(float(ranks[evident].max()) - ranks, 0)
    worth = None if near.cosines is None else _worth(lexical, message, near, near.cosines, looked_at, behind)
    related = _related(near)
    if applying:
        related |= np.isin(looked_at, list(applying))
    # Without vectors, a row that shares no word is a guess, however much the message leans on earlier talk.
    is_shown = related if worth is None and not request.by_rank else np.ones(len(looked_at), bool)
    order = np.argsort(-ranks, kind="stable")
    if worth is not None and not request.by_rank:
        # Inject the most useful rows, and none that is much less useful than the best of them.
        gap = _MUCH_LESS_WORTH if lexical.query.wants else _LESS_WORTH
        is_shown &= (worth >= worth[evident].max() - gap) | np.isin(looked_at, list(applying))
        order = np.lexsort((-worth, echoes))
    good: list[CandidateRow] = []
    below: list[CandidateRow] = []
    for place in order.tolist():
        row, applies = int(looked_at[place]), int(looked_at[place]) in applying
        likely = applies or (request.asked and bool(near.coverage[place] >= _HAS_ITS_WORDS))
        if worth is None:
            score = calibration.by_words_behind(evidence, float(behind[place]), likely=likely)
        else:
            memory = not lexical.rows.episodes.values[row]
            score = calibration.score(evidence, float(worth[place]), memory=bool(memory), likely=likely)
        parts = _parts(terms, row, float(ranks[place]), evidence, near, place) if terms.kept else {}
        one = CandidateRow(row, score, float(near.coverage[place]), bool(related[place]), applies, parts)
        (good if score >= min_score and is_shown[place] and not silent else below).append(one)
    strong = chosen(good, lexical.rows, request.limit, request.episodes)
    # Of what scored too low, one hit a turn as well.
    most = (request.weak if wanted else 0 for wanted in (request.limit, request.episodes))
    weak = chosen(below, lexical.rows, *most)[: request.weak] if request.weak and below else []
    hits, weak_hits = hits_of(index, request.scope, lexical.rows.sequences.values, strong, weak)
    return BestHits(hits=hits, weak=weak_hits)


def _echoes(rows: ScopeRows, places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which rows are earlier questions of the user that tell nothing: no evidence for another one."""
    asks = rows.episodes.values[places] & (rows.traits.values[places] & QUESTION != 0)
    importance = rows.importance.values[places]
    untelling: NDArray[np.bool_] = asks & (importance > REPLIES_BELOW) & (importance < _TELLING_FROM)
    return untelling


def _parts(terms: Terms, row: int, ranked_at: float, evidence: float, near: _Reranked, place: int) -> dict[str, float]:
    """Return the terms of a row's rank and score; `place`: its position in `near`."""
    parts = terms.of(row)
    parts |= {
        "version": ranked_at - sum(parts.values()),
        "rank": ranked_at,
        "evidence": evidence,
        "coverage": float(near.coverage[place]),
    }
    return parts if near.cosines is None else parts | {"cosine": float(near.cosines[place])}


def _best(lexical: LexicalScores, scores: Floats, terms: Terms, limit: int) -> tuple[NDArray[np.int64], set[int]]:
    """Return the rows of the highest scores, best first, and those of them that are preferences for the task."""
    total = len(scores)
    applying: set[int] = set()
    if lexical.query.topics:
        traits = lexical.rows.traits.values
        applies = np.flatnonzero((traits & lexical.query.topics != 0) & (traits & STANDING != 0) & lexical.allowed)
        scores[applies] += rank.WEIGHTS["topic"]
        terms.added("task", scores)
        applying = set(applies[np.argsort(-scores[applies], kind="stable")][:_APPLYING].tolist())
    if not lexical.all_allowed:
        scores[~lexical.allowed] = -np.inf
    count = min(max(_CANDIDATES, limit), total)
    # Of the negated scores, whose order recency makes, the first are found forty times as fast as the last.
    best = np.argpartition(-scores, count - 1)[:count] if count < total else np.arange(total)
    if not lexical.all_allowed:
        best = best[np.isfinite(scores[best])]
    best = rank_with_words(scores, lexical.rows, best)
    terms.added("turn", scores)
    # Preferences that apply are candidates even where neither words nor vectors are near.
    missing = sorted(applying.difference(best.tolist())) if applying else []
    if missing:
        best = np.append(best, missing)
    return best[np.lexsort((best, -scores[best]))], applying


def _assisted(
    index: Index,
    lexical: LexicalScores,
    scores: Floats,
    best: NDArray[np.int64],
    vector: QueryVector,
    terms: Terms,
) -> NDArray[np.int64]:
    """Rank the candidates as in an assistant's log, in place, and return them, best first."""
    cosines = index.scale.cosines(Candidates.of(lexical.rows, best).cosines(vector.own))
    scores[best] += rank.WEIGHTS["assisted meaning"] * np.maximum(cosines, 0)
    terms.added("meaning", scores)
    scores[best] += rank.WEIGHTS["lecture"] * lexical.rows.constants().lectures[best]
    terms.added("form", scores)
    return best[np.lexsort((best, -scores[best]))]


def _rerank(index: Index, lexical: LexicalScores, best: NDArray[np.int64], vector: QueryVector | None) -> _Reranked:
    near = Candidates.of(lexical.rows, best)
    times = lexical.rows.at.values[best]
    return _Reranked(
        rows=near,
        times=times,
        coverage=near.coverage(lexical.terms, lexical.idf),
        cosines=None if vector is None else index.scale.cosines(near.cosines(vector.vector)),
        fits=rank.dated(times, lexical.query.spans),
    )


def _related(near: _Reranked) -> NDArray[np.bool_]:
    """Return which candidates are related to the message: by its words, its day, or by meaning."""
    related = (near.coverage >= _RELATED_COVERAGE) | (near.fits > 0)
    return related if near.cosines is None else related | (near.cosines >= _RELATED_COSINE)


def _message(
    lexical: LexicalScores, scores: Floats, near: _Reranked, best: NDArray[np.int64], *, named: bool
) -> calibration.Message:
    """Return what is known of the message. scores: of all candidates; near: the first of them, best first."""
    query, both, meaning = lexical.query, near.coverage, 0.0
    if near.cosines is not None:
        positive = np.maximum(near.cosines, 0)
        both = both * positive
        meaning = float(positive[:_FIRST_FEW].mean())
    last = _RERANKED_FIRST - 1
    tenth = float(scores[last]) if len(scores) > last else min(float(scores[-1]), calibration.UNRELATED_RANK)
    return calibration.Message(
        lead=float(scores[0]) - tenth,
        meaning=meaning,
        both=float(both.max()),
        selves=max(query.selves, min(max(query.of_asker, 0.0) / _LIKELY, 1.0)),  # 老公生日哪天 says no "I"
        leans=query.leans,
        task=query.task,
        asks=query.asks,
        terms=query.own,
        dated=float(near.fits[:_FIRST_FEW].max()),
        # Rows in another script than the message can't share its words.
        foreign=float(((lexical.rows.traits.values[best[:_FIRST_FEW]] & WIDE != 0) != query.wide).mean()),
        named=named,
        asker=max(query.of_asker, 0.0),
        strange=query.strange * (1.0 if named else max(0.0, 1 - float(both.max()) / _NEAR)),
        assisted=lexical.rows.constants().assisted,
    )


def _worth(
    lexical: LexicalScores,
    message: calibration.Message,
    near: _Reranked,
    cosines: Floats,
    rows: NDArray[np.int64],
    behind: Floats,
) -> Floats:
    """Return `calibration.worth` of rows that have been reranked."""
    episodes, importance = lexical.rows.episodes.values[rows], lexical.rows.importance.values[rows]
    telling = np.maximum(importance - REPLIES_BELOW, 0) / np.float32(1 - REPLIES_BELOW)
    replies = episodes & (importance < REPLIES_BELOW)
    worth = calibration.worth(
        message,
        cosine=np.maximum(cosines, 0),
        coverage=near.coverage,
        behind=behind,
        lecture=lexical.rows.constants().lectures[rows],
        passage=episodes,
        telling=np.where(episodes, telling, 0),
        reply=replies,
        own=np.float32(lexical.own) * ~replies,
        borrowed=episodes & ((importance == REPLIES_BELOW) | (importance == 0)),
    )
    # What was extracted from words that are found is of as much use as they are.
    turns = lexical.rows.turns.values[rows]
    same = (turns[:, None] == turns[None, :]) & (turns > 0) & ~episodes[:, None] & episodes[None, :]
    of_words = np.where(same, worth[None, :], -np.inf).max(axis=1)
    joint: Floats = np.maximum(worth, of_words).astype(np.float32)
    return joint


def _odds(probability: float) -> float:
    """Return log-odds; those of 0 and 1 are infinite."""
    if not 0 < probability < 1:
        return -math.inf if probability <= 0 else math.inf
    return math.log(probability / (1 - probability))


def _scores(index: Index, lexical: LexicalScores, vector: QueryVector | None, terms: Terms, *, asked: bool) -> Floats:
    rows, query, constants = lexical.rows, lexical.query, lexical.rows.constants()
    allowed = None if lexical.all_allowed else lexical.allowed
    scores = rank.scaled(lexical.scores, allowed, lexical.most * rank.LEAST_WORDS_SHARE)
    scores *= rank.WEIGHTS["words"] + lexical.own * rank.WEIGHTS["own words"]
    scores = rank.with_adjacent(scores, constants.adjacent)
    terms.added("words", scores)
    if vector is not None and rows.vectors:
        embedded = _embedded(rows, allowed)
        if embedded is None or embedded.any():
            products = index.scale.less_common(vector.products(rows), rank.common_share(rows.vectors))
            cosines = rank.scaled(products, embedded, rank.LEAST_MEANING_RANGE)
            weight = rank.WEIGHTS["meaning with context" if vector.preceding else "meaning"]
            cosines *= weight + lexical.own * rank.WEIGHTS["own meaning"]
            scores += cosines
    terms.added("meaning", scores)
    if not query.looks_back:
        scores += constants.recency * np.float32(rank.ASKED_RECENCY_SHARE if asked else 1)
        terms.added("recency", scores)
    scores += constants.standing
    if lexical.own:
        scores += (
            lexical.own * rank.WEIGHTS["own reply"] * (rows.episodes.values & (rows.importance.values < REPLIES_BELOW))
        )
    terms.added("form", scores)
    if query.own and constants.has_speakers:
        scores += rank.WEIGHTS["speaker"] * np.isin(rows.speakers.values, lexical.terms)
        terms.added("speaker", scores)
    if query.spans:
        scores += rank.WEIGHTS["date"] * rank.dated(rows.at.values, query.spans)
        terms.added("date", scores)
    return scores


def _embedded(rows: ScopeRows, allowed: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Return which of the allowed rows have vectors; None for all."""
    embedded: NDArray[np.bool_] = rows.embedded.values
    if allowed is None:
        return None if embedded.all() else embedded
    return allowed & embedded
