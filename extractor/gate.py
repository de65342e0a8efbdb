"""The prefilter: whether turns are worth the debounced stage, and what of a text tells of its user.

Pure; 0.3 ms a turn.
"""

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from .categories import traits_of
from .gate_features import CHINESE, LATIN, REPLY, Gate, chinese_features, latin_features, reply_features
from .language.kind import is_chinese, is_greeting, is_small_talk, length_in_letters
from .language.sentences import Sentence, is_machine_line, sentences, without_code_blocks
from .rules.extract import extract_rules
from .rules.language import language_of
from .settings import ExtractorSettings
from .tables import table
from .types import Reason, Turn, Verdict

_TABLE: Final = table("gate")
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


@lru_cache(maxsize=1024)  # what a reply quotes is asked for it again and again
def statements(text: str) -> tuple[str, ...]:
    """Return the sentences of a user's text that state something: no questions, greetings and small talk."""
    texts: list[str] = []
    position = 0
    for sentence in sentences(text):
        start = text.find(sentence.text, position)
        position = max(position, start + len(sentence.text))
        if not (asks(sentence) or is_greeting(sentence.text) or is_small_talk(sentence.text)):
            end = _END_MARKS.match(text, position)
            texts.append(sentence.text + (end[0] if end and start >= 0 else ""))
    return tuple(texts)


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
