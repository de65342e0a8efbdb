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
from operator import mul, sub
from typing import Final, Literal, TypeAlias

from gateway_memory.ground.tables import Table

from .tables import table
from .types import Candidate, traits_of

Kind: TypeAlias = Literal["change", "keep", "wish", "meta"]

_TABLE: Final = table("directions")
_OF_PAIRS: Final = table("changes")
_WEIGHT_OF_COSINE: Final = float(dict(_OF_PAIRS.texts("change"))["cosine"])
_ENCODER: Final = dict(_TABLE.texts("encoder"))["name"]


WORDS: Final = 16384
"""The places of words behind a vector's own; words that share one are rare enough."""
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\d_\u3400-\u9fff]+(?:'[a-z]+)?|\d+|[^\w\s]")
_WORDS_WEIGH: Final = 2.0
_LENGTH_STEP: Final = 5  # words
_LONGEST_STEP: Final = 6

# Log-odds. What no rule has read must tell for itself; what a rule has read is dropped only if it tells against it.
# They are for ordinary talk, in which nine of ten messages hold nothing.
_KEEP: Final = 1.0
_KEEP_AT_ALL: Final = -3.0
_KEEP_POINTED_AT: Final = -0.8
_WISH: Final = 0.2
_ABOUT_MEMORY: Final = 1.5
_ABOUT_MEMORY_THOUGH_ASKED: Final = 2.0
SPEAKER = re.compile(r"\b(?:i|my|me|we|our|us|mine)\b|[我咱俺]|本人", re.IGNORECASE)
_CONFIDENCE: Final = 0.75
_LONGEST_WHOLE: Final = 160  # characters


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a text tells. change: that something has changed, about 1, or has not, about -1.

    keep: the log-odds that it is worth keeping. wish: that it wishes something of the assistant for good. meta: that it
    is about the memory itself: "forget what I said".
    """

    change: float
    keep: float
    wish: float
    meta: float


@cache
def direction_of(kind: Kind) -> tuple[float, float, "array[int]"]:
    """Return the step, the intercept and the weights of what a vector tells: a byte for each of its numbers."""
    return _direction(_TABLE, kind)


@cache
def _direction(of: Table, kind: Kind) -> tuple[float, float, "array[int]"]:
    entries = dict(of.texts(kind))
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

    return Meaning(change=directed("change"), keep=directed("keep"), wish=directed("wish"), meta=directed("meta"))


OF_PAIRS: Final = 4
"""How many numbers a pair of vectors has in each dimension: their product, their distance, the newer and the older."""


def change_of(new: str, encoder: str, newer: Sequence[float], older: Sequence[float]) -> float | None:
    """Return the log-odds that a statement changes an older one rather than standing beside it.

    newer, older: the unit vectors of both; encoder: the name of their maker. None for another than the bundled one.
    """
    step, intercept, weights = _direction(_OF_PAIRS, "change")
    dimension = (len(weights) - WORDS) // OF_PAIRS
    if encoder != _ENCODER or not len(newer) == len(older) == dimension:
        return None
    products, words = list(map(mul, older, newer)), weights[OF_PAIRS * dimension :]
    columns = (products, map(abs, map(sub, older, newer)), newer, older)
    parts = (weights[number * dimension : (number + 1) * dimension] for number in range(OF_PAIRS))
    score = math.fsum(math.fsum(map(mul, part, column)) for part, column in zip(parts, columns, strict=True))
    score += math.fsum(weight * words[place] for place, weight in words_of(new).items())
    return step * score + _WEIGHT_OF_COSINE * math.fsum(products) + intercept


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


def understood(
    candidate: Candidate, meaning: Meaning | None, of_sentence: Meaning | None, of_message: Meaning | None = None
) -> Candidate | None:
    """Return a candidate of the rules as what it means; None where it says nothing to keep.

    meaning: of its content; of_sentence: of the sentence in which it was stated; of_message: of the whole message, None
    for a long one. Without a meaning, what the rules have read stands alone.
    """
    if meaning is None:
        return _without_meaning(candidate)
    sentence = of_sentence or meaning
    message = of_message or sentence
    keep, meta = (sentence.keep + message.keep) / 2, max(sentence.meta, message.meta)
    candidate = replace(candidate, telling=meaning.change)
    if candidate.quote and candidate.only_as:  # a model found it worth keeping
        keeps = max(meaning.keep, sentence.keep) >= _KEEP_POINTED_AT
        return _as_meant(candidate, max(meaning.wish, sentence.wish), keeps=keeps)
    if meta >= (_ABOUT_MEMORY_THOUGH_ASKED if candidate.explicit else _ABOUT_MEMORY):
        return None
    if candidate.explicit:
        return candidate
    if keep < _KEEP_AT_ALL:  # nor does "make the title shorter" change a memory
        return None
    read = not candidate.only_as
    return (
        _confirmed(candidate, meaning, sentence) if read else _as_meant(candidate, sentence.wish, keeps=keep >= _KEEP)
    )


def _without_meaning(candidate: Candidate) -> Candidate | None:
    if not candidate.only_as:
        return candidate
    if candidate.quote:  # what a model pointed at waits, unless it worded it rightly
        return replace(candidate, only_as=frozenset(), doubt="" if candidate.sentence else "not_said")
    return _only_as_change(candidate)


def _confirmed(candidate: Candidate, meaning: Meaning, whole: Meaning) -> Candidate:
    """Return what a rule has read as a wish, if its sentence is one, or with all that the sentence tells."""
    if not traits_of(candidate.category).directive and whole.wish >= _WISH:
        # "red and green look the same, pick other colours"
        return _wish(candidate, candidate.sentence or candidate.content)
    tells_more = whole.keep >= max(_KEEP, meaning.keep)
    if candidate.sentence and len(candidate.sentence) <= _LONGEST_WHOLE and tells_more:
        return replace(candidate, content=candidate.sentence)
    return candidate


def _as_meant(candidate: Candidate, wish: float, *, keeps: bool) -> Candidate | None:
    if "wish" in candidate.only_as and wish >= _WISH:
        return _wish(candidate, candidate.content)
    if "statement" in candidate.only_as and keeps:
        return replace(candidate, confidence=_CONFIDENCE, only_as=frozenset())
    return _only_as_change(candidate)


def _wish(candidate: Candidate, content: str) -> Candidate:
    wish = replace(candidate, content=content, category="instruction", type="O", importance="high")
    return replace(wish, confidence=_CONFIDENCE, only_as=frozenset())


def _only_as_change(candidate: Candidate) -> Candidate | None:
    only_as = candidate.only_as & {"change"}
    return replace(candidate, only_as=only_as) if only_as else None
