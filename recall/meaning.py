"""What searches ask by meaning. Those that wait at the same time are multiplied with a scope's rows together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recall import rank
from recall.index import Index
from recall.scope import ScopeRows

Floats = NDArray[np.float32]

__all__ = ["Asked", "multiply"]

# More at once save little, and the first of them waits for all.
_AT_ONCE = 16


@dataclass(slots=True, kw_only=True, eq=False)
class Asked:
    """The vector of a search's message, and those of the turns before, the last first.

    products: with every row of its scopes, less what all rows have in common; valid for one version of the index.
    """

    scopes: tuple[str, ...]
    vector: Floats
    preceding: Sequence[Floats]
    products: Floats | None = None
    version: int = -1


def multiply(index: Index, scopes: Sequence[ScopeRows], asked: Asked, waiting: Sequence[Asked]) -> Floats:
    """The products of one search, and in passing those of others that ask the same scopes.

    The rows' bytes are made floats once for all of them, which is most of the work.
    """
    if asked.products is None or asked.version != index.version:
        others = [
            other
            for other in waiting
            if other is not asked
            and other.scopes == asked.scopes
            and other.version != index.version
            and index.fits(other.vector)
        ]
        together = [asked, *others[: _AT_ONCE - 1]]
        count = sum(rows.vectors for rows in scopes)
        vector_sum = scopes[0].vector_sum if len(scopes) == 1 else np.sum([rows.vector_sum for rows in scopes], axis=0)
        wanted = np.array([rank.message_vector(each.vector, each.preceding, vector_sum, count) for each in together])
        parts = [rows.matrix.products(wanted) for rows in scopes]
        products = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        for each, own in zip(together, products, strict=True):
            each.products, each.version = own, index.version
    assert asked.products is not None
    return asked.products
