"""The columns of the tables of an index, and the values that they are read as."""

from collections.abc import Sequence
from typing import Any

from recall.rows.tables import LoadedRow, SearchTerms
from recall.types import Entry, Filter, RowsDamagedError, Stored

FIELDS = ("id", "text", "at", "kind", "type", "category", "importance", "confidence", "session", "heading", "speaker",
           "reply", "until", "turn")  # fmt: skip
_TYPES = (str, str, float, str, str, str, float, float, str, str, str, str, str, int)
STORED = f"r.sequence, r.file, {', '.join(f'r.{field}' for field in FIELDS)}"
LOADED = f"{', '.join(f'r.{field}' for field in LoadedRow._fields[:-1])}, v.vector"
# The passages of `Rows.telling`, by the least importance and a limit.
TELLING = (
    "r.kind = 'episode' and r.importance > 0.5 and r.importance >= ?"
    " order by r.importance desc, r.sequence desc limit ?"
)
INSERTED = ("added", "revision", "scope", "file", *FIELDS, *SearchTerms._fields)


def joined(vectors: str, hint: str = "") -> str:
    """Return what `LOADED` and `STORED` are of. vectors: the table that has them."""
    return f"row r {hint} left join {vectors} v on v.scope = r.scope and v.sequence = r.sequence"


def stored_of(scope: Any, row: Sequence[Any]) -> Stored:
    """Return a row of `STORED`; raise RowsDamagedError where its values are not of their types."""
    sequence, file, *values = row
    if not isinstance(scope, str) or not isinstance(file, str) or not all(map(isinstance, values, _TYPES)):
        raise RowsDamagedError
    return Stored(entry=Entry(**dict(zip(FIELDS, values, strict=True))), scope=scope, file=file, sequence=sequence)


def values_of(entry: Entry) -> tuple[Any, ...]:
    """Return the values of an entry's columns."""
    return tuple(getattr(entry, name) for name in FIELDS)


def _columns_of(only: Filter) -> tuple[tuple[str, str], ...]:
    return ("type", only.type), ("category", only.category), ("session", only.session), ("file", only.file)


def condition_of(only: Filter) -> tuple[str, tuple[str | float, ...]]:
    """Return a filter as a condition over r, with its values."""
    parts: list[str] = ["r.type <> 'S'"]
    if only.type or only.category:
        parts.append("r.kind <> 'episode'")
    values: list[str | float] = []
    for column, value in _columns_of(only):
        if value:
            parts.append(f"r.{column} = ?")
            values.append(value)
    if only.text:  # what LIKE finds depends on the database
        parts.append("replace(r.text, ?, '') <> r.text")
        values.append(only.text)
    for comparison, at in ((">=", only.since), ("<", only.until)):
        if at is not None:
            parts.append(f"r.at {comparison} ?")
            values.append(at)
    return " and ".join(parts), tuple(values)
