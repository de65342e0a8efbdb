"""What is asked of a search, and what it takes from a message. Pure; a long message takes a while to read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from gateway_memory.ground.emoji import is_sign
from recall.tables import table
from recall.text.questions import Span, looks_back, spans_of
from recall.text.topics import is_wide, requested_topics
from recall.text.words import alike, clean_text, terms_of, tokens_of

# Terms are taken from so many characters of a message.
LONGEST_QUERY = 1000
PRECEDING_TURNS = 4
_PRECEDING_WEIGHTS = (0.4, 0.3, 0.2, 0.1)
_SINGLE_WEIGHT = 0.3
_ALIKE_WEIGHT = 0.3
"""Of a word that may stand for one of the message's, see `words.alike`."""
_MESSAGES = table("messages")
_PATTERNS = _MESSAGES.patterns()
_EXACT = _MESSAGES.patterns("exact", flags=0)
_FEWEST_TERMS = 2
_MOST_OWN_TERMS, _MOST_TERMS = 96, 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Features of a message.

    weights: of each term; own: how many of them, the first ones, are of the message itself. topics: bits of what it
    asks to be made (see `topics`). spans: the days that it names. looks_back: see `dates.looks_back`. selves: how often
    it says I, my, we. leans: how often it refers to an earlier conversation. task: whether it sets a general task.
    asks: whether it asks. names: the terms of words in it that are written as names. alone: whether it is a question
    that is clear without the turns before it, which then count for nothing. wide: see `topics.is_wide`. of_asker: the
    log-odds of `asker.of_asker`; 0 without a vector.
    """

    weights: dict[int, float]
    own: int
    topics: int
    spans: tuple[Span, ...]
    looks_back: bool
    selves: int
    leans: int
    task: bool
    asks: bool
    names: frozenset[int]
    alone: bool
    wide: bool
    of_asker: float = 0.0

    @property
    def strange(self) -> float:
        """How little what it asks for has to do with its asker, from 0 on."""
        return max(-self.of_asker, 0.0) if self.wants else 0.0

    @property
    def wants(self) -> bool:
        """Whether the message asks for something, and does not only state something."""
        return bool(self.asks or self.topics or self.looks_back or self.task or self.of_asker > 0)


def prepare_query(message: str, preceding: Sequence[str], now: float, zone: tzinfo | None) -> Query:
    """Return the features of a message. The turns before it add terms of less weight, the last turn the most."""
    message = clean_text(message, LONGEST_QUERY)
    tokens = tokens_of(message)
    # A single character is part of many words, so it has full weight only where the message has nothing longer.
    only_single = all(len(token) == 1 and not is_sign(token) for token in tokens)
    weights: dict[int, float] = {}
    for token, term in zip(tokens, terms_of(tokens), strict=True):
        if len(weights) < _MOST_OWN_TERMS:
            weights.setdefault(term, 1.0 if only_single or len(token) > 1 or is_sign(token) else _SINGLE_WEIGHT)
    own = len(weights)
    for term in alike(list(weights)):
        if term not in weights and len(weights) < _MOST_TERMS:
            weights[term] = _ALIKE_WEIGHT
    asks = bool(_PATTERNS["asks"].search(message))
    alone = asks and own >= _FEWEST_TERMS and not _PATTERNS["points"].search(message)
    for turn, weight in zip(() if alone else reversed(preceding), _PRECEDING_WEIGHTS, strict=False):
        for term in terms_of(token for token in tokens_of(clean_text(turn, LONGEST_QUERY)) if len(token) > 1):
            if term not in weights and len(weights) < _MOST_TERMS:
                weights[term] = weight
    past = looks_back(message)
    in_general = bool(_PATTERNS["how to"].match(message) or _EXACT["of the world"].match(message))
    names = [] if in_general else _EXACT["name"].findall(message)
    return Query(
        weights=weights,
        own=own,
        # "Which films did you recommend?" asks for no recommendation.
        topics=0 if past else requested_topics(message),
        spans=spans_of(message, now, zone),
        looks_back=past,
        selves=0 if in_general else len(_PATTERNS["speaker"].findall(message)),
        leans=len(_PATTERNS["leans"].findall(message)),
        task=_PATTERNS["task"].match(message) is not None,
        asks=asks,
        alone=alone,
        wide=is_wide(message),
        names=frozenset(term for name in names for term in terms_of(tokens_of(name))),
    )
