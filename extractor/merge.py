"""What a candidate does to the memories near it."""

from collections.abc import Sequence

from .types import Candidate, Decision, Known

__all__ = ["decide"]


def decide(candidate: Candidate, known: Sequence[Known]) -> Decision:
    for memory in known:
        if memory.text.strip() == candidate.content.strip():
            return Decision(action="skip", target=memory.id, reason="same_text")
    return Decision(action="add", target=None, reason="new")
