"""Compares statements of the same words in another order: "coffee over tea", "tea over coffee"; who owes whom."""

import re
from functools import lru_cache
from itertools import pairwise

from extractor.language.vocabulary import statement_words

__all__ = ["swapped", "turned"]

_RATHER = re.compile(
    r"\b(?:over|than|instead of|rather than|not)\b|而不是|不是|不用|不要|胜过|胜于",
    re.IGNORECASE,
)
_PREFERRED = re.compile(_RATHER.pattern + r"|\bto\b", re.IGNORECASE)
_NAME = re.compile(r"(?<![A-Za-z])[A-Z][A-Za-z]*")
_LISTED = re.compile(r"[\s,、]*(?:and|or|&|和|与|跟|或)?\s*", re.IGNORECASE)


def turned(new: str, old: str) -> bool:
    """Return whether a preference was reversed."""
    met, met_old = _rather(new), _rather(old)
    if not met or not met_old:
        return False
    first, second = statement_words(new[: met.start()]), statement_words(new[met.end() :])
    old_first, old_second = statement_words(old[: met_old.start()]), statement_words(old[met_old.end() :])
    risen, fallen = first - old_first, second - old_second
    return bool(risen and fallen) and risen == old_second - second and fallen == old_first - first


def swapped(new: str, old: str) -> bool:
    """Return whether names have another order, other than in a list."""
    places = {name[0]: name.start() for name in _NAME.finditer(old)}
    shared = [name for name in _NAME.finditer(new) if name[0] in places]
    return any(
        places[one[0]] > places[other[0]] and not _LISTED.fullmatch(new, one.end(), other.start())
        for one, other in pairwise(shared)
    )


@lru_cache(maxsize=512)  # a statement is compared with several others
def _rather(text: str) -> re.Match[str] | None:
    return (_PREFERRED if "prefer" in text.lower() else _RATHER).search(text)
