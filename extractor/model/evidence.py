"""Reads the entries of a model, and checks of them what code knows better than a model.

An entry needs evidence: a quotation that stands in a message of the user, outside of code, and not in a message that
addresses the machine. A capable model says what it means, and is believed where every name, number and date of it was
said, it speaks of the user and not as the user, and it holds no secret and no order to the machine.

A small model finds what is worth keeping, and words it wrongly: of the wrong person, or with a half that nobody said.
So its entries only point: what is kept is the user's own sentence, if its meaning tells something lasting.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import SequenceMatcher
from typing import Any, Final

from extractor.categories import CATEGORIES, traits_of
from extractor.cleaning.clean import clean
from extractor.cleaning.injection import commands_the_machine
from extractor.language.sentences import LONGEST_READ, sentences
from extractor.language.vocabulary import statement_words
from extractor.meaning import SPEAKER
from extractor.merge.unread import may_be, points_back, text_of
from extractor.rules.borrowed import own_words
from extractor.rules.extract import entities_of
from extractor.tables import table
from extractor.types import Candidate, Kept, Known, Turn
from gateway_memory.ground.calendar import day_span
from gateway_memory.ground.holds import Holds, holds_of
from gateway_memory.ground.tables import has_han

from .answers import choice, field
from .prompt import MOST_ENTRIES, given_turns, prose
from .sources import Sources

_PATTERNS: Final = table("believing").patterns()

LONGEST_CONTENT: Final = 400  # characters
LONGEST_POINTED_AT: Final = 300
LONGEST_CUE, MOST_CUES = 80, 3
SHORTEST_CONTENT: Final = 3  # letters
SHORTEST_SLIPPED, COPIED, _LEAST_COPIED = 20, 0.9, 4
"""Letters of a quotation that may have a slip; the share of it that must be copied, in parts of so many letters."""
CONFIDENCE: Final = 0.8
"""Of an entry: a model's own number tells nothing."""

_OF_USER = re.compile(r"(?:the )?user\b|用户", re.IGNORECASE)
_ELLIPSIS = re.compile(r"\s*(?:\.{3,}|…+)\s*")
_MONTH = re.compile(r"\b(\d{4})-(\d\d)\b(?!-)")
_MONTHS: Final = "January February March April May June July August September October November December".split()

Read = tuple[list[Candidate], list[str]]
"""The candidates of an answer, and for each other entry why it was left out."""


def believed(
    answer: dict[str, Any],
    turns: Sequence[Turn],
    now: datetime,
    *,
    known: Sequence[Known] = (),
    kept: Sequence[Kept] = (),
    earlier: Sequence[Turn] = (),
    named: Sequence[str] = (),
    speaker: str = "",
) -> Read:
    """Return the entries of a capable model that have evidence. A candidate's turn is the newest one that it quotes.

    turns: the batch. known, kept, earlier: what the model was given beside it; it may name and quote them, too.
    named: other memories; no name in them is an invention, nor the user's, which `speaker` tells.

    Raises:
        ValueError: the answer does not have the requested format.
    """
    given = [*earlier, *given_turns(turns).values()]
    trusted = [turn for turn in given if not commands_the_machine(turn.user)]
    day = now.date()
    said = Sources(
        [
            *((text, turn.at.date()) for turn in trusted for text in (turn.user, turn.reply)),
            *((text, day) for text in (*(each.text for each in known), *(each.text for each in kept))),
        ],
        (speaker, *named, *(turn.speaker for turn in given if turn.speaker)),
    )
    ids = {*(each.id for each in known), *(each.id for each in kept)}

    def read(candidate: Candidate, turn: Turn, entry: dict[str, Any]) -> tuple[str, Candidate]:
        about = entry.get("about")
        named = about if isinstance(about, str) and about in candidate.content and not _OF_USER.match(about) else ""
        replaced = entry.get("replaces")
        if turn.speaker:  # of several people, "the user" is the one who said it
            named = named or turn.speaker
        candidate = replace(
            candidate,
            type="O" if traits_of(candidate.category).standing else "B" if _OF_USER.match(candidate.content) else "W",
            entities=tuple(dict.fromkeys([*entities_of(candidate.content), *entities_of(named)])),
            supersedes=tuple(each for each in replaced if each in ids) if isinstance(replaced, list) else (),
            cues=_cues(entry.get("cues")),
            holds=_holds(entry.get("holds"), candidate, turn, said),
        )
        known_name = named == turn.speaker or said.has_person(named)
        return _problem(candidate.content, said, now) or ("" if known_name else "not_said"), candidate

    return _read(answer, given, read)


def pointed_at(answer: dict[str, Any], turns: Sequence[Turn]) -> Read:
    """Return the user's own sentences at which the entries of a small model point (`only_as`: what each may be).

    Raises:
        ValueError: the answer does not have the requested format.
    """

    def read(candidate: Candidate, turn: Turn, _: dict[str, Any]) -> tuple[str, Candidate]:
        own = _own_sentence(candidate, turn)
        return ("no_statement", candidate) if own is None else (_unfit(own.content), own)

    return _read(answer, list(given_turns(turns).values()), read)


def retracted_of(answer: dict[str, Any], kept: Sequence[Kept], known: Sequence[Known]) -> frozenset[str]:
    """Return the ids of the memories that an answer takes back: of the rules, or known twice. Others do not count.

    Raises:
        ValueError: the answer does not have the requested format.
    """
    ids = answer.get("retract", [])
    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
        raise ValueError("retract is no list of strings")
    return frozenset(ids) & {*(memory.id for memory in kept), *(memory.id for memory in known)}


def _read(
    answer: dict[str, Any],
    given: Sequence[Turn],
    read: Callable[[Candidate, Turn, dict[str, Any]], tuple[str, Candidate]],
) -> Read:
    """Return what `read` makes of each entry and the newest turn that holds its quotation.

    A model copies words well, and counts badly, so it is not asked for the turn.
    """
    found: dict[str, Candidate] = {}
    left_out: list[str] = []
    for entry in field(answer, "entries", list)[:MOST_ENTRIES]:
        if not isinstance(entry, dict):
            raise ValueError("an entry is no object")  # noqa: TRY004 - one kind for the caller
        candidate = Candidate(
            content=" ".join(field(entry, "content", str).split()),
            quote=field(entry, "quote", str),
            category=choice(entry, "category", tuple(CATEGORIES), "fact"),
            importance="high" if entry.get("importance") == "high" else "normal",
            type="B",
            confidence=CONFIDENCE,
        )
        turn = next((each for each in reversed(given) if _is_quoted(candidate.quote, each.user)), None)
        if turn is None:
            problem = "no_evidence"
        elif commands_the_machine(turn.user):
            problem = "instruction_to_the_machine"
        else:
            problem, candidate = read(replace(candidate, turn=turn.id), turn, entry)
        if problem:
            left_out.append(problem)
        else:
            found.setdefault(candidate.content, candidate)
    return list(found.values()), left_out


def _problem(content: str, said: Sources, now: datetime) -> str:
    """Return why a capable model's sentence is no memory; "" when it is one."""
    if problem := _unfit(content):
        return problem
    if _PATTERNS["first"].search(content):
        return "first_person"
    return "" if said.has_names(content) and said.has_dates_and_numbers(content, now.date()) else "not_said"


def _unfit(content: str) -> str:
    if sum(map(str.isalnum, content)) < SHORTEST_CONTENT or len(content) > LONGEST_CONTENT:
        return "no_content"
    if clean(content).text != content or "[masked:" in content:
        return "unclean"
    return "instruction_to_the_machine" if commands_the_machine(content) else ""


def _holds(text: object, candidate: Candidate, turn: Turn, said: Sources) -> Holds | None:
    """Return when an entry holds by its own field; None where its words are to tell.

    Of its days, somebody must have spoken. What holds always, or since a day, has no note, whatever day its words name
    as past; an ordinary slip is to say so of what is ahead.
    """
    if not isinstance(text, str):
        return None
    day = turn.at.date()
    worded = holds_of(candidate.content, day, standing=traits_of(candidate.category).standing)
    if text.strip().casefold() in ("always", "总是", "一直"):
        return None if worded.coming(day) or worded.until else Holds(exact=True)
    holds = holds_of(_MONTH.sub(_month, text), day)
    spans = [*holds.on, *([day_span(holds.until)] if holds.until else [])]
    if holds.unsure or not (spans or holds.every) or not said.tell(spans):
        return None
    if holds.begins and not holds.every and holds.until is None and holds.on[0].first <= day:
        return Holds(exact=True)
    same = (worded.on, worded.until, worded.every) == (holds.on, holds.until, holds.every)
    return replace(holds, exact=same and (worded.exact or bool(worded.every)))


def _cues(words: object) -> tuple[str, ...]:
    """Return the words by which an entry may be asked for; what is odd among them is left out."""
    texts = [" ".join(each.split()) for each in words if isinstance(each, str)] if isinstance(words, list) else []
    fit = (each for each in texts if 0 < len(each) <= LONGEST_CUE and clean(each).text == each)
    return tuple(dict.fromkeys(each for each in fit if not commands_the_machine(each)))[:MOST_CUES]


def _month(match: re.Match[str]) -> str:
    number = int(match[2])
    return f"{_MONTHS[number - 1]} {match[1]}" if 1 <= number <= len(_MONTHS) else match[0]


def _is_quoted(quote: str, message: str) -> bool:
    """Return whether a quotation, maybe shortened by ellipses, is the user's own prose in a message."""
    parts = [plain for part in _ELLIPSIS.split(quote) if (plain := _plain(part))]
    own = _plain(prose(message))
    return bool(parts) and all(part in own or _is_nearly_in(part, own) for part in parts)


def _is_nearly_in(part: str, own: str) -> bool:
    """Return whether a part of a quotation stands in a message but for a slip or two, as models copy: a word less."""
    if not SHORTEST_SLIPPED <= len(part) <= LONGEST_CONTENT:
        return False
    blocks = SequenceMatcher(None, own, part, autojunk=False).get_matching_blocks()
    held = [block for block in blocks if block.size >= _LEAST_COPIED]
    within = held[-1].a + held[-1].size - held[0].a if held else 0
    return sum(block.size for block in held) >= COPIED * len(part) and within <= len(part) / COPIED


def _plain(text: str) -> str:
    """Return the letters and digits of a text, without regard to case, width, blanks and quotation marks."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return "".join(each for each in text if each.isalnum() or each in "+#%-")


def _own_sentence(candidate: Candidate, turn: Turn) -> Candidate | None:
    """Return an entry with the sentence at which it points as its content; None where that tells nothing.

    Of a quotation of several sentences, the one counts that shares most words with the entry. A sentence that begins
    with "she" or "that" is told with the one before it.
    """
    own = sentences(own_words(turn.user[:LONGEST_READ]), whole=True)
    quoted, stated = statement_words(candidate.quote), statement_words(candidate.content)
    shared = [(len(quoted & words), len(stated & words)) for words in (statement_words(each.text) for each in own)]
    if not any(of_quote for of_quote, _ in shared):
        return None
    number = max(range(len(own)), key=lambda each: (sum(shared[each]) if shared[each][0] else -1, -each))
    parts, only_as = [own[number]], may_be(own[number]) - {"part"}
    if points_back(own[number].plain):
        if number and "statement" in may_be(own[number - 1]):
            parts.insert(0, own[number - 1])
        if len(parts) == 1 and not SPEAKER.search(own[number].plain):
            only_as = frozenset()
    texts = [text_of(part) for part in parts]
    text = " ".join([*(f"{each}{'。' if has_han(each) else '.'}" for each in texts[:-1]), texts[-1]])
    only_as &= {"statement", "wish"} if traits_of(candidate.category).directive else {"statement"}
    if not only_as or len(text) > LONGEST_POINTED_AT:
        return None
    return replace(candidate, content=text, category="fact", only_as=only_as, entities=entities_of(text))
