"""What people ask of the memory in plain words: to forget something, to pause, or to keep a secret, which is masked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from extractor import (
    TOLD_BESIDE,
    Act,
    asked_of_memory,
    asks_by_itself,
    clauses_of,
    differ,
    may_ask_in_clause,
    polarity,
    same_text,
)
from gateway_memory.capture.meanings import meanings_of
from gateway_memory.ground.tables import has_han, simplified, tables_in
from gateway_memory.store.documents import is_writable
from gateway_memory.store.withheld import terms_of
from recall import Near, Recaller, Stored, text_overlap

TABLE: Final = tables_in(__file__)("requests")
PATTERNS: Final = TABLE.patterns()
_ASKING: Final = TABLE.sets("words")["asking"]
_TOKEN: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
CERTAIN: Final = 0.6
"""The minimum share of the request that stands in the memory that is meant, or word Jaccard similarity of both …"""
LEAD: Final = 0.2
"""… and its minimum lead over the next one."""
POSSIBLE: Final = 0.2
NEAR_IN_MEANING: Final = 0.59
"""The minimum cosine similarity of a memory in other words or another language that is shown. It is never certain."""
_CONTAINED: Final = 0.8
"""What containing all words of a request weighs beside repeating it."""
_MOST_POSSIBLE: Final = 5
_LONGEST: Final = 400
_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a message asks of the memory itself. what: the words that name it, "" for none. sure: whether it does."""

    act: Act
    what: str
    sure: bool

    @property
    def only_asks(self) -> bool:
        """Whether the message surely tells nothing besides."""
        return self.sure and self.act not in TOLD_BESIDE


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """The result of a request: the one memory that is certain, or the possible memories, the likeliest first."""

    certain: Stored | None = None
    possible: tuple[Stored, ...] = ()


async def request_in(recaller: Recaller, message: str, seconds: float = _SECONDS) -> Request | None:
    """Return what a message asks of the memory, or perhaps asks; None for any other message.

    A long message asks nothing. Without an encoder, and before it has loaded, only the plainest wish to forget is read.
    """
    line = " ".join(message.split())
    if not line or len(line) > _LONGEST:
        return None
    whole = (await meanings_of(recaller, [line], seconds)).get(line)
    if whole is None:
        plainly = PATTERNS["forget"].match(line)
        return Request(act="forget", what=object_of(line), sure=True) if plainly else None
    clauses = clauses_of(line) if whole.asks or may_ask_in_clause(whole) else []
    ends = clauses[:1] + clauses[-1:]
    asking = await meanings_of(recaller, ends, seconds) if ends else {}
    act, sure = asked_of_memory(whole, list(asking.values()))
    named = (object_of(clause) for clause, meaning in asking.items() if asks_by_itself(meaning, act))
    return act and Request(act=act, what=next(filter(terms_of, named), object_of(line)), sure=sure)


def object_of(request: str) -> str:
    """Return the words of a request that name its object, without those that only ask: "the killarney job"."""
    if has_han(request):
        plain = PATTERNS["asking Chinese"].sub(" ", simplified(request))
        return " ".join(_TOKEN.findall(plain))
    words = _TOKEN.findall(request)
    return " ".join(word for word in words if word.lower().replace("’", "'") not in _ASKING)


def memories_meant(what: str, near: Sequence[Near]) -> Meant:
    """Return the memories that a request names, given its nearest memories."""
    if not terms_of(what):
        return Meant()
    items = [item for item in near if item.stored.entry.kind == "item" and is_writable(item.stored.file)]
    scored = sorted(((_share(what, item), item.stored) for item in items), key=lambda pair: -pair[0])
    possible = tuple(stored for share, stored in scored if share >= POSSIBLE)
    alike = sorted(
        (item for item in items if (item.cosine or 0.0) >= NEAR_IN_MEANING), key=lambda item: -(item.cosine or 0.0)
    )
    possible = (*possible, *(item.stored for item in alike if item.stored not in possible))[:_MOST_POSSIBLE]
    likely = [pair for pair in scored if not (_denies(what, pair[1].entry.text) or differ(what, pair[1].entry.text))]
    if likely:  # twins are one: what says the same goes with it
        top = same_text(likely[0][1].entry.text)
        likely = [pair for pair in likely if pair is likely[0] or same_text(pair[1].entry.text) != top]
    if likely and likely[0][0] >= CERTAIN and (len(likely) == 1 or likely[0][0] - likely[1][0] >= LEAD):
        return Meant(certain=likely[0][1], possible=possible)
    return Meant(possible=possible)


def _denies(what: str, text: str) -> bool:
    """Return whether a memory contradicts the request: "I like tea" is not "I don't like tea"."""
    sides = {polarity(what), polarity(text)} if PATTERNS["states"].match(what) else set()
    return sides == {True, False}


def _share(what: str, item: Near) -> float:
    """Return how much of the request the memory contains: Jaccard, and at least 0.9 for a verbatim match."""
    request, text = ("".join(c for c in part.casefold() if c.isalnum()) for part in (what, item.stored.entry.text))
    within = 0.9 if len(request) > 1 and request in text else 0.0
    terms = {term for term in terms_of(what) if term.isalnum()}  # what one likes tells nothing alone
    contained = _CONTAINED * len(terms & terms_of(item.stored.entry.text)) / max(1, len(terms))
    return max(within, contained, text_overlap(what, item.stored.entry.text))
