"""The stored rows nearest to a text, to tell whether it is known already."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from recall.index.index import Index
from recall.index.sample import Wanted
from recall.text.words import clean_text, overlap, term_set
from recall.types import Near

Floats = NDArray[np.float32]

__all__ = ["nearest"]

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
    rows = index.columns(scope, Wanted(weights=dict.fromkeys(words, 1.0), toward=_exactly(vector)))
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
    cosines = None
    if vector is not None:
        near = index.scale.cosines(rows.matrix.products(vector[None])[0])
        cosines = np.where(among & rows.embedded.values, near, _NO_VECTOR)
        best |= {row for row in _highest(cosines, limit) if cosines[row] > _NO_VECTOR}
    found = []
    wanted = set(terms.tolist())
    stored = index.stored(scope, [int(rows.sequences.values[row]) for row in best])
    for row in best:
        entry = stored.get(int(rows.sequences.values[row]))
        if entry is None:
            continue
        cosine = float(cosines[row]) if cosines is not None and rows.embedded.values[row] else None
        own = term_set(clean_text(entry.entry.text, _LONGEST))
        found.append(Near(stored=entry, cosine=cosine, overlap=overlap(wanted, own)))
    found.sort(key=lambda near: max(near.cosine or 0.0, near.overlap), reverse=True)
    by_overlap = sorted(found, key=lambda near: near.overlap, reverse=True)[:limit]
    by_cosine = sorted(found, key=lambda near: near.cosine or _NO_VECTOR, reverse=True)[:limit]
    kept = {id(near) for near in (*by_overlap, *by_cosine)}
    return tuple(near for near in found if id(near) in kept)


def _exactly(vector: Floats | None) -> Callable[[Floats, int], Floats] | None:
    return None if vector is None else lambda *_: vector


def _highest(values: Floats, count: int) -> list[int]:
    """Return the positions of the highest values, in no order."""
    if count >= len(values):
        return list(range(len(values)))
    places: list[int] = np.argpartition(values, len(values) - count)[-count:].tolist()
    return places
