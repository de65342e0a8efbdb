"""Parses a model's answer strictly, and checks it against the user's own words.

An entry needs evidence: a quotation of the user in a turn of the batch, outside of code, logs, what others say and text
that addresses the machine. An entry that some quoted text has prompted has none. What it says must have been said in
the conversation, in part by the user, and be about the user and not about the chat. An entry is doubtful if the user
said only a part of it, or of somebody else, or as what must be and not as a wish.
"""

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, get_args

from extractor.cleaning.clean import clean
from extractor.cleaning.injection import commands_the_machine
from extractor.language.kind import is_chinese
from extractor.language.vocabulary import statement_words
from extractor.rules.extract import entities_of
from extractor.tables import table
from extractor.types import CATEGORIES, Action, Candidate, Importance, Kept, Known, Turn, traits_of

from . import quotations
from .prompt import MOST_ENTRIES, agrees, given_turns, own_part, prose
from .support import (
    Sources,
    Support,
    support,
    support_across_languages,
    without_report,
)

_PATTERNS: Final = table("believing").patterns()


LONGEST_CONTENT: Final = 400  # characters
SHORTEST_CONTENT: Final = 3  # letters
CONFIDENCE: Final = 0.8
"""Of an entry that nothing speaks against: a model's own number tells nothing."""

_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?```\s*\Z", re.DOTALL | re.IGNORECASE)
_OF_USER = re.compile(r"(?:the )?user\b|用户", re.IGNORECASE)
_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…+)\s*")


def read_object(text: str) -> dict[str, Any]:
    """Return the JSON object of an answer, with or without a code fence around it.

    Raises:
        ValueError: it is no JSON object. The message quotes none of its text.
    """
    fenced = _FENCE.match(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except (json.JSONDecodeError, RecursionError):
        raise ValueError("no JSON") from None
    if not isinstance(value, dict):
        raise ValueError("no object")  # noqa: TRY004 - one kind for the caller
    return value


def candidates_of(
    answer: dict[str, Any],
    turns: Sequence[Turn],
    known: Sequence[Known],
    now: datetime,
    *,
    earlier: Sequence[Turn] = (),
    speaker: str = "",
    pointing: bool = False,
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates of an answer that have evidence, and for each other entry why it was left out.

    A candidate that says more than its evidence has the doubt "not_said". Its turn is the one that it quotes.

    turns: the batch. earlier: turns of the same conversation before it, which may hold names and facts.
    speaker: says who the user is. Their name is no invention.
    pointing: the model's wording is not believed, and a candidate is the sentence of the user at which its entry points
    (`only_as` says as what it may be kept).

    Raises:
        ValueError: the answer does not have the requested format.
    """
    kept: dict[str, Candidate] = {}
    left_out: list[str] = []
    given = given_turns(turns)
    conversation = _Conversation([*earlier, *given.values()], known, now, speaker)
    for entry in _field(answer, "entries", list)[:MOST_ENTRIES]:
        if not isinstance(entry, dict):
            raise ValueError("an entry is no object")  # noqa: TRY004 - one kind for the caller
        candidate = _candidate(entry)
        # The newest turn that holds a quotation: a model copies words well, and counts badly.
        turn = next((each for each in reversed(given.values()) if _is_quoted(candidate.quote, each.user)), None)
        problem, read = _read(candidate, turn, conversation)
        if pointing and turn:
            problem, read = _pointing(candidate, read, turn, conversation)
        if read is None:
            left_out.append(problem)
        else:
            kept.setdefault(read.content, read)
    return list(kept.values()), left_out


def retracted_of(answer: dict[str, Any], kept: Sequence[Kept]) -> frozenset[str]:
    """Return the ids of the memories of the rules that an answer takes back. Other ids do not count.

    Raises:
        ValueError: the answer does not have the requested format.
    """
    ids = answer.get("retract", [])
    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
        raise ValueError("retract is no list of strings")
    return frozenset(ids) & {memory.id for memory in kept}


def merges_of(answer: dict[str, Any], count: int) -> list[tuple[Action, str]]:
    """Return the action and target for each of `count` new memories; ("add", "") where the answer has none.

    Raises:
        ValueError: the answer does not have the requested format.
    """
    merges: list[tuple[Action, str]] = [("add", "")] * count
    for row in _field(answer, "actions", list):
        if not isinstance(row, dict):
            raise ValueError("an action is no object")  # noqa: TRY004 - one kind for the caller
        number = _field(row, "number", int)
        action: Action = _choice(row, "action", get_args(Action))
        if 1 <= number <= count:
            merges[number - 1] = action, _field(row, "target", str)
    return merges


def _candidate(entry: dict[str, Any]) -> Candidate:
    category: str = _choice(entry, "category", tuple(CATEGORIES))
    importance: Importance = _choice(entry, "importance", get_args(Importance))
    return Candidate(
        content=" ".join(_field(entry, "content", str).split()),
        category=category,
        type="B",
        importance=importance,
        confidence=CONFIDENCE,
        quote=_field(entry, "quote", str),
    )


class _Conversation:
    """What entries are checked against, read once for all of an answer.

    Turns whose user message addresses the machine are no evidence.
    """

    def __init__(self, turns: Sequence[Turn], known: Sequence[Known], now: datetime, speaker: str) -> None:
        self.today = now.date()
        self.orders = {turn.id for turn in turns if commands_the_machine(turn.user)}
        own = [(memory.text, self.today) for memory in known]
        exchanges = [*own, (speaker, self.today)]
        before = ""
        for turn in turns:
            if turn.id not in self.orders:
                message, day = prose(turn.user), turn.at.date()
                own.append((f"{before}\n{message}" if agrees(message) else message, day))
                exchanges.append((f"{before}\n{message}\n{turn.reply}", day))
                before = turn.reply
        self.own, self.exchanges = Sources(own), Sources(exchanges)


def _read(candidate: Candidate, turn: Turn | None, conversation: _Conversation) -> tuple[str, Candidate | None]:
    """Return an entry with what it states as its content; or None, and why it states nothing."""
    content = without_report(candidate.content, wish=traits_of(candidate.category).directive)
    if not content or _PATTERNS["question"].search(content):
        return "about_the_chat", None
    if traits_of(candidate.category).directive and not _PATTERNS["wished"].search(content):
        candidate = replace(candidate, category="fact")  # a small model calls an order what is none
    problem = _problem(content, candidate.quote, turn, conversation)
    if problem or turn is None:
        return problem, None
    supported = _support_of(content, candidate.quote, turn, conversation)
    if supported == "none":
        return "not_said", None
    doubtful = supported == "part" or _is_doubtful(content, candidate, turn)
    read = replace(
        candidate,
        content=content,
        type="O" if traits_of(candidate.category).standing else "B" if _OF_USER.match(content) else "W",
        entities=entities_of(content),
        turn=turn.id,
        doubt="not_said" if doubtful else "",
    )
    return "", read


def _pointing(
    candidate: Candidate, read: Candidate | None, turn: Turn, conversation: _Conversation
) -> tuple[str, Candidate | None]:
    """Return the sentence at which an entry points, in the entry's words if they say just that.

    read: the entry with what it states, if it states something.
    """
    own = quotations.pointed_at(candidate, turn)
    if own is None:
        return "instruction_to_the_machine" if turn.id in conversation.orders else "no_statement", None
    problem = _problem(own.content, candidate.quote, turn, conversation)
    if problem:
        return problem, None
    if read and not read.doubt and quotations.repeats(read.content, own.content, conversation.today):
        return "", replace(read, sentence=own.content, only_as=own.only_as)
    return "", own


def _problem(content: str, quote: str, turn: Turn | None, conversation: _Conversation) -> str:
    """Return why an entry is no memory; "" when it is one."""
    letters = sum(character.isalnum() for character in content)
    if letters < SHORTEST_CONTENT or len(content) > LONGEST_CONTENT:
        return "no_content"
    if clean(content).text != content or "[masked:" in content:
        return "unclean"
    if commands_the_machine(content):
        return "instruction_to_the_machine"
    if turn is None or quotations.is_of_another(quote, turn.user, content):
        return "no_evidence"
    if turn.id in conversation.orders:
        return "instruction_to_the_machine"
    return "denied" if quotations.denies(quote, content) else ""


def _support_of(content: str, quote: str, turn: Turn, conversation: _Conversation) -> Support:
    if is_chinese(content) == is_chinese(quote) or is_chinese(content) == is_chinese(turn.user):
        supported = support(content, conversation.own, conversation.exchanges, conversation.today)
        return "part" if supported == "none" and statement_words(content) & statement_words(quote) else supported
    quoted = Sources([(quote, turn.at.date())])
    return support_across_languages(content, quoted, conversation.exchanges, conversation.today)


def _is_doubtful(content: str, candidate: Candidate, turn: Turn) -> bool:
    """Return whether an entry says something else than its quotation, though most of its words were said."""
    quote, message = candidate.quote, turn.user
    sentence, is_wish = quotations.sentence_of(quote, message), traits_of(candidate.category).directive
    return (
        bool(_PATTERNS["first"].search(content))  # it speaks as the user
        or quotations.adds_a_denial(sentence, content)
        or quotations.changes_who(quote, message, content)
        or quotations.turns_must_and_wish(sentence, content)
        or (bool(_OF_USER.match(content)) and not _is_quoted(quote, own_part(message)))
        or (not quotations.is_standing_wish(sentence) if is_wish else quotations.asks(quote, message, content))
        or (not is_wish and quotations.is_borrowed(quote, message))
    )


def _is_quoted(quote: str, message: str) -> bool:
    """Return whether a quotation, maybe shortened by ellipses, is the user's own prose in a message."""
    parts = [plain for part in _ELLIPSIS.split(quote) if any(map(str.isalnum, plain := _plain(part)))]
    own = _plain(prose(message))
    return bool(parts) and all(part in own for part in parts)


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text.replace("’", "'")).casefold()
    return " ".join("".join(c if c.isalnum() or c in "'+#%-" else " " for c in text).split())


def _field(row: dict[str, Any], name: str, kind: Any) -> Any:
    value = row.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} is missing or of another type")
    return value


def _choice(row: dict[str, Any], name: str, choices: Sequence[str]) -> Any:
    value = _field(row, name, str)
    if value not in choices:
        raise ValueError(f"{name} is none of {', '.join(choices)}")
    return value
