"""Permissions: who may give instructions, and which text must not become a memory."""

import re
from dataclasses import replace
from typing import Final

from extractor.categories import traits_of
from extractor.cleaning.injection import commands_the_machine, readings, without
from extractor.rules.extract import gives_instructions
from extractor.rules.orders import is_of_manner, orders_in
from extractor.types import Candidate, Turn

from .summary import Summary

__all__ = ["concerns", "permitted", "permitted_fact", "permitted_summary", "permitted_text", "without_orders"]

_COMMENT_MARK: Final = re.compile(r"(?:<|&(?:amp;)*lt;)!--|--(?:>|&(?:amp;)*gt;)")

_OF_A_PROJECT: Final = re.compile(
    r"\b(?:this|our|the) (?:[\w-]+ )?(?:project|repo|repository|codebase|monorepo)\b"
    r"|(?:^|[\s，。；、]|这个|本|该|当前|我们的?|咱们的?)(?:项目|仓库|代码库)",
    re.IGNORECASE,
)
_OF_ONESELF: Final = re.compile(r"\b(?:i|i'[a-z]+|me|my|mine|myself)\b|[我咱俺](?!们)", re.IGNORECASE)


def concerns(candidate: Candidate, project: str) -> bool:
    """Return whether a candidate is about a project rather than about the one who says it.

    It is if it names the project and nobody speaks of themselves in it. Others read what a project holds, so that in
    doubt it is not, and neither is a wish or an instruction.

    project: its name.
    """
    if candidate.only_as or traits_of(candidate.category).standing:
        return False
    said = f"{candidate.content}\n{candidate.said}"
    name = r"[\W_]*".join(map(re.escape, re.findall(r"[^\W_]+", project)))
    named = _OF_A_PROJECT.search(said) or (name and re.search(rf"(?<![^\W_]){name}(?![^\W_])", said, re.IGNORECASE))
    return bool(named) and not _OF_ONESELF.search(said)


def permitted(candidate: Candidate, turn: Turn, *, by_owner: bool) -> Candidate | None:
    """Return the candidate as its speaker may have it remembered; None where they may not.

    Text that addresses the machine is never kept. An explicit request is checked by its own words, other candidates by
    the whole message. Only the owner may give standing instructions.
    """
    judged = candidate.content if candidate.explicit else f"{candidate.content}\n{turn.user}"
    if commands_the_machine(judged):
        return None
    if by_owner:
        return candidate
    orders = orders_in(candidate.content)
    if not (orders or traits_of(candidate.category).directive):
        return candidate
    own = all(map(is_of_manner, orders or (candidate.content,)))
    return replace(candidate, category="preference", importance="normal") if own else None


def permitted_fact(candidate: Candidate, turn: Turn, *, by_owner: bool) -> Candidate | None:
    """Return an agent's fact as its session's speaker may have it remembered; None where they may not.

    turn: has the fact as its user message, so that the rules can find its category: agents call instructions facts.
    """
    if not by_owner and any(map(gives_instructions, readings(turn.user))):
        candidate = replace(candidate, category="instruction")
    named = tuple(name for name in candidate.entities if not commands_the_machine(name))
    candidate = replace(candidate, entities=named)
    if by_owner:  # the owner's work may be about comments; a file's line holds them escaped
        return None if commands_the_machine(_COMMENT_MARK.sub(" ", candidate.content)) else candidate
    return permitted(candidate, turn, by_owner=False)


def permitted_text(text: str, *, by_owner: bool) -> str:
    """Return a summary's text as its speaker may have it kept; "" where nothing of it may be kept.

    A guest's words return in their next opening, so sentences that address the machine or give it standing orders are
    cut. The owner's are unchanged: the owner's work may be about configs and prompts.
    """
    return text if by_owner else without_orders(text)


def permitted_summary(summary: Summary, *, by_owner: bool) -> Summary | None:
    """Return a session's summary as its speaker may have it kept (see `permitted_text`); None where nothing may be."""
    if by_owner:
        return summary
    allowed = replace(
        summary,
        topic=without_orders(summary.topic),
        brief=without_orders(summary.brief),
        detailed=without_orders(summary.detailed),
        decisions=tuple(item for item in summary.decisions if not _orders(item)),
        todos=tuple(item for item in summary.todos if not _orders(item)),
    )
    return allowed if allowed.topic or allowed.detailed or allowed.decisions or allowed.todos else None


def without_orders(text: str) -> str:
    """Return the text without sentences that address the machine or give it a standing order, save one of manner."""
    return without(text, _orders)


def _orders(text: str) -> bool:
    return commands_the_machine(text) or not all(map(is_of_manner, orders_in(text)))
