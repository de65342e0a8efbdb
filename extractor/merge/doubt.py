"""Tells why a person should look at a candidate before it is kept."""

import re
from collections.abc import Sequence
from typing import Final, Literal

from extractor.tables import table
from extractor.types import Candidate, Decision, Doubt

_PATTERNS: Final = table("merging").patterns()


ReviewMode = Literal["off", "doubtful", "all"]


def doubt_of(
    candidate: Candidate,
    decision: Decision,
    *,
    mode: ReviewMode,
    min_confidence: float,
    of_guest: bool,
    owner_names: Sequence[str] = (),
) -> Doubt:
    """Return why a candidate should wait for a person; "" for no reason.

    What the user asked to remember in so many words waits only if a guest says it about the owner.

    decision: what merging would do with it. min_confidence: below it, a candidate is doubtful. of_guest: somebody else
    than the owner stated it. owner_names: what the owner is called.
    """
    if mode == "off":
        return ""
    if of_guest and is_about_owner(f"{candidate.content}\n{candidate.quote}", owner_names):
        return "about_owner"
    doubt: Doubt = candidate.doubt or ("contradicts" if decision.against else "")
    if not doubt and not candidate.explicit:
        doubt = "unsure" if candidate.confidence < min_confidence else "all" if mode == "all" else ""
    return doubt


def is_about_owner(text: str, names: Sequence[str] = ()) -> bool:
    """Return whether a guest's words speak of the assistant's owner. names: what the owner is called."""
    stripped = [(r"\b" if name.isascii() else "", re.escape(name.strip())) for name in names if name.strip()]
    named = any(re.search(f"{edge}{name}{edge}", text, re.IGNORECASE) for edge, name in stripped)
    return named or bool(_PATTERNS["owner"].search(text))
