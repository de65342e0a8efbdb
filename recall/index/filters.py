"""Which rows a search may return: a condition on what is stored of them. Pure."""

from dataclasses import dataclass

__all__ = ["Filter", "condition"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """All that is given must hold. since, until: epoch seconds, since <= at < until. session: the session's key."""

    type: str = ""
    category: str = ""
    session: str = ""
    since: float | None = None
    until: float | None = None


def condition(only: Filter) -> tuple[str, tuple[str | float, ...]]:
    """The filter in SQL over r (row), and its values. Stage summaries never pass."""
    parts: list[str] = ["r.type <> 'S'"]
    values: list[str | float] = []
    for column, value in (("type", only.type), ("category", only.category), ("session", only.session)):
        if value:
            parts.append(f"r.{column} = ?")
            values.append(value)
    for comparison, at in ((">=", only.since), ("<", only.until)):
        if at is not None:
            parts.append(f"r.at {comparison} ?")
            values.append(at)
    return " and ".join(parts), tuple(values)
