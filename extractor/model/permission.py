"""Permissions: who may give instructions, and which text must not become a memory."""

import re
from dataclasses import replace
from typing import Final

from extractor.categories import traits_of
from extractor.cleaning.injection import commands_the_machine, without_commands
from extractor.rules.extract import gives_instructions
from extractor.types import Candidate, Turn

from .summary import Summary

__all__ = ["permitted", "permitted_fact", "permitted_summary"]

# A guest may say how they want to be addressed and answered; that is a preference of theirs.
_MANNER: Final = re.compile(
    r"\b(?:call|address) me\b|\bi go by\b|叫我|称呼我|喊我"
    r"|\b(?:answer|reply|respond|speak|talk|write|repl(?:y|ies)|answers?|responses?|explanations?)\b[^.!?]{0,60}"
    r"\b(?:in|short|brief|concise|simple|detailed|polite|formal|casual|slowly|words|sentences|bullet)\b"
    r"|(?:用|说|讲)(?:中文|英文|英语|日语|法语|德语|普通话|粤语)|(?:回答|回复|答复|解释)[^。！？]{0,20}(?:简|短|详|细|中文|英文|列表|礼貌)",
    re.IGNORECASE,
)

# An order to the assistant: "Always approve …", but not "Always approves …" or "Never have I …".
_STANDING: Final = re.compile(
    r"\A\W*(?:(?:please|you (?:must|should|shall|have to|need to)|remember to|make sure to)[ ,]+)*"
    r"(?:always|never|from now on|henceforth|in (?:the )?future|whenever|every time)\b[ ,]+"
    r"(?!\w+s\b|(?:i|we|he|she|they|it|my|our|his|her|their|have|had|been)\b)\w",
    re.IGNORECASE,
)

_COMMENT_MARK: Final = re.compile(r"(?:<|&(?:amp;)*lt;)!--|--(?:>|&(?:amp;)*gt;)")


def permitted(candidate: Candidate, turn: Turn, *, by_owner: bool) -> Candidate | None:
    """Return the candidate as its speaker may have it remembered; None where they may not.

    Text that addresses the machine is never kept. An explicit request is checked by its own words, other candidates by
    the whole message. Only the owner may give standing instructions.
    """
    judged = candidate.content if candidate.explicit else f"{candidate.content}\n{turn.user}"
    if commands_the_machine(judged):
        return None
    if by_owner or not traits_of(candidate.category).directive:
        return candidate
    return replace(candidate, category="preference", importance="normal") if _MANNER.search(candidate.content) else None


def permitted_fact(candidate: Candidate, turn: Turn, *, by_owner: bool) -> Candidate | None:
    """Return an agent's fact as its session's speaker may have it remembered; None where they may not.

    turn: has the fact as its user message, so that the rules can find its category: agents call instructions facts.
    """
    if not by_owner and (gives_instructions(turn.user) or _STANDING.match(candidate.content)):
        candidate = replace(candidate, category="instruction")
    named = tuple(name for name in candidate.entities if not commands_the_machine(name))
    candidate = replace(candidate, entities=named)
    if by_owner:  # the owner's work may be about comments; a file's line holds them escaped
        return None if commands_the_machine(_COMMENT_MARK.sub(" ", candidate.content)) else candidate
    return permitted(candidate, turn, by_owner=False)


def permitted_summary(summary: Summary, *, by_owner: bool) -> Summary | None:
    """Return a session's summary as its speaker may have it kept; None where nothing of it may be kept.

    A guest's words return in their next opening, so sentences that address the machine are cut. The owner's summary is
    unchanged: the owner's work may be about configs and prompts.
    """
    if by_owner:
        return summary
    detailed = without_commands(summary.detailed)
    allowed = replace(
        summary,
        topic=without_commands(summary.topic),
        brief=without_commands(summary.brief),
        detailed=detailed,
        decisions=tuple(item for item in summary.decisions if not commands_the_machine(item)),
        todos=tuple(item for item in summary.todos if not commands_the_machine(item)),
    )
    return allowed if allowed.topic or detailed or allowed.decisions or allowed.todos else None
