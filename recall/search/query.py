"""What is asked of a search, and what it takes from a message. Pure; a long message takes a while to read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from recall.text.dates import Span, looks_back, spans_of
from recall.text.topics import is_wide, requested_topics
from recall.text.words import alike, clean_text, terms_of, tokens_of
from recall.types import Filter

# What is asked of a search.


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """See `Recaller.search`. `now`: epoch seconds; `preceding`: the turns before the query, the oldest first."""

    scope: str
    query: str
    limit: int
    episodes: int
    min_score: float
    now: float
    preceding: tuple[str, ...] = ()
    only: Filter | None = None
    explain: bool = False
    asked: bool = False
    weak: int = 0


# Terms are taken from so many characters of a message.
LONGEST_QUERY = 1000
PRECEDING_TURNS = 4
_PRECEDING_WEIGHTS = (0.4, 0.3, 0.2, 0.1)
_SINGLE_WEIGHT = 0.3
_ALIKE_WEIGHT = 0.3
"""Of a word that may stand for one of the message's, see `words.alike`."""
# "Help me", 帮我 and the like are words of a request.
_SELF = re.compile(
    r"(?<!help )(?<!tell )(?<!give )(?<!show )(?<!teach )"
    r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b|(?<![帮给替教请])我|咱",
    re.IGNORECASE,
)
# References to an earlier conversation: a promise, a plan, a next step.
_LEANS = re.compile(
    r"\b(?:you (?:said|mentioned|told|suggested|gave|recommended|sent|promised|just|were|had|have)"
    r"|last (?:time|week|session|night)|as (?:we|i) (?:discussed|agreed|said|mentioned)"
    r"|next (?:step|on|up)|again|still|already|back|earlier|ready|remember|our|that's|finally)\b"
    r"|上次|之前|记得|刚才|又|还是|已经|终于|接着",
    re.IGNORECASE,
)
# A task that has nothing to do with the user.
_TASK = re.compile(
    r"\W*(?:(?:please|kindly|can you|could you) )?(?:write|rewrite|explain|list|generate|create|give me"
    r"|what (?:is|are|were|does)|define|describe|summari[sz]e|translate|provide|convert|make|tell me"
    r"|how (?:to|do|does|can)|elaborate|continue|act as|you are|imagine|compare|calculate|solve|code|implement)\b"
    r"|\W*(?:请|帮我|给我|麻烦|用[^，。,\s]{1,6}?)*(?:写|改写|润色|校对|修改|解释|列出|列举|生成|什么是|定义|描述|总结|翻译|介绍|转换|计算|比较"
    r"|假设|扮演|继续|实现|如何|怎么)",
    re.IGNORECASE,
)
# A question of how something is done in general: its "I" tells nothing of the user, and its names are the matter's.
_HOW_TO = re.compile(r"\W*how (?:to|do i|do you|does one)\b", re.IGNORECASE)
# "What is the capital of Peru?" asks about the world.
_OF_THE_WORLD = re.compile(r"\W*[Ww]hat(?:'s| is| are| was| were) the (?:\w+ ){1,3}(?:of|in) (?:the )?[A-Z]\w+\W*$")
# A question, also without its mark.
_ASKS = re.compile(
    r"[?？]\W*$|^\W*(?:and |so |but |ok(?:ay)?,? )?"
    r"(?:what|which|who|whom|whose|when|where|why|how|do|does|did|is|are|am|was"
    r"|were|have|has|can|could|should|will|would)(?:'s|'re|n't)?\b|(?:什么|谁|[哪几啥]|多少|怎么|为何|是否|[吗么呢]\W*$)(?![都也])(?!.*[。！!…~]\W*$)",
    re.IGNORECASE,
)
# What it says is clear only from the talk before: "and the second one?", "那她呢", "what do you think?".
_POINTS = re.compile(
    r"\b(?:it|its|that|this|those|these|them|they|their|he|him|his|she|her|hers|there|then|one|ones|else|instead|other"
    r"|another|same|former|latter|again|too|more|you|your)\b|^\W*(?:and|or|but|so)\b|[它他她那这其你您]|另|还有|呢\W*$|再|上面|刚才|继续|同样",
    re.IGNORECASE,
)
_FEWEST_TERMS = 2
# A capital letter inside a sentence, as English writes names; those of the calendar and "I" name nobody.
_NAME = re.compile(
    r"(?<=[\w,;:]\s)(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|August"
    r"|September|October|November|December|English|Chinese|French|Spanish|German|Italian|Japanese|Korean|Russian|Portuguese|Arabic)"
    r"[A-Z][a-z]+"
)
_MOST_OWN_TERMS, _MOST_TERMS = 96, 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Features of a message.

    weights: of each term; own: how many of them, the first ones, are of the message itself. topics: bits of what it
    asks to be made (see `topics`). spans: the days that it names. looks_back: see `dates.looks_back`. selves: how often
    it says I, my, we. leans: how often it refers to an earlier conversation. task: whether it sets a general task.
    asks: whether it asks. names: the terms of words in it that are written as names. alone: whether it is a question
    that is clear without the turns before it, which then count for nothing. wide: see `topics.is_wide`.
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

    @property
    def wants(self) -> bool:
        """Whether the message asks for something, and does not only state something."""
        return bool(self.asks or self.topics or self.looks_back or self.task)


def prepare_query(message: str, preceding: Sequence[str], now: float, zone: tzinfo | None) -> Query:
    """Return the features of a message. The turns before it add terms of less weight, the last turn the most."""
    message = clean_text(message, LONGEST_QUERY)
    tokens = tokens_of(message)
    # A single character is part of many words, so it has full weight only where the message has nothing longer.
    only_single = all(len(token) == 1 for token in tokens)
    weights: dict[int, float] = {}
    for token, term in zip(tokens, terms_of(tokens), strict=True):
        if len(weights) < _MOST_OWN_TERMS:
            weights.setdefault(term, 1.0 if only_single or len(token) > 1 else _SINGLE_WEIGHT)
    own = len(weights)
    for term in alike(list(weights)):
        if term not in weights and len(weights) < _MOST_TERMS:
            weights[term] = _ALIKE_WEIGHT
    asks = bool(_ASKS.search(message))
    alone = asks and own >= _FEWEST_TERMS and not _POINTS.search(message)
    for turn, weight in zip(() if alone else reversed(preceding), _PRECEDING_WEIGHTS, strict=False):
        for term in terms_of(token for token in tokens_of(clean_text(turn, LONGEST_QUERY)) if len(token) > 1):
            if term not in weights and len(weights) < _MOST_TERMS:
                weights[term] = weight
    past = looks_back(message)
    in_general = bool(_HOW_TO.match(message) or _OF_THE_WORLD.match(message))
    names = [] if in_general else _NAME.findall(message)
    return Query(
        weights=weights,
        own=own,
        # "Which films did you recommend?" asks for no recommendation.
        topics=0 if past else requested_topics(message),
        spans=spans_of(message, now, zone),
        looks_back=past,
        selves=0 if in_general else len(_SELF.findall(message)),
        leans=len(_LEANS.findall(message)),
        task=_TASK.match(message) is not None,
        asks=asks,
        alone=alone,
        wide=is_wide(message),
        names=frozenset(term for name in names for term in terms_of(tokens_of(name))),
    )
