"""Compares statements of the same words in another order: "coffee over tea", "tea over coffee"; who owes whom."""

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

from extractor.language.vocabulary import statement_words
from extractor.tables import table

_PATTERNS: Final = table("merging").patterns()
_NAME = re.compile(r"(?<![A-Za-z])[A-Z][A-Za-z]*")


def turned(new: str, old: str) -> bool:
    """Return whether a preference was reversed."""
    rather, old_rather = _rather(new), _rather(old)
    if not rather or not old_rather:
        return False
    first, second = statement_words(new[: rather.start()]), statement_words(new[rather.end() :])
    old_first, old_second = statement_words(old[: old_rather.start()]), statement_words(old[old_rather.end() :])
    risen, fallen = first - old_first, second - old_second
    return bool(risen and fallen) and risen == old_second - second and fallen == old_first - first


def swapped(new: str, old: str) -> bool:
    """Return whether names have another order, other than in a list."""
    places = {name[0]: name.start() for name in _NAME.finditer(old)}
    shared = [name for name in _NAME.finditer(new) if name[0] in places]
    return any(
        places[one[0]] > places[other[0]] and not _PATTERNS["listed"].fullmatch(new, one.end(), other.start())
        for one, other in pairwise(shared)
    )


@lru_cache(maxsize=512)  # a statement is compared with several others
def _rather(text: str) -> re.Match[str] | None:
    return (_PATTERNS["preferred"] if "prefer" in text.lower() else _PATTERNS["rather"]).search(text)
