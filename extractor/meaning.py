"""What a sentence's vector and words tell of it, where no table knows them, in any language the encoder reads."""

import base64
import math
import re
import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from operator import mul
from typing import Final, Literal, TypeAlias

from .tables import table
from .types import Candidate, traits_of

Kind: TypeAlias = Literal["change", "statement", "wish"]

_TABLE: Final = table("directions")
_ENCODER: Final = dict(_TABLE.texts("encoder"))["name"]


WORDS: Final = 4096
"""The places of words behind a vector's own; words that share one are rare enough."""
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\d_\u3400-\u9fff]+(?:'[a-z]+)?|\d+|[^\w\s]")
_WORDS_WEIGH: Final = 1.5
_LENGTH_STEP: Final = 5  # words
_LONGEST_STEP: Final = 6

# Log-odds. What no rule has read must tell for itself; what a rule has read is dropped only if it tells against it.
_WISH: Final = 0.2
_STATEMENT: Final = 1.2
_STATEMENT_OF_OTHERS: Final = 3.0
_NO_STATEMENT: Final = -2.0
_STATEMENT_POINTED_AT: Final = -0.8
SPEAKER = re.compile(r"\b(?:i|my|me|we|our|us|mine)\b|[我咱俺]|本人", re.IGNORECASE)
_CONFIDENCE: Final = 0.75
_LONGEST_WHOLE: Final = 160  # characters


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a sentence tells. change: that something has changed, about 1, or has not, about -1.

    statement: the log-odds that it says something lasting of its speaker. wish: that it wishes something of the
    assistant for good.
    """

    change: float
    statement: float
    wish: float


@cache
def direction_of(kind: Kind) -> tuple[float, float, "array[int]"]:
    """Return the step, the intercept and the weights of what a vector tells: a byte for each of its numbers."""
    entries = dict(_TABLE.texts(kind))
    return float(entries["step"]), float(entries["intercept"]), array("b", base64.b64decode(entries["weights"]))


def meaning_of(text: str, vector: Sequence[float], encoder: str) -> Meaning | None:
    """Return what a sentence tells. encoder: the name of the vector's maker; None for another than the bundled one."""
    dimension = len(direction_of("change")[2])
    if encoder != _ENCODER or len(vector) != dimension:
        return None
    words = words_of(text)

    def directed(kind: Kind) -> float:
        step, intercept, direction = direction_of(kind)
        score = math.fsum(map(mul, vector, direction))
        if len(direction) > dimension:
            score += math.fsum(weight * direction[dimension + place] for place, weight in words.items())
        return step * score + intercept

    return Meaning(change=directed("change"), statement=directed("statement"), wish=directed("wish"))


def words_of(text: str) -> Mapping[int, float]:
    """Return the places (below `WORDS`) of a sentence's words, and what each weighs.

    Words that follow each other have places too, and its beginning, end and length.
    """
    words = _TOKEN.findall(text.lower())
    parts = {f"length {min(_LONGEST_STEP, len(words) // _LENGTH_STEP)}", *words}
    parts.update(map(" ".join, pairwise(words)))
    parts.update(map(" ".join, zip(words, words[1:], words[2:], strict=False)))
    parts.update(f"^{' '.join(words[:number])}" for number in (1, 2))
    parts.update(f"{word}$" for word in words[-1:])
    weight = _WORDS_WEIGH / math.sqrt(len(parts))
    return dict.fromkeys((zlib.crc32(part.encode()) % WORDS for part in parts), weight)


def understood(candidate: Candidate, meaning: Meaning | None, of_sentence: Meaning | None) -> Candidate | None:
    """Return a candidate of the rules as what it means; None where it says nothing lasting.

    meaning: of its content, and of_sentence: of the sentence in which it was stated; None where they are unknown: what
    the rules have read stands alone.
    """
    if meaning is None:
        if candidate.only_as and candidate.quote:  # what a model pointed at waits, unless it worded it rightly
            return replace(candidate, only_as=frozenset(), doubt="" if candidate.sentence else "not_said")
        return _only_as_change(candidate) if candidate.only_as else candidate
    candidate = replace(candidate, telling=meaning.change)
    if candidate.only_as:
        return _as_meant(candidate, meaning, of_sentence or meaning)
    return candidate if candidate.explicit else _confirmed(candidate, meaning, of_sentence or meaning)


def _confirmed(candidate: Candidate, meaning: Meaning, whole: Meaning) -> Candidate | None:
    """Return what a rule has read as a wish, if its sentence is one, or with all that the sentence tells."""
    if not traits_of(candidate.category).directive and whole.wish >= _WISH:
        # "red and green look the same, pick other colours"
        return _wish(candidate, candidate.sentence or candidate.content)
    if candidate.category == "fact" and max(meaning.statement, whole.statement) < _NO_STATEMENT:
        return None
    tells_more = whole.statement >= max(_STATEMENT, meaning.statement)
    if candidate.sentence and len(candidate.sentence) <= _LONGEST_WHOLE and tells_more:
        return replace(candidate, content=candidate.sentence)
    return candidate


def _as_meant(candidate: Candidate, meaning: Meaning, whole: Meaning) -> Candidate | None:
    statement, wish = meaning.statement, meaning.wish
    least = _STATEMENT if SPEAKER.search(candidate.content) else _STATEMENT_OF_OTHERS
    if candidate.quote:  # a model found it worth keeping
        statement, wish, least = max(statement, whole.statement), max(wish, whole.wish), _STATEMENT_POINTED_AT
    if "wish" in candidate.only_as and wish >= _WISH:
        return _wish(candidate, candidate.content)
    if "statement" in candidate.only_as and statement >= least:
        return replace(candidate, confidence=_CONFIDENCE, only_as=frozenset())
    return _only_as_change(candidate)


def _wish(candidate: Candidate, content: str) -> Candidate:
    wish = replace(candidate, content=content, category="instruction", type="O", importance="high")
    return replace(wish, confidence=_CONFIDENCE, only_as=frozenset())


def _only_as_change(candidate: Candidate) -> Candidate | None:
    only_as = candidate.only_as & {"change"}
    return replace(candidate, only_as=only_as) if only_as else None
