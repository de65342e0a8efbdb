"""A message as the index searches for it. Pure; made in the index's thread, since a long message takes a while."""

from collections.abc import Sequence
from dataclasses import dataclass

from recall.topics import requested_topics
from recall.words import clean_text, terms_of, tokens_of

__all__ = ["Query", "embedded_text", "indexed_text", "prepare_query"]

# A message's words and vector are made of so much of it, a row's of so much.
LONGEST_QUERY = 1000
LONGEST_EMBEDDED = 600
LONGEST_ROW = 4000
_MOST_TERMS = 96
_PRECEDING_WEIGHTS = (0.4, 0.2)
_SINGLE_WEIGHT = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """`weights`: what each term counts. `topics`: bits of what the message asks to be made (see topics)."""

    weights: dict[int, float]
    own_terms: frozenset[int]
    topics: int
    now: float


def prepare_query(message: str, preceding: Sequence[str], now: float) -> Query:
    """The message's own terms, and with less weight those of the turns before it, the last of `preceding` first."""
    weights: dict[int, float] = {}
    tokens = tokens_of(clean_text(message, LONGEST_QUERY))
    # One character alone stands in many words; it counts fully only when the message has nothing longer.
    only_single = all(len(token) == 1 for token in tokens)
    for token, term in zip(tokens, terms_of(tokens), strict=True):
        weights.setdefault(term, 1.0 if only_single or len(token) > 1 else _SINGLE_WEIGHT)
    own = frozenset(weights)
    for turn, weight in zip(reversed(preceding), _PRECEDING_WEIGHTS, strict=False):
        for term in terms_of(token for token in tokens_of(clean_text(turn, LONGEST_QUERY)) if len(token) > 1):
            weights.setdefault(term, weight)
    return Query(
        weights=dict(list(weights.items())[:_MOST_TERMS]),
        own_terms=own,
        topics=requested_topics(message),
        now=now,
    )


def indexed_text(text: str, heading: str, speaker: str, reply: str) -> str:
    """What of a row its words are taken from."""
    return clean_text("\n".join(part for part in (speaker, heading, text, reply) if part), LONGEST_ROW)


def embedded_text(text: str, heading: str, speaker: str, reply: str) -> str:
    """What of a row its vector is made of."""
    return clean_text(": ".join(part for part in (speaker, text) if part), LONGEST_EMBEDDED)
