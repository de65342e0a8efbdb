"""What a speaker may have remembered: whose word is an instruction, and which text is no memory of anybody's."""

import re
from dataclasses import replace
from typing import Final

from .injection import commands_the_machine
from .types import Candidate, Turn

__all__ = ["permitted"]

# A guest may say how they want to be addressed and answered; that is a preference of theirs.
_MANNER: Final = re.compile(
    r"\b(?:call|address) me\b|\bi go by\b|叫我|称呼我|喊我"
    r"|\b(?:answer|reply|respond|speak|talk|write|repl(?:y|ies)|answers?|responses?|explanations?)\b[^.!?]{0,60}"
    r"\b(?:in|short|brief|concise|simple|detailed|polite|formal|casual|slowly|words|sentences|bullet)\b"
    r"|(?:用|说|讲)(?:中文|英文|英语|日语|法语|德语|普通话|粤语)|(?:回答|回复|答复|解释)[^。！？]{0,20}(?:简|短|详|细|中文|英文|列表|礼貌)",
    re.IGNORECASE,
)


def permitted(candidate: Candidate, turn: Turn, *, by_owner: bool) -> Candidate | None:
    """The candidate as its speaker may have it remembered, None where they may not.

    Text that addresses the machine is nobody's memory; explicit words are judged by themselves, all else by the whole
    message. Only the owner gives the assistant standing instructions.
    """
    judged = candidate.content if candidate.explicit else f"{candidate.content}\n{turn.user}"
    if commands_the_machine(judged):
        return None
    if by_owner or candidate.category != "instruction":
        return candidate
    return replace(candidate, category="preference", importance="normal") if _MANNER.search(candidate.content) else None
