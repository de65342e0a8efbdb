"""The stored rows nearest to a text, which say whether it is known already."""

import numpy as np

from recall.index.index import Index
from recall.index.sampling import Wanted
from recall.search.search import Floats
from recall.text.words import clean_text, overlap, term_set
from recall.types import Near

_LONGEST = 4000
# Candidates by shared terms, as a multiple of `limit`: the most shared terms need not be the highest overlap.
_CANDIDATES_FACTOR = 4
# Below every cosine.
_NO_VECTOR = -2.0


def nearest(index: Index, scope: str, text: str, vector: Floats | None, limit: int) -> tuple[Near, ...]:
    """Return the items nearest to a text: the best by cosine, and the best by words."""
    words = sorted(term_set(clean_text(text, _LONGEST)))
    if vector is not None and not index.fits(vector):
        vector = None
    rows = index.columns(
        scope, Wanted(weights=dict.fromkeys(words, 1.0), toward=None if vector is None else lambda *_: vector)
    )
    if rows is None or limit <= 0 or not rows.items.values.any():
        return ()
    among = rows.items.values
    terms = np.array(words, np.uint32)
    shared = np.zeros(len(rows), np.float32)
    for segment in rows.index_words().segments:
        for start, end in zip(*segment.find(terms), strict=True):
            shared[segment.rows[start:end]] += 1
    shared[~among] = 0
    best = {row for row in _highest(shared, _CANDIDATES_FACTOR * limit) if shared[row] > 0}
    cosines, floats = None, ()
    if vector is not None:
        floats = tuple(vector.tolist())
        near = index.scale.cosines(rows.matrix.products(vector[None])[0])
        cosines = np.where(among & rows.embedded.values, near, _NO_VECTOR)
        best |= {row for row in _highest(cosines, limit) if cosines[row] > _NO_VECTOR}
    hits = []
    own_terms = set(terms.tolist())
    stored = index.stored(scope, [int(rows.sequences.values[row]) for row in best])
    for row in best:
        entry = stored.get(int(rows.sequences.values[row]))
        if entry is None:
            continue
        cosine, vectors = None, None
        if cosines is not None and rows.embedded.values[row]:
            cosine = float(cosines[row])
            vectors = (index.encoder, floats, tuple(rows.matrix.take(np.array([row]))[0].tolist()))
        own = term_set(clean_text(entry.entry.text, _LONGEST))
        hits.append(Near(stored=entry, cosine=cosine, overlap=overlap(own_terms, own), vectors=vectors))
    hits.sort(key=lambda near: max(near.cosine or 0.0, near.overlap), reverse=True)
    by_overlap = sorted(hits, key=lambda near: near.overlap, reverse=True)[:limit]
    by_cosine = sorted(hits, key=lambda near: near.cosine or _NO_VECTOR, reverse=True)[:limit]
    kept = {id(near) for near in (*by_overlap, *by_cosine)}
    return tuple(near for near in hits if id(near) in kept)


def _highest(values: Floats, count: int) -> list[int]:
    """Return the positions of the highest values, in no order."""
    if count >= len(values):
        return list(range(len(values)))
    places: list[int] = np.argpartition(values, len(values) - count)[-count:].tolist()
    return places
