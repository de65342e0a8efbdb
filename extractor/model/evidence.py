"""Parses a model's answer strictly, and checks it against the user's own words.

An entry needs evidence: a quotation of the user in a turn of the batch, outside of code, logs and text that addresses
the machine. Its numbers and names, and most of its words, must have been said. An invention, or an entry that some
quoted text has prompted, has no such evidence.
"""

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Final, get_args

from extractor.categories import CATEGORIES
from extractor.cleaning.clean import clean
from extractor.cleaning.injection import commands_the_machine
from extractor.language.script import is_chinese
from extractor.language.sentences import is_machine_line, without_code_blocks
from extractor.language.tables import words_of
from extractor.language.vocabulary import statement_words
from extractor.types import Action, Candidate, Importance, Known, MemoryType, Turn

__all__ = ["candidates_of", "merges_of", "read_object"]

MOST_ENTRIES: Final = 20
LONGEST_CONTENT: Final = 400  # characters
SHORTEST_CONTENT: Final = 3  # letters
LEAST_SAID: Final = 0.5  # the share of an entry's words that must occur in the conversation
DATE_WITHIN_DAYS: Final = 3 * 366

_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?```\s*\Z", re.DOTALL | re.IGNORECASE)
_ISO_DATE = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<![\w'])[A-Z][\w+#.-]*")
_NUMBER_WORD = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand"
    r"|first|second|third|half|noon|midnight|a couple|once|twice)\b|[零一二两三四五六七八九十百千万半几]",
    re.IGNORECASE,
)
_SAFE_NAMES = words_of(
    """
    the user user's i a an this that their they he she his her on in at by from for to as when if since until
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december prefers likes wants uses works lives has is
    """
)
_FORM_CHARACTERS = frozenset("用户的了是在有要会想和与及并也都不没将把被给对于以为从到这那其他她它们个很更最喜欢使去来")


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
    answer: dict[str, Any], turns: Sequence[Turn], known: Sequence[Known], now: datetime
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates of an answer that have evidence, and for each other entry why it was left out.

    Raises:
        ValueError: the answer does not have the requested format.
    """
    entries = _field(answer, "entries", list)
    if not _field(answer, "shouldStore", bool):
        return [], ["should_not_store"] * len(entries)
    kept: list[Candidate] = []
    left_out: list[str] = []
    for entry in entries[:MOST_ENTRIES]:
        if not isinstance(entry, dict):
            raise ValueError("an entry is no object")  # noqa: TRY004 - one kind for the caller
        candidate = _candidate(entry, {memory.id for memory in known}, now)
        problem = _problem(candidate, turns, known, now)
        if problem:
            left_out.append(problem)
        else:
            kept.append(_with_turn(candidate, turns))
    return kept, left_out


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


def _with_turn(candidate: Candidate, turns: Sequence[Turn]) -> Candidate:
    return replace(candidate, turn=turns[candidate.turn - 1].id)


def _problem(  # noqa: PLR0911 - one return a reason
    candidate: Candidate, turns: Sequence[Turn], known: Sequence[Known], now: datetime
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
    if not 1 <= candidate.turn <= len(turns):
        return "no_evidence"
    turn = turns[candidate.turn - 1]
    quote = _plain(candidate.quote)
    prose = "\n".join(line for line in without_code_blocks(turn.user).split("\n") if not is_machine_line(line))
    if not any(character.isalnum() for character in quote) or quote not in _plain(prose):
        return "no_evidence"
    if commands_the_machine(turn.user):
        return "instruction_to_the_machine"
    before = turns[candidate.turn - 2].reply if candidate.turn > 1 else ""
    said = "\n".join((turn.user, turn.reply, before, *(memory.text for memory in known)))
    if is_chinese(content) != is_chinese(turn.user):
        return "other_language"
    return "" if _was_said(content, candidate.quote, said, now) else "not_said"


def _was_said(content: str, quote: str, said: str, now: datetime) -> bool:
    plain = said.casefold()
    dates = [found for found in _ISO_DATE.finditer(content) if found[0] not in said]
    if any(not _near(found[0], now) for found in dates):
        return False
    rest = _ISO_DATE.sub(" ", content)
    numbers = set(_NUMBER.findall(rest)) - set(_NUMBER.findall(said))
    if numbers and not (_NUMBER_WORD.search(quote) and all(len(number) <= len("12") for number in numbers)):
        return False
    names = {name.casefold().removesuffix("'s").rstrip(".-") for name in _NAME.findall(rest)}
    if any(name not in plain for name in names - _SAFE_NAMES):
        return False
    if is_chinese(content):
        characters = [c for c in rest if "\u3400" <= c <= "\u9fff" and c not in _FORM_CHARACTERS]
        return sum(c in said for c in characters) >= LEAST_SAID * len(characters)
    matter = {word for word in statement_words(rest) - {"user", "users"} if not word[0].isdigit()}
    return len(matter & statement_words(said)) >= LEAST_SAID * len(matter)


def _near(text: str, now: datetime) -> bool:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return False
    return abs((day - now.date()).days) <= DATE_WITHIN_DAYS


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
