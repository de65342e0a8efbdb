"""The prefilter: whether turns are worth the debounced stage, and what of a text tells of its user.

Pure; 0.3 ms a turn. The gate is a weighted sum of features of a person's message and of a reply, each about 0 to 3.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gateway_memory.ground.tables import simplified

from .categories import traits_of
from .language.kind import LONGEST_READ, is_chinese, is_greeting, is_small_talk, length_in_letters
from .language.sentences import Sentence, is_machine_line, sentences, without_code_blocks
from .rules.extract import extract_rules
from .rules.language import language_of
from .settings import ExtractorSettings
from .tables import table
from .types import Reason, Turn, Verdict

_TABLE: Final = table("gate")
_WORDS: Final = _TABLE.sets("words")
_EXACT: Final = _TABLE.patterns("exact", flags=0)


# A trained gate: a threshold on a weighted sum of features (logistic regression).


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


# What is kept, and why the rest is not.

_PATTERNS: Final = _TABLE.patterns()
KEPT, JUST_NOT = 0.5, 0.49  # scores
LONGEST_CRY, LONGEST_ORDER = 60, 100  # characters: of a request for help next to a log, of an order

_END_MARKS = re.compile(r"[.!…。！]*")


def judge(  # noqa: PLR0911 - a return a reason
    turns: Sequence[Turn], settings: ExtractorSettings, before: str = ""
) -> Verdict:
    """Keep a batch if a rule finds something in it or the gate's score reaches 0.5; otherwise return the reason.

    before: the reply before the first turn. `min_conversation_length` counts the messages and replies of the whole
    batch, a Han character as three, and a priority keyword waives it.
    """
    exchanges = [turn for turn in turns if turn.user.strip() or turn.reply.strip()]
    if not exchanges:
        return Verdict(keep=False, reason="empty", score=0.0)
    candidates = [candidate for turn in exchanges for candidate in extract_rules(turn)]
    replies = [before, *(turn.reply for turn in exchanges)]
    score = Gate.score(max(_margin(turn, earlier) for turn, earlier in zip(exchanges, replies, strict=False)))
    if any(candidate.explicit or traits_of(candidate.category).standing for candidate in candidates):
        return Verdict(keep=True, reason="priority_keyword", score=max(KEPT, score))
    if candidates:
        decided = any(candidate.category == "decision" for candidate in candidates)
        return Verdict(keep=True, reason="decision" if decided else "informative", score=max(KEPT, score))
    plain = [_plain_reason(turn.user) for turn in exchanges]
    if all(plain):
        foremost = next(reason for reason in _ORDER_OF_REASONS if reason in plain)
        return Verdict(keep=False, reason=foremost, score=min(JUST_NOT, score))
    length = sum(length_in_letters(turn.user) + length_in_letters(turn.reply) for turn in exchanges)
    urgent = any(_PATTERNS["priority"].search(turn.user) for turn in exchanges)
    if length < settings.min_conversation_length and not urgent:
        return Verdict(keep=False, reason="too_short", score=min(JUST_NOT, score))
    if score >= KEPT:
        return Verdict(keep=True, reason="informative", score=score)
    asking = any(turn.user.strip() for turn in exchanges) and all(only_asks(turn.user) for turn in exchanges)
    return Verdict(keep=False, reason="question_only" if asking else "uninformative", score=score)


LEAST_TELLING: Final = 0.75
"""From so much on, a text tells something: the prefilter keeps it with a probability of at least one half."""


@lru_cache(maxsize=4096)  # a page of exchanges is indexed anew with each turn that it gets
def telling(text: str) -> float:
    """Return how likely it is that a text of a user tells of them, 0 to 1.

    0 for a text that only asks, orders, greets or reports trouble.
    """
    if not text.strip() or _plain_reason(text) or only_asks(text):
        return 0.0
    return Gate.score(_user_margin(text))


def statements(text: str) -> list[str]:
    """Return the sentences of a user's text that state something: no questions, greetings and small talk."""
    texts, position = [], 0
    for sentence in sentences(text):
        start = text.find(sentence.text, position)
        position = max(position, start + len(sentence.text))
        if not (asks(sentence) or is_greeting(sentence.text) or is_small_talk(sentence.text)):
            end = _END_MARKS.match(text, position)
            texts.append(sentence.text + (end[0] if end and start >= 0 else ""))
    return texts


def _margin(turn: Turn, before: str) -> float:
    margins = []
    if turn.user.strip():
        margins.append(_user_margin(turn.user, before))
    if turn.reply.strip() and not (turn.user.strip() and _plain_reason(turn.user)):
        margins.append(REPLY.margin(reply_features(turn.reply)))
    return max(margins, default=-30.0)


def _user_margin(text: str, before: str = "") -> float:
    return _chinese_margin(text) if is_chinese(text) else LATIN.margin(latin_features(text, before))


# The Chinese weights were trained on short remarks about the speaker. A message that tells of the speaker's affairs in
# another way is kept too, though with a score just above the threshold: the weights know nothing of it.
_OWN_AFFAIRS = ("says i", "says we", "tells when", "decides", "names kin", "says number")


def _chinese_margin(text: str) -> float:
    features = chinese_features(text)
    margin = CHINESE.margin(features)
    if not any(name in features for name in _OWN_AFFAIRS):
        return min(margin, -0.5) if only_asks(text) else margin
    return 0.02 * math.exp(margin) if margin < 0 and not features["under 6"] else margin


def only_asks(text: str) -> bool:
    """Return whether a text asks something in each of its sentences, by its marks and words."""
    parts = sentences(text)
    return bool(parts) and all(map(asks, parts))


def asks(sentence: Sentence) -> bool:
    """Return whether a sentence asks something, by its mark or its words."""
    return sentence.question or language_of(sentence.plain).asks(sentence.plain)


_ORDER_OF_REASONS: tuple[Reason, ...] = (
    "debugging", "code_or_tool_output", "one_off_order", "small_talk", "greeting", "empty",
)  # fmt: skip


def _plain_reason(user: str) -> Reason | None:  # noqa: PLR0911 - a return a reason
    """Return why the user's message holds nothing to keep, whatever the reply says; None when it may."""
    user = user.strip()
    if not user:
        return None
    if is_greeting(user):
        return "greeting"
    if is_small_talk(user):
        return "small_talk"
    lines = [line for line in without_code_blocks(user).split("\n") if line.strip()]
    prose = [line for line in lines if not is_machine_line(line)]
    if not prose:
        return "debugging" if _PATTERNS["trouble"].search(user) else "code_or_tool_output"
    rest = "\n".join(prose)
    if _PATTERNS["trouble"].search(user) and (len(prose) < len(lines) or len(rest) <= LONGEST_CRY or only_asks(rest)):
        return "debugging"
    if len(rest) <= LONGEST_ORDER and _PATTERNS["order"].fullmatch(rest) and not _PATTERNS["personal"].search(rest):
        return "one_off_order"
    return None
