"""Whether a batch of turns is worth the debounced stage, and a named reason when not."""

from collections.abc import Sequence

from .settings import ExtractorSettings
from .types import Turn, Verdict

__all__ = ["judge"]


def judge(turns: Sequence[Turn], settings: ExtractorSettings) -> Verdict:
    length = sum(len(turn.user.strip()) + len(turn.reply.strip()) for turn in turns)
    if length < settings.min_conversation_length:
        return Verdict(keep=False, reason="too_short", score=0.0)
    return Verdict(keep=True, reason="informative", score=0.5)
