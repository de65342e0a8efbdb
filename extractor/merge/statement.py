"""Reads a statement: of whom it is, what about, which value it tells, and whether it tells of a change."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from extractor.language.numbers import numbers_stated
from extractor.language.vocabulary import left_behind, statement_words, stem

from .changes import predicate
from .quantities import quantities
from .relations import CUES, MARKS, PEOPLE, Mark

__all__ = ["Statement", "clauses", "read", "same_text", "still_told"]

_CLAUSE = re.compile(r"[,;:.!?，；：。！？]+(?!\d)\s*|\s[-–—]+\s|\b(?:and|but|so|because)\b", re.IGNORECASE)
_TOKEN = re.compile(r"[a-zÀ-ɏ0-9](?:(?![\u3400-\u9fff])[\w.+#'-])*|[\u3400-\u9fff]+")
_LEADING = re.compile(r"\A(?:(?:well|oh|also|now|then|by the way|btw|yes|no|ok|so|对了)[ ,，]*)+", re.IGNORECASE)
_SPEAKER = re.compile(r"(?:\w+,? ){0,2}?(?:i|we)(?:'\w+)?\b|[^，。]{0,4}[我咱]们?", re.IGNORECASE)
_NAME = re.compile(
    r"(?<![A-Za-z])(?!(?:I|(?:Jan|Febr)uary|March|April|May|June|July|August|(?:Septem|Octo|Novem|Decem)ber|Jan|Feb|Mar"
    r"|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|[A-Z][a-z]+days?)\b)[A-Z][A-Za-z]*"
)
_WHOSE = re.compile(r"([A-Z][a-z]+)(?:'s)?(?= )")
_OTHERWISE = re.compile(  # words of a relation or a change that are none here
    r"\b(?:work(?:ing|ed|s)? (?:on|out)|living room|play(?:ing|s)? with|(?:be|am|'m|is|are|get) used to)\b"
    r"|改[进善造革]|修改|搬(?:东西|重|运)|换(?:句话|个角度)|提升|上升|交换|变化",
    re.IGNORECASE,
)
_OPENING = re.compile(r"(?:[A-Za-z'-]+ ?){1,3}|.{0,6}")
_YOU = re.compile(r"\b(?:you|your|you're)\b|[你您]", re.IGNORECASE)
_ASKS = re.compile(r"(?:[?？]|[吗呢么])\W*$|难道|什么|怎么")
_POINTS = re.compile(r"\b(?:it|them|that|this|ones?|she|he|her|him|they)\b|[它她他]|[这那]个", re.IGNORECASE)
_HAPPENED = re.compile(
    r"\b(?!need|speed|seed|bed|red|used|based|called|named|tired|married)[a-z]{2,}ed\b"
    r"|\b(?:have|has|'ve|had|'d) (?:been|gone)"
    r"|\b(?:went|left|took|gave|made|came|became|began|bought|sold|found|met|lost|broke|built|kept|ran|put|cut|quit|let"
    r"|won|fell|sent|told|said|caught|threw)\b|(?<![不得为除])了(?!解)|刚",
    re.IGNORECASE,
)
_KNOWN = CUES.keys() | PEOPLE
_LONGEST = max(len(word) for word in _KNOWN if word >= "\u3400")


@dataclass(slots=True, kw_only=True)
class Statement:
    """What a statement says.

    speaker: whether a clause is about the speaker. addresses: whether it
    speaks to somebody. whose: the name that it begins with. persons: the other people whom a clause is about, and
    people: all that are named. thing: the words of its first subject that is no person.

    relations: what it is about; told: those of them that a word names; values: the words by which others are known.
    words: its content words, and core: those that name no relation. names: capitalized words. numbers: what it counts,
    and quantities: the same, and days and hours, by unit.

    marks: its words of change. given_up: the words of a clause that takes something back. happened: whether something
    happened. points: whether a pronoun stands for what was named before. asks: whether it is a question.
    """

    text: str = ""
    speaker: bool = False
    whose: str = ""
    persons: set[str] = field(default_factory=set)
    people: set[str] = field(default_factory=set)
    thing: set[str] = field(default_factory=set)
    relations: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    values: dict[str, set[str]] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)
    core: set[str] = field(default_factory=set)
    numbers: frozenset[float] = frozenset()
    marks: set[Mark] = field(default_factory=set)
    given_up: set[str] = field(default_factory=set)
    quantities: Mapping[str, frozenset[str]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    happened: bool = False
    points: bool = False
    addresses: bool = False
    asks: bool = False


@lru_cache(maxsize=512)  # a statement is compared with several others
def read(text: str) -> Statement:
    """Read a statement. Pure; nobody changes the result."""
    text = _LEADING.sub("", text.replace("’", "'"))
    said = Statement(
        text=text,
        numbers=numbers_stated(text),
        quantities=quantities(text),
        whose=stem(met[1].lower()) if (met := _WHOSE.match(text)) and statement_words(met[1]) else "",
        names=frozenset(name.lower() for name in _NAME.findall(text[1:])),
        happened=bool(_HAPPENED.search(text)),
        points=bool(_POINTS.search(text)),
        addresses=bool(_YOU.search(text)),
        asks=bool(_ASKS.search(text)),
    )
    names: set[str] = set()
    for clause in clauses(text):
        names |= _read_clause(clause, said)
    said.core = {word for word in said.words if not _is_name(word, names)}
    return said


@lru_cache(maxsize=4096)  # whatever was replaced is looked through for each reply
@lru_cache(maxsize=4096)  # a statement is compared with several others
def same_text(text: str) -> str:
    """Return what is equal for texts that are the same: case, punctuation, width and spaces make no difference."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in plain if character.isalnum() or character in "+#%-") or plain.strip()


def still_told(text: str) -> str:
    """Return a statement without what it takes back: "the port is 9090, not 8080" tells of 9090 alone."""
    for gone in filter(None, left_behind(text).split(" ")):
        text = text.replace(gone, " ")
    return " ".join(clause for clause in clauses(text) if not MARKS["back"].search(clause))


def clauses(text: str) -> list[str]:
    """Return the clauses of a statement."""
    return [clause for clause in _CLAUSE.split(text) if clause.strip()]


def _read_clause(clause: str, said: Statement) -> set[str]:
    """Add what a clause says, and return the words in it that name a relation."""
    clause = _OTHERWISE.sub(" ", clause)
    plain, marks = clause, set[Mark]()
    for mark, pattern in MARKS.items():  # what adds something says so before it could say that it changes something
        if pattern.search(plain):
            marks.add(mark)
            plain = pattern.sub(" ", plain)
    content = statement_words(plain)
    said.marks |= marks
    said.words |= content
    if "back" in marks:
        said.given_up |= content
    names: set[str] = set()
    for word in _known(clause):
        said.people |= {word} & PEOPLE
        said.relations |= {cue.relation for cue in CUES.get(word, ())}
        for cue in CUES.get(word, ()):
            if cue.value:
                said.values.setdefault(cue.relation, set()).add(word)
            else:
                said.told.add(cue.relation)
                names.add(word)
    met = predicate(clause)
    subject = clause[: met.start()] if met else ""
    opening = subject if met else "".join(_OPENING.findall(clause)[:1])
    people = [word for word in _known(opening) if word in PEOPLE]
    said.persons.update(people[:1])
    said.speaker = said.speaker or (not people and bool(_SPEAKER.match(clause)))
    said.thing = said.thing or set(statement_words(subject) - PEOPLE)
    return names


def _is_name(word: str, names: set[str]) -> bool:
    """Return whether a content word names a relation; Han words are pairs of characters."""
    return word in names or (word[0] >= "\u3400" and any(word in name for name in names))


def _known(text: str) -> Iterator[str]:
    """Yield the words of a text that a table knows: English ones as stems, Chinese ones as the longest."""
    for token in _TOKEN.findall(text.lower()):
        if token[0] < "\u3400":
            if (word := stem(token.strip(".'-"))) in _KNOWN:
                yield word
            continue
        start = 0
        while start < len(token):
            sizes = range(min(_LONGEST, len(token) - start), 0, -1)
            longest = next((size for size in sizes if token[start : start + size] in _KNOWN), 0)
            if longest:
                yield token[start : start + longest]
            start += longest or 1
