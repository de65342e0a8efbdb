"""Whether what was seen in a session is worth a summary. Pure and light: the hooks ask it at every stop."""

import re
from collections.abc import Sequence
from typing import Final

from gateway_memory.store.session_state import Observation

__all__ = ["is_chinese", "worth_saving"]

ENOUGH: Final = 40
"""Letters of the user's own words that make a session worth a summary; a Han character counts as two and a half."""
_SMALL_TALK: Final = re.compile(
    r"(?i)\A\W*(?:hi|hello|hey|thanks?(?: you)?(?: (?:so|very) much)?|thx|ok(?:ay)?|yes|no|bye"
    r"|good (?:morning|night|evening)|you'?re welcome|great|cool|nice|lol"
    r"|你好|您好|谢谢|多谢|好的?|嗯+|再见|拜拜|早上好|晚安|在吗|哈+|可以|行)\W*\Z"
)


def worth_saving(seen: Sequence[Observation]) -> bool:
    """Return whether a session did or decided something, or whether the user said enough to go on with.

    A decision, an error, a todo, or a tool that was used, is enough. So are about 40 letters or 16 Han characters of
    the user's that are no greetings. Private observations count for nothing.
    """
    said = 0.0
    for each in seen:
        content = each.content.strip()
        if each.private or not content:
            continue
        if each.kind not in ("user", "assistant"):
            return True
        if each.kind == "user" and not _SMALL_TALK.match(content):
            said += sum(2.5 if character >= "\u2e80" else character.isalnum() for character in content[:400])
    return said >= ENOUGH


def is_chinese(seen: Sequence[Observation]) -> bool:
    """Return whether the user writes Chinese, for the prompts that the agent is given."""
    text = "".join(each.content[:400] for each in seen if each.kind == "user" and not each.private)
    return 4 * sum("\u4e00" <= character <= "\u9fff" for character in text) > len(text)
