"""Parses a model's answer strictly, and checks it against the user's own words.

An entry needs evidence: a quotation of the user in a turn of the batch, outside of code, logs, what others say and text
that addresses the machine. An entry that some quoted text has prompted has none. What it says must have been said in
the conversation, in part by the user. An entry of which the user said only a part is doubtful.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Final, get_args

from extractor.categories import CATEGORIES
from extractor.cleaning.clean import clean
from extractor.cleaning.injection import commands_the_machine
from extractor.language.script import is_chinese
from extractor.language.sentences import is_machine_line, without_code_blocks
from extractor.types import Action, Candidate, Doubt, Importance, Kept, Known, MemoryType, Turn

from .prompt import given_turns
from .support import Said, support
from .voice import adds_a_denial, denies, is_of_another

__all__ = ["candidates_of", "merges_of", "read_object", "retracted_of"]

MOST_ENTRIES: Final = 20
LONGEST_CONTENT: Final = 400  # characters
SHORTEST_CONTENT: Final = 3  # letters

_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?```\s*\Z", re.DOTALL | re.IGNORECASE)
# What the assistant said just before becomes the user's own by such an answer.
_AGREES = re.compile(
    r"\W*(?:(?:oh|ah|well|hmm|hi|hey|hello|haha)\W+)*(?:yes|yeah|yep|yup|sure|ok(?:ay)?|alright|right|exactly|correct"
    r"|indeed|agreed|sounds|perfect|great|good|confirmed|absolutely|definitely|of course|let's|go ahead"
    r"|that(?:'s| is| sounds| works| looks)|i agree|i like (?:it|that))\b(?! (?:now|morning|afternoon|evening|night)\b)"
    r"|\W*(?:(?:是的|对的?|嗯+|好[的吧啊]?|行|可以|没错|同意|确认|当然|就这样|没问题)(?!\w)|就按)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_\u3400-\u9fff]{2,}")
_LEAST_WORDS: Final = 4  # beside Chinese; fewer are names and terms
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
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates of an answer that have evidence, and for each other entry why it was left out.

    A candidate that says more than its evidence has the doubt "not_said".

    turns: the batch. earlier: turns of the same conversation before it, which may hold names and facts.
    speaker: says who the user is. Their name is no invention.

    Raises:
        ValueError: the answer does not have the requested format.
    """
    entries = _field(answer, "entries", list)
    if not _field(answer, "shouldStore", bool):
        return [], ["should_not_store"] * len(entries)
    kept: list[Candidate] = []
    left_out: list[str] = []
    given = given_turns(turns)
    conversation = _Conversation([*earlier, *given.values()], known, now, speaker)
    for entry in entries[:MOST_ENTRIES]:
        if not isinstance(entry, dict):
            raise ValueError("an entry is no object")  # noqa: TRY004 - one kind for the caller
        candidate = _candidate(entry, {memory.id for memory in known}, now)
        problem = _problem(candidate, given.get(candidate.turn), conversation)
        said = support(candidate.content, conversation.own, conversation.exchanges, conversation.today)
        if problem or said == "none":
            left_out.append(problem or "not_said")
            continue
        denial = adds_a_denial(candidate.quote, given[candidate.turn].user, candidate.content)
        doubt: Doubt = "not_said" if denial or said == "part" else ""
        kept.append(replace(candidate, turn=turns[candidate.turn - 1].id, doubt=doubt))
    return kept, left_out


def retracted_of(answer: dict[str, Any], kept: Sequence[Kept]) -> frozenset[str]:
    """Return the ids of the memories of the rules that an answer takes back. Other ids do not count.

    Raises:
        ValueError: the answer does not have the requested format.
    """
    return frozenset(_strings({"retract": [], **answer}, "retract")) & {memory.id for memory in kept}


def merges_of(answer: dict[str, Any], count: int) -> list[tuple[Action, str]]:
    """Return the action and target for each of `count` new memories; ("add", "") where the answer has none.

    Raises:
        ValueError: the answer does not have the requested format.
    """
    found: list[tuple[Action, str]] = [("add", "")] * count
    for row in _field(answer, "actions", list):
        if not isinstance(row, dict):
            raise ValueError("an action is no object")  # noqa: TRY004 - one kind for the caller
        number = _field(row, "number", int)
        action: Action = _choice(row, "action", get_args(Action))
        if 1 <= number <= count:
            found[number - 1] = action, _field(row, "target", str)
    return found


def _candidate(entry: dict[str, Any], ids: set[str], now: datetime) -> Candidate:
    importance: Importance = _choice(entry, "importance", get_args(Importance))
    target = _choice(entry, "target", ("MEMORY.md", "daily"))
    confidence = _field(entry, "confidence", (int, float))
    if not 0 <= confidence <= 1:
        raise ValueError("confidence is not from 0 to 1")
    category: str = _choice(entry, "category", tuple(CATEGORIES))
    kind: MemoryType = _choice(entry, "type", get_args(MemoryType))
    return Candidate(
        content=" ".join(_field(entry, "content", str).split()),
        category=category,
        type=kind,
        importance="high" if importance == "high" and target == "MEMORY.md" else "normal",
        confidence=float(confidence),
        entities=tuple(dict.fromkeys(name for name in _strings(entry, "entities") if name.strip()))[:8],
        supersedes=tuple(identity for identity in dict.fromkeys(_strings(entry, "supersedes")) if identity in ids),
        expires=_expiry(_field(entry, "expires", str), now),
        turn=_field(entry, "turn", int),
        quote=_field(entry, "quote", str),
    )


class _Conversation:
    """What entries are checked against, read once for all of an answer.

    Turns whose user message addresses the machine are no evidence.
    """

    def __init__(self, turns: Sequence[Turn], known: Sequence[Known], now: datetime, speaker: str) -> None:
        self.today = now.date()
        self.orders = {turn.id for turn in turns if commands_the_machine(turn.user)}
        heard = [turn for turn in turns if turn.id not in self.orders]
        own = [(memory.text, self.today) for memory in known]
        exchanges = [*own, (speaker, self.today)]
        before = ""
        for turn in heard:
            prose, day = _prose(turn.user), turn.at.date()
            own.append((f"{before}\n{prose}" if _AGREES.match(prose) else prose, day))
            exchanges.append((f"{before}\n{prose}\n{turn.reply}", day))
            before = turn.reply
        self.own, self.exchanges = Said(own), Said(exchanges)
        self.languages = {chinese for turn in heard for chinese in _languages(turn.user)}


def _problem(  # noqa: PLR0911 - one return a reason
    candidate: Candidate, turn: Turn | None, said: _Conversation
) -> str:
    """Return why an entry is no memory; "" when it is one."""
    content = candidate.content
    letters = sum(character.isalnum() for character in content)
    if letters < SHORTEST_CONTENT or len(content) > LONGEST_CONTENT:
        return "no_content"
    cleaned = clean(content)
    if cleaned.text != content or "[masked:" in content or any(clean(name).text != name for name in candidate.entities):
        return "unclean"
    if commands_the_machine(content):
        return "instruction_to_the_machine"
    if turn is None or not _is_quoted(candidate.quote, turn.user) or is_of_another(candidate.quote, turn.user, content):
        return "no_evidence"
    if turn.id in said.orders:
        return "instruction_to_the_machine"
    if is_chinese(content) not in said.languages:
        return "other_language"
    return "denied" if denies(candidate.quote, content) else ""


def _languages(message: str) -> Iterator[bool]:
    """Yield True for a message with Chinese, False for one with another language; some have both."""
    chinese = is_chinese(message)
    if chinese:
        yield True
    if len(_WORD.findall(message)) >= (_LEAST_WORDS if chinese else 1):
        yield False


def _prose(message: str) -> str:
    return "\n".join(line for line in without_code_blocks(message).split("\n") if not is_machine_line(line))


def _is_quoted(quote: str, message: str) -> bool:
    """Return whether a quotation, maybe shortened by ellipses, is the user's own prose in a message."""
    parts = [plain for part in _ELLIPSIS.split(quote) if any(map(str.isalnum, plain := _plain(part)))]
    prose = _plain(_prose(message))
    return bool(parts) and all(part in prose for part in parts)


def _expiry(text: str, now: datetime) -> date | None:
    """Return an entry's last day; None where there is none, or it has passed, or is invalid."""
    try:
        day = date.fromisoformat(text.strip()) if text.strip() else None
    except ValueError:
        return None
    return day if day and now.date() <= day else None


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


def _strings(row: dict[str, Any], name: str) -> list[str]:
    values = _field(row, name, list)
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name} is no list of strings")
    return list(values)
