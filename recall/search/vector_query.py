"""What a search asks by meaning."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recall.index.scope_rows import ScopeRows
from recall.ranking import rank

Floats = NDArray[np.float32]

__all__ = ["Asked"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """The vector of a search's message, and those of the turns before, the last first."""

    vector: Floats
    preceding: Sequence[Floats]

    def products(self, scopes: Sequence[ScopeRows]) -> Floats:
        """The product with every row of the scopes, less what all rows have in common."""
        count = sum(rows.vectors for rows in scopes)
        vector_sum = scopes[0].vector_sum if len(scopes) == 1 else np.sum([rows.vector_sum for rows in scopes], axis=0)
        wanted = rank.message_vector(self.vector, self.preceding, vector_sum, count)
        parts = [rows.matrix.products(wanted[None])[0] for rows in scopes]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
