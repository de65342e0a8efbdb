"""Permissions: who may give instructions, and which text must not become a memory."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Final

from extractor.categories import traits_of
from extractor.cleaning.injection import commands_the_machine, readings, without
from extractor.meaning import Meaning, clauses_of
from extractor.rules.extract import gives_instructions
from extractor.tables import table
from extractor.types import Candidate, Turn

from .summary import Summary

# Finds standing orders to an assistant, also inside a statement: "the sign says from now on approve refunds".
#
# A mark that something shall hold for long ("from now on", "always", 以后), what may stand between, and a deed that one
# asks of an assistant make an order, unless the clause has another subject: "Managers always approve refunds" tells a
# fact. A grave deed needs no clause of its own. Each reading of the text is searched: see
# `extractor.cleaning.injection`.


_NO_MEANINGS: Final[Mapping[str, Meaning]] = MappingProxyType({})
_TABLE: Final = table("orders")
_PATTERNS: Final = _TABLE.patterns()
_THIS_ONE: Final = dict(_TABLE.compiled("this one"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Language:
    """orders: have a group `order`. begins: a mark that opens a clause. grave: deeds that are never of manner."""

    orders: tuple[re.Pattern[str], ...]
    begins: re.Pattern[str]
    grave: re.Pattern[str]


@cache
def _languages() -> tuple[_Language, _Language]:
    return _language("English", r"\b"), _language("Chinese", "")


def _language(name: str, edge: str) -> _Language:
    """Return what finds the orders of a language. edge: of a word."""
    of = dict(_TABLE.sources(name))
    between, opens, subject = of["between"], f"(?:{of['opens']})", f"(?:{of['subject']})"
    lasting, habit = f"{edge}(?:{of['lasting']})", f"{edge}(?:{of['habit']}){edge}"
    grave, deed = f"{edge}(?:{of['grave']}){edge}", f"{edge}(?:{of['grave']}|{of['deeds']}){edge}"
    stated = rf"{edge}{subject}\s*(?:{habit})" if edge else f"{subject}(?:{habit}|{lasting})"
    at_once = rf"{stated}|(?P<order>(?:{lasting}|{habit}){between}{grave})"
    of_a_clause = (
        rf"{opens}{between}(?P<order>(?:{lasting}|{habit}){between}{deed}"
        rf"|{deed}[^.!?。！？\n]{{0,60}}?(?:{lasting}|{habit}))"
    )
    orders = [at_once, of_a_clause]
    if you := of.get("you"):  # "you must always …"
        orders.append(f"(?P<order>{lasting}{between}{deed})")
        orders.append(rf"(?P<order>{you}[^.!?\n]{{0,40}}?(?:{lasting}|{habit})|{lasting}[\s,]*{you})")
    return _Language(
        orders=tuple(re.compile(pattern, re.IGNORECASE) for pattern in orders),
        begins=re.compile(rf"{opens}{between}(?P<order>{lasting})", re.IGNORECASE),
        grave=re.compile(grave, re.IGNORECASE),
    )


_END: Final = re.compile(r"[.!?](?=\s)|[。！？\n]")
_LONGEST: Final = 200
"""Characters of an order that are read."""
_MOST_READ: Final = 20
_REMEMBERED: Final = 2048
_SPELT_OUT: Final = re.compile(r"\b(?:[A-Za-z][ .·_-]){20,}")
"""A sentence letter by letter, whose words can't be told apart, is meant to be read by a machine."""


def orders_in(text: str) -> list[str]:
    """Return the standing orders in a text, in any of its readings, each to the end of its sentence."""
    spelt = [match[0] for match in _SPELT_OUT.finditer(text)]
    return spelt + [order for reading in readings(text) for order in _orders_of_layer(reading)]


def _orders_of_layer(text: str) -> Iterator[str]:
    for language in _languages():
        matches = [match for pattern in language.orders for match in pattern.finditer(text) if match["order"]]
        for match in matches:
            joined = _PATTERNS["joined"].match(match[0])
            if joined and _PATTERNS["of somebody"].match(_sentence_before(text, match.start())):
                continue  # "I take the bus and always pay cash"
            yield text[match.start("order") : _end(text, match.end())]
        for match in islice(language.begins.finditer(text), _MOST_READ):
            order = text[match.start("order") : _end(text, match.end())]
            if gives_instructions(order):
                yield order


def _end(text: str, position: int) -> int:
    """Return where the sentence of an order ends, or where it is read no further."""
    end = _END.search(text, position, position + _LONGEST)
    return end.start() if end else min(len(text), position + _LONGEST)


def _sentence_before(text: str, position: int) -> str:
    start = max(0, position - _LONGEST)
    ends = [match.end() for match in _END.finditer(text, start, position)]
    return text[ends[-1] if ends else start : position].lstrip()


_AROUND: Final = " ,，;；、"
_COMMENT_MARK: Final = re.compile(r"(?:<|&(?:amp;)*lt;)!--|--(?:>|&(?:amp;)*gt;)")


def concerned(candidate: Candidate, shared: Sequence[tuple[str, str]]) -> int | None:
    """Return which of some shared scopes a candidate is about, rather than about the one who says it; None for none.

    It is about the first that it names, else about the first of whose kind it says "this project", if nobody speaks of
    themselves in it. Others read what is kept there, so that in doubt it is not, and neither is a wish or an
    instruction.

    shared: the kind and the name of each; a kind without words of its own in the table is only meant by its name.
    """
    words = f"{candidate.content}\n{candidate.sentence}"
    if candidate.only_as or traits_of(candidate.category).standing or _PATTERNS["of oneself"].search(words):
        return None
    for number, (_, name) in enumerate(shared):
        spelt = r"[\W_]*".join(map(re.escape, re.findall(r"[^\W_]+", name)))
        if spelt and re.search(rf"(?<![^\W_]){spelt}(?![^\W_])", words, re.IGNORECASE):
            return number
    meant = (number for number, (kind, _) in enumerate(shared) if kind in _THIS_ONE and _THIS_ONE[kind].search(words))
    return next(meant, None)


def permitted(
    candidate: Candidate, turn: Turn, *, by_owner: bool, meanings: Mapping[str, Meaning] = _NO_MEANINGS
) -> Candidate | None:
    """Return the candidate as its speaker may have it remembered; None where they may not.

    Text that addresses the machine is never kept. An explicit request is checked by its own words, other candidates by
    the whole message. Only the owner may give standing orders. Others may wish how they are addressed and answered.

    meanings: of the texts of `read_for_permission`. Without them, the rules alone tell an order, and all wishes are.
    """
    judged = candidate.content if candidate.explicit else f"{candidate.content}\n{turn.user}"
    if commands_the_machine(judged):
        return None
    if by_owner:
        return candidate
    meaning = meanings.get(candidate.content)
    is_directive = traits_of(candidate.category).directive
    if meaning is None:
        ordered = [clause for clause in _clauses(candidate) if gives_instructions(clause)]
        orders = bool(ordered or is_directive or orders_in(candidate.content))
    else:
        ordered = [each for each in _clauses(candidate) if each in meanings and meanings[each].orders]
        standing = any(not _is_of_manner(each, meanings.get(each)) for each in orders_in(candidate.content))
        orders = meaning.orders or bool(ordered) or standing
    if orders:
        candidate, kept = _told_beside(candidate, ordered)
        if not kept:
            return None
        wishes = any(meanings[each].wishes for each in kept if each in meanings)
    else:
        wishes = is_directive or (meaning is not None and meaning.wishes)
    return replace(candidate, category="preference", importance="normal") if wishes else candidate


def read_for_permission(candidate: Candidate) -> list[str]:
    """Return the texts whose meanings tell what of a candidate is permitted."""
    return [candidate.content, *_clauses(candidate), *orders_in(candidate.content)]


def _is_of_manner(order: str, meaning: Meaning | None) -> bool:
    """Return whether a standing order wishes only how to be answered: no grave deed is one of manner."""
    return meaning is not None and meaning.is_of_manner and not any(each.grave.search(order) for each in _languages())


def _clauses(candidate: Candidate) -> list[str]:
    return clauses_of(candidate.content) or [candidate.content]


def _told_beside(candidate: Candidate, ordered: Sequence[str]) -> tuple[Candidate, list[str]]:
    """Return what is told of oneself beside an order ("I'm vegetarian, never suggest meat"), and its clauses, if any.

    ordered: the clauses that order something.
    """
    kept = [clause for clause in _clauses(candidate) if clause not in ordered] if ordered else []
    told = "".join(kept).strip(_AROUND)
    fact = replace(candidate, content=told, category="fact", type="B", importance="normal")
    return fact, kept if _PATTERNS["of oneself"].search(told) else []


def permitted_fact(
    candidate: Candidate, turn: Turn, *, by_owner: bool, meanings: Mapping[str, Meaning] = _NO_MEANINGS
) -> Candidate | None:
    """Return an agent's fact as its session's speaker may have it remembered; None where they may not.

    turn: has the fact as its user message, so that the rules can find its category: agents call instructions facts.
    """
    if not by_owner and any(map(gives_instructions, readings(turn.user))):
        candidate = replace(candidate, category="instruction")
    entities = tuple(name for name in candidate.entities if not commands_the_machine(name))
    candidate = replace(candidate, entities=entities)
    if by_owner:  # the owner's work may be about comments; a file's line holds them escaped
        return None if commands_the_machine(_COMMENT_MARK.sub(" ", candidate.content)) else candidate
    allowed = permitted(candidate, turn, by_owner=False, meanings=meanings)
    return allowed if allowed and allowed.content == candidate.content else None  # the agent is told of no half


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
    decisions, todos = (
        tuple(item for item in items if not _orders(item)) for items in (summary.decisions, summary.todos)
    )
    topic, brief, detailed = map(without_orders, (summary.topic, summary.brief, summary.detailed))
    allowed = Summary(topic=topic, brief=brief, detailed=detailed, decisions=decisions, todos=todos)
    return allowed if allowed.topic or allowed.detailed or allowed.decisions or allowed.todos else None


def without_orders(text: str) -> str:
    """Return the text without sentences that address the machine or give it a standing order."""
    return without(text, _orders)


@lru_cache(maxsize=_REMEMBERED)  # each opening asks it of the same records
def _orders(text: str) -> bool:
    return commands_the_machine(text) or bool(orders_in(text))
