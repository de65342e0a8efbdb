"""Whether observations are worth a summary. Pure functions with light imports, since hooks call them often."""

from collections.abc import Sequence
from typing import Final

from extractor import is_greeting, is_mostly_chinese, is_small_talk
from gateway_memory.store.journal.opened import Observation

ENOUGH: Final = 40
"""The letters in the user's own words that make a session worth a summary. A Han character counts as two and a half."""
MUCH: Final = 150
"""The minimum at a first stop: each letter counts 1, a tool 30, and a decision, an error or a todo 50."""
_TOOL: Final = 30
_DEED: Final = 50


def is_significant(observations: Sequence[Observation]) -> bool:
    """Return whether a session did or decided something, or whether the user said enough for a summary.

    A decision, an error, a todo or a tool call is enough. So are about 40 letters or 16 Han characters from the user
    that are not greetings. Private observations do not count.
    """
    return any(_is_deed(each) for each in observations) or _user_letters(observations) >= ENOUGH


def much_happened(observations: Sequence[Observation]) -> bool:
    """Return whether a session is worth a follow-up already at the agent's first stop.

    An answered question or a small task with a tool or two is not, since a later stop or the end can still save it.
    """
    done = sum(_TOOL if each.kind == "tool" else _DEED for each in observations if _is_deed(each))
    return _user_letters(observations) + done >= MUCH


def _is_deed(each: Observation) -> bool:
    return not each.private and bool(each.content.strip()) and each.kind not in ("user", "assistant")


def _user_letters(observations: Sequence[Observation]) -> float:
    """Return how much the user said, in letters. A Han character counts as two and a half."""
    letters = 0.0
    for each in observations:
        content = each.content.strip()
        if each.kind == "user" and not each.private and not (is_greeting(content) or is_small_talk(content)):
            letters += sum(2.5 if character >= "\u2e80" else character.isalnum() for character in content[:400])
    return letters


def is_chinese(observations: Sequence[Observation]) -> bool:
    """Return whether the user writes Chinese, to select the language of prompts."""
    return is_mostly_chinese(
        "".join(each.content[:400] for each in observations if each.kind == "user" and not each.private)
    )
