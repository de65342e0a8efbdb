"""How tables of words are written down: as text, because a word a line would hide the rest of a module."""

__all__ = ["words_of"]


def words_of(table: str) -> frozenset[str]:
    """The words of a table, between white space."""
    return frozenset(table.split())
