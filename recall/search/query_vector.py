"""The vectors that a search compares the rows with."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from recall.index.scope_rows import ScopeRows
from recall.ranking import rank

Floats = NDArray[np.float32]

__all__ = ["QueryVector"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryVector:
    """The vector of the message, and those of the turns before it, the last turn first."""

    vector: Floats
    preceding: Sequence[Floats]

    def alone(self) -> Self:
        """Return the vector of the message without the turns before it."""
        return replace(self, preceding=())

    def toward(self, vector_sum: Floats, vectors: int) -> Floats:
        """Return the vector to compare with rows, less what all rows have in common, given the sum of their vectors."""
        return rank.message_vector(self.vector, self.preceding, vector_sum, vectors)

    def products(self, rows: ScopeRows) -> Floats:
        """Return the product with each row."""
        products: Floats = rows.matrix.products(self.toward(rows.vector_sum, rows.vectors)[None])[0]
        return products
