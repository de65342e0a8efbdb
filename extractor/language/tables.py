"""Tables of words, written as text: one word a line would hide the rest of a module."""

__all__ = ["words_of"]


def words_of(table: str) -> frozenset[str]:
    """Return the words of a table, which white space separates."""
    return frozenset(table.split())
