"""Searches rows in place by words alone, for a process that lives a moment. Imports no numpy.

The scores are calibrated as those of an index without vectors, from the same features of the message.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from datetime import tzinfo
from heapq import nlargest

from recall.ranking import calibration
from recall.search.query import LONGEST_QUERY, Query, prepare_query
from recall.tables import table
from recall.text.topics import STANDING
from recall.text.words import clean_text, terms_of, tokens_of
from recall.types import Line

_WORD = re.compile(r"[^\W_]+")
_CANDIDATES = 50
_APPLYING = 3
_RELATED_COVERAGE = 0.1
# A small scope is searched as if it had so many more rows, all unrelated to the message.
_SUPPOSED_ROWS = 20
_LEAST_SHARE = 0.2
_TENTH = 9
_WEIGHTS = table("weights").numbers("rank")


def related(
    rows: Sequence[Line], message: str, *, limit: int, min_score: float, now: float, zone: tzinfo | None
) -> list[tuple[float, Line]]:
    """Return the best rows for a message, each with its score from 0 to 1, the best first.

    min_score: the least score. now: epoch seconds. zone: in which the days that the message names are reckoned.
    """
    query = prepare_query(message, (), now, zone)
    needles = _needles(message)
    terms_of_rows = [(row, {needles[needle] for needle in needles if needle in row.text.casefold()}) for row in rows]
    counts = Counter(term for _, terms in terms_of_rows for term in terms)
    idf = {
        term: math.log1p((len(rows) + _SUPPOSED_ROWS - counts[term] + 0.5) / (counts[term] + 0.5))
        for term in query.weights
    }
    weights = {term: idf[term] * weight for term, weight in query.weights.items()}
    likely = nlargest(
        _CANDIDATES,
        (
            (sum(weights[term] for term in terms), row.at, place)
            for place, (row, terms) in enumerate(terms_of_rows)
            if terms
        ),
    )
    applying = _applying(rows, query)
    candidates: list[tuple[float, float, Line, bool]] = []
    own = set(list(query.weights)[: query.own])
    whole = sum(idf[term] for term in own)
    for place in dict.fromkeys([*(place for _, _, place in likely), *applying]):
        terms = idf.keys() & set(terms_of(tokens_of(rows[place].text)))  # a part of another word is none
        score = sum(weights[term] for term in terms)
        coverage = sum(idf[term] for term in terms & own) / whole if whole else 0.0
        candidates.append((score, coverage, rows[place], place in applying))
    return _scored(candidates, query, sum(weights.values()), limit=limit, min_score=min_score)


def _scored(
    candidates: Sequence[tuple[float, float, Line, bool]], query: Query, most: float, *, limit: int, min_score: float
) -> list[tuple[float, Line]]:
    """Return the rows of (lexical score, coverage, row, applies) with their calibrated scores, the best first."""
    if not candidates:
        return []
    scale = max(most * _LEAST_SHARE, *(score for score, *_ in candidates)) or 1.0
    ranked = sorted(
        (
            (score / scale + _WEIGHTS["topic"] * applies, coverage, row, applies)
            for score, coverage, row, applies in candidates
        ),
        key=lambda one: (-one[0], -one[2].at),
    )
    first = ranked[0][0]
    message = calibration.Message(
        lead=first - (ranked[_TENTH][0] if len(ranked) > _TENTH else 0.0),
        both=max(coverage for _, coverage, _, _ in ranked),
        selves=query.selves,
        leans=query.leans,
        task=query.task,
        asks=query.asks,
    )
    evidence = calibration.evidence(message, by_meaning=False)
    scored = [
        (calibration.by_words_behind(evidence, first - rank, likely=applies), row)
        for rank, coverage, row, applies in ranked
        if applies or coverage >= _RELATED_COVERAGE
    ]
    return sorted((one for one in scored if one[0] >= min_score), key=lambda one: -one[0])[:limit]


def _needles(message: str) -> dict[str, int]:
    """Return the spellings to look for in a text, and the term of each."""
    message = clean_text(message, LONGEST_QUERY)
    tokens = tokens_of(message)
    needles = dict(zip(tokens, terms_of(tokens), strict=True))
    for word in _WORD.findall(message.casefold()):  # the stem of "bought" is no part of it
        if word.isascii() and len(token := tokens_of(word)) == 1:
            needles[word] = terms_of(token)[0]
    return needles


def _applying(rows: Sequence[Line], query: Query) -> set[int]:
    """Return the places of the newest standing preferences for what the message asks to be made."""
    if not query.topics:
        return set()
    applies = ((row.at, place) for place, row in enumerate(rows) if row.traits & query.topics and row.traits & STANDING)
    return {place for _, place in nlargest(_APPLYING, applies)}
