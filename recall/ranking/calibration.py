"""The probability that what ranks best is of use, from features of the message and of the best rows."""

import math

__all__ = ["NAMED_EVIDENCE", "UNRELATED_RANK", "calibrated", "evidence"]

# The calibration: log-odds of a logistic fit on whether the best three hold a labelled memory, against messages that no
# memory answers (filler chats, small talk), in scopes of one to seven hundred rows. At .5, 10 of 100 filler messages
# get a block.
NO_EVIDENCE = -6.06
LEAD_EVIDENCE = 2.1
FIRST_EVIDENCE = 0.65
MEANING_EVIDENCE = 4.8
BOTH_EVIDENCE = 2.8
SELF_EVIDENCE = 1.5
LEANING_EVIDENCE = 0.9
TASK_EVIDENCE = -1.6
DATE_EVIDENCE = 0.8
QUESTION_EVIDENCE = 1.15
WORDS_ALONE_EVIDENCE = -3.5
COVERAGE_EVIDENCE = 2.5
# For an episode, beside the evidence for memories: a row has a name that is in the message.
NAMED_EVIDENCE = 1.5
# The rank of an unrelated row, by its recency and length alone.
UNRELATED_RANK = 0.4
# However sure the best row is, a row that ranks so far behind it is as likely useless as not.
BEHIND_EVIDENCE = 0.3
FARTHEST_BEHIND = 1.0
FOREMOST_EVIDENCE = 3.0
# A standing preference for what the message asks to be made is rather useful, whatever its words.
APPLIES_EVIDENCE = 0.4


def evidence(
    *,
    lead: float,
    first: float,
    meaning: float | None,
    both: float,
    selves: int,
    leans: int,
    task: bool,
    dated: float,
    asks: bool,
) -> float:
    """Return the log-odds that the best few rows are useful for the message: 0 is as likely as not.

    lead: how far the best row's rank is above the tenth's. first: the best row's rank. meaning: mean cosine of the best
    three, None without vectors. both: the highest cosine times coverage among the best ten (coverage alone without
    vectors). selves, leans, task, asks: see `query.Query`. dated: how well the best rows fit a day that the message
    names.
    """
    said = SELF_EVIDENCE * math.log1p(selves) + LEANING_EVIDENCE * math.log1p(leans) + TASK_EVIDENCE * task
    said += DATE_EVIDENCE * dated + QUESTION_EVIDENCE * asks + LEAD_EVIDENCE * lead
    if meaning is None:
        return WORDS_ALONE_EVIDENCE + COVERAGE_EVIDENCE * both + said
    return NO_EVIDENCE + FIRST_EVIDENCE * first + MEANING_EVIDENCE * meaning + BOTH_EVIDENCE * both + said


def calibrated(evidence: float, behind: float, *, applies: bool) -> float:
    """Return a row's score, 0 to 1, from the evidence and how far its rank is behind the best one's."""
    odds = min(evidence - BEHIND_EVIDENCE * behind, FOREMOST_EVIDENCE * (1 - behind / FARTHEST_BEHIND))
    if applies:
        odds = max(odds, APPLIES_EVIDENCE)
    return 1 / (1 + math.exp(-odds))
