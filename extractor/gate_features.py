"""The prefilter's trained gate: a threshold on a weighted sum of features (`benchmarks/train_gate.py`).

Pure. The features are those of a person's message and of a reply, each about 0 to 3.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway_memory.ground.tables import simplified

from .language.kind import LONGEST_READ, is_chinese
from .tables import table

_TABLE: Final = table("gate")
_WORDS: Final = _TABLE.sets("words")
_EXACT: Final = _TABLE.patterns("exact", flags=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The weights of a logistic regression in log odds, and the threshold from which a text is kept."""

    threshold: float
    intercept: float
    weights: Mapping[str, float]

    def margin(self, features: Mapping[str, float]) -> float:
        """Return the distance from the threshold in log odds; the text is kept when it is not negative."""
        weights = self.weights
        return self.intercept + sum(weights.get(name, 0.0) * value for name, value in features.items()) - self.threshold

    @staticmethod
    def score(margin: float) -> float:
        """Return a margin as a score from 0 to 1; 0.5 is the threshold."""
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, margin))))


def _gate(kind: str) -> Gate:
    weights = table("gate_weights").numbers(kind)
    return Gate(threshold=weights.pop("threshold"), intercept=weights.pop("intercept"), weights=weights)


LATIN: Final = _gate("Latin")
CHINESE: Final = _gate("Chinese")
REPLY: Final = _gate("reply")


def _matching(kind: str, text: str) -> dict[str, float]:
    """Return the features of the table that a text has."""
    return {name: 1.0 for name, pattern in _TABLE.compiled(kind, flags=0) if pattern.search(text)}


_LONGEST_BEFORE = 300  # characters, from its end, which the next message answers
_SHORT = 2.5  # log1p of eleven words

_WORD = re.compile(r"[a-zÀ-ɏ']+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_CAPITAL = re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]+")


def names_in(text: str) -> int:
    """Return how many words within sentences begin with a capital letter."""
    return len(_CAPITAL.findall(text))


def latin_features(text: str, before: str = "") -> dict[str, float]:
    """Return the features of a message and of the one before it: an answer tells more than the same words alone."""
    text = text[:LONGEST_READ].replace("’", "'")
    low = text.lower()
    words = _WORD.findall(low)
    stated = questions = informed = of_self = past_of_self = best = 0
    for sentence in _SENTENCE.findall(low):
        tokens = _WORD.findall(sentence)
        if sentence.rstrip().endswith("?"):
            questions += 1
            continue
        if not tokens:
            continue
        stated += 1
        content = sum(len(word) > 2 and word not in _WORDS["empty"] for word in tokens)
        kinds = {match.lastgroup for match in _EXACT["reactions"].finditer(sentence)}
        content -= 2 * ("praise" in kinds) + 3 * ("wish" in kinds) + 2 * ("thanks" in kinds)
        best = max(best, content)
        informed += max(0, content)
        me = not _WORDS["oneself"].isdisjoint(tokens)
        of_self += me and content >= 2 and _WORDS["the other"].isdisjoint(tokens)
        past_of_self += me and any(word in _WORDS["past"] or (len(word) > 4 and word.endswith("ed")) for word in tokens)
    selves = sum(word in _WORDS["oneself"] for word in words)
    others = sum(word in _WORDS["the other"] for word in words)
    informed_log = math.log1p(informed)
    features = {
        "length": math.log1p(len(words)),
        "statements": math.log1p(stated),
        "informed words": min(informed_log, 2.2),
        "more informed words": max(0.0, informed_log - 2.2),
        "best sentence": min(best, 12) / 4,
        "sentences of oneself": float(min(of_self, 3)),
        "past of oneself": float(min(past_of_self, 2)),
        "oneself": math.log1p(selves),
        "the other": math.log1p(others),
        "names": math.log1p(names_in(text)),
        "exclaims": min(3, low.count("!")) / 3,
        "only asks": float(stated == 0),
        "one statement": float(stated == 1),
        "asks": float(questions > 0),
        "asks more": float(questions > 1),
        "ends asking": float(low.rstrip().endswith("?")),
        "no self": float(selves == 0),
        "no self but asks": float(selves == 0 and questions > 0),
        "only reacts": float(informed == 0),
        "under 50": float(len(text) < 50),
        "under 80": float(len(text) < 80),
        "over 150": float(len(text) > 150),
        "over 250": float(len(text) > 250),
        "over 700": float(len(text) > 700),
        "lines": min(8, text.count("\n")) / 4,
    }
    features |= _matching("Latin", low)
    return features | _before(before, features, set(words)) if before else features


def _before(before: str, features: dict[str, float], words: set[str]) -> dict[str, float]:
    before = before[-_LONGEST_BEFORE:].replace("’", "'")
    low = before.lower()
    earlier = latin_features(before)
    of_before = {f"before: {name}": earlier[name] for name in _WORDS["before"] if name in earlier}
    long_words = {word for word in _WORD.findall(low) if len(word) > 3}
    answers, short = earlier["asks"] > 0, features["length"] < _SHORT
    return of_before | {
        "before: length": math.log1p(len(low) / 5),
        "before: asks you": float(bool(_EXACT["asks you"].search(low))),
        "before: asks what": float(bool(_EXACT["asks what"].search(low))),
        "before: shared words": len(long_words & words) / (1 + sum(len(word) > 3 for word in words)),
        "short, asked": float(short and answers),
        "short, not asked": float(short and not answers),
        "asks back": float(answers and features["asks"] > 0),
    }


def chinese_features(text: str) -> dict[str, float]:
    """Return the features of a message in Chinese."""
    text = simplified(text[:LONGEST_READ])
    letters = sum(character.isalnum() for character in text)
    features: dict[str, float] = {
        "length": math.log1p(letters),
        "under 6": float(letters < 6),
        "under 12": float(letters < 12),
        "over 30": float(letters > 30),
        "over 60": float(letters > 60),
    }
    return features | _matching("Chinese", text)


_BULLET = re.compile(r"(?m)^\s*(?:[-*•]|\d+[.)、])\s")
_BOLD = re.compile(r"\*\*[^*\n]+\*\*")


def reply_features(text: str) -> dict[str, float]:
    """Return the features of a reply: whether it is about the user's affairs, or explains, writes and apologizes."""
    text = text[:LONGEST_READ].replace("’", "'")
    low = text.lower()
    length = len(text) * (2 if is_chinese(text) else 1)
    words = max(1, length / 5)
    features = {
        "length": math.log1p(length) / 3,
        "under 150": float(length < 150),
        "under 400": float(length < 400),
        "over 1000": float(length > 1_000),
        "bullets": math.log1p(len(_BULLET.findall(text))),
        "bold": math.log1p(len(_BOLD.findall(text))),
        "numbers": math.log1p(len(re.findall(r"\d+", text))),
        "asks": float("?" in text or "？" in text),
        "ends asking": float(low.rstrip()[-1:] in "?？" if low.strip() else False),
        "speaks to you": min(3.0, 40 * len(re.findall(r"\byou(?:r|'re|'ve)?\b|[你您]", low)) / words),
        "names": math.log1p(names_in(text)) / 2,
        "exclaims": min(3, text.count("!") + text.count("！")) / 3,
    }
    return features | _matching("reply", low)
