"""The vectors that a search compares the rows with."""

from collections.abc import Sequence
from dataclasses import dataclass

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

    def products(self, rows: ScopeRows) -> Floats:
        """Return the product with every row of a scope, less what all of its rows have in common."""
        wanted = rank.message_vector(self.vector, self.preceding, rows.vector_sum, rows.vectors)
        products: Floats = rows.matrix.products(wanted[None])[0]
        return products
