"""Reads a statement, clause by clause: of whom it is, what about, and whether it withdraws or changes something."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from extractor.language.values import numbers_stated
from extractor.language.vocabulary import left_behind, statement_words, stem
from extractor.merge.attributes import PEOPLE, Mark, marks_of_change, quantities
from extractor.merge.new_value import predicate
from extractor.tables import table

_TABLE: Final = table("merging")
_PATTERNS: Final = _TABLE.patterns()
_TOKEN = re.compile(r"[a-zÀ-ɏ0-9](?:(?![\u3400-\u9fff])[\w.+#'-])*|[\u3400-\u9fff]+")
_NAME = re.compile(
    r"(?<![A-Za-z])(?!(?:I|(?:Jan|Febr)uary|March|April|May|June|July|August|(?:Septem|Octo|Novem|Decem)ber|Jan|Feb|Mar"
    r"|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|[A-Z][a-z]+days?)\b)[A-Z][A-Za-z]*"
)
_WHOSE = re.compile(r"([A-Z][a-z]+)(?:'s)?(?= )")
_OPENING = re.compile(r"(?:[A-Za-z'-]+ ?){1,3}|.{0,6}")
_LONGEST = max(len(word) for word in PEOPLE if word >= "\u3400")


@dataclass(slots=True, kw_only=True)
class Statement:
    """What a statement says.

    speaker: whether a clause is about the speaker. addresses: whether it
    speaks to somebody. whose: the name that it begins with. persons: the other people whom a clause is about, and
    people: all that are named.

    words: its content words, and things: those that tell no day, hour or number. names: capitalized words.
    numbers: what it counts, and quantities: the same, and days and hours, by unit.

    marks: its words of change. happened: whether something happened. asks: whether it is a question.
    """

    text: str = ""
    speaker: bool = False
    whose: str = ""
    persons: set[str] = field(default_factory=set)
    people: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    things: frozenset[str] = frozenset()
    numbers: frozenset[float] = frozenset()
    marks: set[Mark] = field(default_factory=set)
    quantities: Mapping[str, frozenset[str]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    happened: bool = False
    addresses: bool = False
    asks: bool = False


@lru_cache(maxsize=512)  # a statement is compared with several others
def read(text: str) -> Statement:
    """Read a statement. Pure; nobody changes the result."""
    text = _PATTERNS["leading"].sub("", text.replace("’", "'"))
    statement = Statement(
        text=text,
        numbers=numbers_stated(text),
        quantities=quantities(text),
        whose=stem(owner[1].lower()) if (owner := _WHOSE.match(text)) and statement_words(owner[1]) else "",
        names=frozenset(name.lower() for name in _NAME.findall(text[1:])),
        happened=bool(_PATTERNS["happened"].search(text)),
        addresses=bool(_PATTERNS["you"].search(text)),
        asks=bool(_PATTERNS["asks"].search(text)),
    )
    for clause in clauses(text):
        _read_clause(clause, statement)
    statement.things = frozenset(word for word in statement.words if not _tells_when_or_how_many(word))
    return statement


def _tells_when_or_how_many(word: str) -> bool:
    return bool(_PATTERNS["when"].search(word)) or any(unit.search(word) for _, unit in _TABLE.compiled("units"))


@lru_cache(maxsize=4096)  # whatever was replaced is looked through for each reply
def same_text(text: str) -> str:
    """Return what is equal for texts that are the same: case, punctuation, width and spaces make no difference."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in plain if character.isalnum() or character in "+#%-") or plain.strip()


def without_withdrawn(text: str) -> str:
    """Return a statement without what it takes back: "the port is 9090, not 8080" tells of 9090 alone."""
    for withdrawn in filter(None, left_behind(text).split(" ")):
        text = text.replace(withdrawn, " ")
    return " ".join(clause for clause in clauses(text) if not marks_of_change()["back"].search(clause))


def clauses(text: str) -> list[str]:
    """Return the clauses of a statement."""
    return [clause for clause in _PATTERNS["clause"].split(text) if clause.strip()]


def _read_clause(clause: str, statement: Statement) -> None:
    """Add what a clause says."""
    clause = _PATTERNS["otherwise"].sub(" ", clause)
    plain, marks = clause, set[Mark]()
    # What adds something says so before it could say that it changes something.
    for mark, pattern in marks_of_change().items():
        if pattern.search(plain):
            marks.add(mark)
            plain = pattern.sub(" ", plain)
    statement.marks |= marks
    statement.words |= statement_words(plain)
    statement.people.update(_people_in(clause))
    verb = predicate(clause)
    opening = clause[: verb.start()] if verb else "".join(_OPENING.findall(clause)[:1])
    people = list(_people_in(opening))
    statement.persons.update(people[:1])
    statement.speaker = statement.speaker or (not people and bool(_PATTERNS["speaker"].match(clause)))


def _people_in(text: str) -> Iterator[str]:
    """Yield the words for people in a text: English ones as stems, Chinese ones as the longest."""
    for token in _TOKEN.findall(text.lower()):
        if token[0] < "\u3400":
            if (word := stem(token.strip(".'-"))) in PEOPLE:
                yield word
            continue
        start = 0
        while start < len(token):
            sizes = range(min(_LONGEST, len(token) - start), 0, -1)
            longest = next((size for size in sizes if token[start : start + size] in PEOPLE), 0)
            if longest:
                yield token[start : start + longest]
            start += longest or 1
