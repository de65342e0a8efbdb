"""Whether anything that was found is of use for a message, and how much each line is.

Two logistic fits over labelled conversations. The one separates messages that a memory answers from those that none
does: small talk, tasks, chats about something else. The other separates lines that answer from those that don't.
docs/ranking.md says what they were fitted on, and how they do on families of conversations that were left out.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

from recall.tables import table

if TYPE_CHECKING:  # a hook scores by words alone, without numpy
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Flags = NDArray[np.bool_]

# The rank of an unrelated row, by its recency and length alone.
UNRELATED_RANK = 0.4

_WEIGHTS = table("weights")
_EVIDENCE, _EVIDENCE_OF_WORDS, _WORTH = map(_WEIGHTS.numbers, ("evidence", "evidence of words", "worth"))
MOST_SELVES = 2  # long messages say "I" often, and mean no memory by it
# The share of lines with a label from which a line has a score of .5. Labels are incomplete: read by hand, two to three
# times as many help.
LEAST_LABELLED = 0.1
CERTAIN_SHARE = 0.1

# Without vectors: however sure the best row is, a row that ranks so far behind it is as likely useless as not.
BEHIND_EVIDENCE = 0.3
FARTHEST_BEHIND = 1.0
FOREMOST_EVIDENCE = 3.0

# A standing preference for what the message asks to be made is rather useful, whatever its words; and what has the
# words that somebody searches for.
LIKELY_EVIDENCE = 0.4


class Message(NamedTuple):
    """What is known of a message and of the best rows for it.

    lead: how far the best row's rank is above the tenth's. meaning: mean cosine of the best three rows. both: the
    highest cosine times coverage among the best ten; without vectors, the highest coverage. selves, leans, task, asks:
    see `query.Query`. terms: the number of the message's own terms. dated: how well the best rows fit a day that the
    message names. foreign: the share of the best three rows in another script than the message. named: whether a row
    has a name that is in the message. asker: how surely it asks for what its asker has told, and strange: how little a
    question or a task has to do with its asker, from 0 on, see `asker.of_asker`. assisted: whether the scope is an
    assistant's log, see `rank.lectures`.
    """

    lead: float
    both: float
    selves: float
    leans: int
    task: bool
    asks: bool
    meaning: float = 0.0
    terms: int = 0
    dated: float = 0.0
    foreign: float = 0.0
    named: bool = False
    asker: float = 0.0
    strange: float = 0.0
    assisted: bool = False


def evidence(message: Message, *, by_meaning: bool = True) -> float:
    """Return the log-odds that a row is of use for the message: 0 is as likely as not.

    by_meaning: False where there are no vectors.
    """
    selves = min(message.selves, MOST_SELVES) if by_meaning else message.selves
    counts = {"selves": selves, "leans": message.leans, "terms": message.terms}
    features = {"always": 1.0, **message._asdict(), **{name: math.log1p(count) for name, count in counts.items()}}
    odds = 0.0
    for name, weight in (_EVIDENCE if by_meaning else _EVIDENCE_OF_WORDS).items():
        odds += weight * features[name]
    return odds


def worth(message: Message, **lines: "Floats | Flags") -> "Floats":
    """Return the log-odds of each line that it answers the message, as the labels have it.

    lines: their features, one value for each. cosine: 0 or more. coverage: of the message. behind: how far the rank is
    behind the best one's. lecture: a part of a long reply. passage: of what was said. telling: how much a passage of
    the user tells of them, 0 to 1. reply: the assistant said it. own: how surely its asker told what the message asks
    of them, 0 to 1. borrowed: a text to be translated, a story and the like, or the reply to it.
    """
    whole = _WORTH["always"] + _WORTH["lead"] * message.lead + _WORTH["selves"] * math.log1p(message.selves)
    whole += _WORTH["assisted"] * message.assisted
    of_lines: Floats = (
        _WORTH["cosine"] * lines["cosine"]
        + _WORTH["coverage"] * lines["coverage"]
        + _WORTH["behind"] * lines["behind"]
        + _WORTH["lecture"] * lines["lecture"]
        + _WORTH["passage"] * lines["passage"]
        + _WORTH["telling"] * lines["telling"]
        + _WORTH["own"] * lines["own"]
        + _WORTH["borrowed"] * (message.leans == 0) * lines["borrowed"]
        + (_WORTH["reply"] + _WORTH["reminded"] * math.log1p(message.leans)) * lines["reply"]
        + _WORTH["assisted cosine"] * message.assisted * lines["cosine"]
    )
    of_lines += whole
    return of_lines


def score(evidence: float, worth: float, *, memory: bool, likely: bool) -> float:
    """Return a row's score, 0 to 1, from what speaks for any row, and what speaks for this one.

    memory: it is no passage of what was said, which takes more room. likely: it is rather useful, whatever else.
    """
    # Where it is certain that something is of use, one more memory costs little.
    generous = CERTAIN_SHARE * max(evidence, 0.0) * memory
    odds = min(evidence, worth + generous - math.log(LEAST_LABELLED / (1 - LEAST_LABELLED)))
    return _probability(max(odds, LIKELY_EVIDENCE) if likely else odds)


def by_words_behind(evidence: float, behind: float, *, likely: bool) -> float:
    """Return a row's score, 0 to 1, from the evidence of words and how far its rank is behind the best one's."""
    odds = min(evidence - BEHIND_EVIDENCE * behind, FOREMOST_EVIDENCE * (1 - behind / FARTHEST_BEHIND))
    return _probability(max(odds, LIKELY_EVIDENCE) if likely else odds)


def _probability(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))
