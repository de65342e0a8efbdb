"""How many words two texts share."""

import re

__all__ = ["overlap", "same_words", "words"]

SAME = 0.5  # Jaccard from which two quotations are of one piece

_TOKEN = re.compile(r"[a-z0-9][a-z0-9.+#'-]*|[\u3400-\u9fff]+")


def words(text: str) -> frozenset[str]:
    """Lower-case words, and Han by pairs of characters."""
    found: set[str] = set()
    for token in _TOKEN.findall(text.lower()):
        if token[0] >= "\u3400":
            found.update(token[i : i + 2] for i in range(max(1, len(token) - 1)))
        else:
            found.add(token.rstrip(".'-"))
    return frozenset(found)


def overlap(left: str, right: str) -> float:
    """Jaccard of the words, 0..1."""
    a, b = words(left), words(right)
    return len(a & b) / len(a | b) if a or b else 0.0


def same_words(quote: str, text: str) -> bool:
    """Whether two quotations are the same piece of a message: one holds the other, or they share half their words."""
    a, b = ("".join(character for character in part.casefold() if character.isalnum()) for part in (quote, text))
    return bool(a and b) and (a in b or b in a or overlap(quote, text) >= SAME)
