"""Whether anything that was found is of use for a message, and how much each line is.

Two logistic fits over labelled conversations. The one separates messages that a memory answers from those that none
does: small talk, tasks, chats about something else. The other separates lines that answer from those that don't.
docs/ranking.md says what they were fitted on, and how they do on families of conversations that were left out.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # a hook scores by words alone, without numpy
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Flags = NDArray[np.bool_]

# The rank of an unrelated row, by its recency and length alone.
UNRELATED_RANK = 0.4

NO_EVIDENCE = -5.45
LEAD_EVIDENCE = 1.48
MEANING_EVIDENCE = 5.63
BOTH_EVIDENCE = 3.24
SELF_EVIDENCE = 3.79
MOST_SELVES = 2  # long messages say "I" often, and mean no memory by it
TASK_EVIDENCE = -1.64
QUESTION_EVIDENCE = 1.12
DATE_EVIDENCE = 1.27
FOREIGN_EVIDENCE = 1.04
NAMED_EVIDENCE = 3.7
TERMS_EVIDENCE = 0.4

NO_WORTH = -5.03
COSINE_WORTH = 3.41
COVERAGE_WORTH = 1.33
BEHIND_WORTH = -1.96
LEAD_WORTH = 1.21
SELF_WORTH = 0.92
LECTURE_WORTH = -1.09
PASSAGE_WORTH = 0.65  # a sentence of what was said costs less than a memory that does not belong
TELLING_WORTH = 1.26
REPLY_WORTH = 1.68
BORROWED_WORTH = -3.0  # by hand: a translation or a story is not to be taken for the user's own words
REMINDED_WORTH = 0.67
ASSISTED_WORTH = -0.8
ASSISTED_COSINE_WORTH = 2.11
# The share of lines with a label from which a line has a score of .5. Labels are incomplete: read by hand, two to three
# times as many help.
LEAST_LABELLED = 0.1
CERTAIN_SHARE = 0.1

# Without vectors: a fit on whether the best three hold a labelled memory.
WORDS_ALONE_EVIDENCE = -3.5
WORDS_ALONE_COVERAGE = 2.5
WORDS_ALONE_LEAD = 2.1
WORDS_ALONE_SELF = 1.5
WORDS_ALONE_LEANING = 0.9
WORDS_ALONE_TASK = -1.6
WORDS_ALONE_DATE = 0.8
WORDS_ALONE_QUESTION = 1.15
# However sure the best row is, a row that ranks so far behind it is as likely useless as not.
BEHIND_EVIDENCE = 0.3
FARTHEST_BEHIND = 1.0
FOREMOST_EVIDENCE = 3.0

# A standing preference for what the message asks to be made is rather useful, whatever its words.
APPLIES_EVIDENCE = 0.4


class Message(NamedTuple):
    """What is known of a message and of the best rows for it.

    lead: how far the best row's rank is above the tenth's. meaning: mean cosine of the best three rows. both: the
    highest cosine times coverage among the best ten. selves, leans, task, asks: see
    `query.Query`. terms: the number of the message's own terms. dated: how well the best rows fit a day that the
    message names. foreign: the share of the best three rows in another script than the message. named: whether a row
    has a name that is in the message. assisted: whether the scope is an assistant's log, see `rank.lectures`.
    """

    lead: float
    meaning: float
    both: float
    selves: int
    leans: int
    task: bool
    asks: bool
    terms: int
    dated: float
    foreign: float
    named: bool
    assisted: bool


class Lines(NamedTuple):
    """Features of lines, one value for each.

    cosine: 0 or more. behind: how far the rank is behind the best one's. lecture: a part of a long reply. passage: of
    what was said. telling: how much a passage of the user tells of them, 0 to 1. reply: the assistant said it.
    borrowed: a text to be translated, a story and the like, or the reply to it.
    """

    cosine: "Floats"
    coverage: "Floats"
    behind: "Floats"
    lecture: "Flags"
    passage: "Flags"
    telling: "Floats"
    reply: "Flags"
    borrowed: "Flags"


def evidence(message: Message) -> float:
    """Return the log-odds that a row is of use for the message: 0 is as likely as not."""
    return (
        NO_EVIDENCE
        + LEAD_EVIDENCE * message.lead
        + MEANING_EVIDENCE * message.meaning
        + BOTH_EVIDENCE * message.both
        + SELF_EVIDENCE * math.log1p(min(message.selves, MOST_SELVES))
        + TASK_EVIDENCE * message.task
        + QUESTION_EVIDENCE * message.asks
        + DATE_EVIDENCE * message.dated
        + FOREIGN_EVIDENCE * message.foreign
        + NAMED_EVIDENCE * message.named
        + TERMS_EVIDENCE * math.log1p(message.terms)
    )


def worth(message: Message, lines: Lines) -> "Floats":
    """Return the log-odds of each line that it answers the message, as the labels have it."""
    whole = NO_WORTH + LEAD_WORTH * message.lead + SELF_WORTH * math.log1p(message.selves)
    whole += ASSISTED_WORTH * message.assisted
    of_lines: Floats = (
        COSINE_WORTH * lines.cosine
        + COVERAGE_WORTH * lines.coverage
        + BEHIND_WORTH * lines.behind
        + LECTURE_WORTH * lines.lecture
        + PASSAGE_WORTH * lines.passage
        + TELLING_WORTH * lines.telling
        + BORROWED_WORTH * (message.leans == 0) * lines.borrowed
        + (REPLY_WORTH + REMINDED_WORTH * math.log1p(message.leans)) * lines.reply
        + ASSISTED_COSINE_WORTH * message.assisted * lines.cosine
    )
    of_lines += whole
    return of_lines


def score(evidence: float, worth: float, *, memory: bool, applies: bool) -> float:
    """Return a row's score, 0 to 1, from what speaks for any row, and what speaks for this one.

    memory: it is no passage of what was said, which takes more room.
    """
    # Where it is certain that something is of use, one more memory costs little.
    generous = CERTAIN_SHARE * max(evidence, 0.0) * memory
    odds = min(evidence, worth + generous - math.log(LEAST_LABELLED / (1 - LEAST_LABELLED)))
    return _probability(max(odds, APPLIES_EVIDENCE) if applies else odds)


def by_words(*, lead: float, coverage: float, selves: int, leans: int, task: bool, dated: float, asks: bool) -> float:
    """Return the log-odds that the best rows are of use, where there are no vectors; see `Message`.

    coverage: the highest among the best ten.
    """
    return (
        WORDS_ALONE_EVIDENCE
        + WORDS_ALONE_COVERAGE * coverage
        + WORDS_ALONE_LEAD * lead
        + WORDS_ALONE_SELF * math.log1p(selves)
        + WORDS_ALONE_LEANING * math.log1p(leans)
        + WORDS_ALONE_TASK * task
        + WORDS_ALONE_DATE * dated
        + WORDS_ALONE_QUESTION * asks
    )


def by_words_behind(evidence: float, behind: float, *, applies: bool) -> float:
    """Return a row's score, 0 to 1, from `by_words` and how far its rank is behind the best one's."""
    odds = min(evidence - BEHIND_EVIDENCE * behind, FOREMOST_EVIDENCE * (1 - behind / FARTHEST_BEHIND))
    return _probability(max(odds, APPLIES_EVIDENCE) if applies else odds)


def _probability(odds: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))
