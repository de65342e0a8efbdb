"""What is asked of a search."""

from dataclasses import dataclass

from recall.types import Filter

__all__ = ["SearchRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """See `Recaller.search`. `now`: epoch seconds; `preceding`: the turns before the query, the oldest first."""

    scope: str
    query: str
    limit: int
    episodes: int
    min_score: float
    now: float
    preceding: tuple[str, ...] = ()
    only: Filter | None = None
    explain: bool = False
    asked: bool = False
    weak: int = 0
