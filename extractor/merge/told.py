"""Finds the sentences of a message that may tell of a change, where no rule keeps them: "had it painted green"."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from extractor.language.script import has_han
from extractor.language.sentences import LONGEST_READ, QUOTED, Sentence, sentences
from extractor.language.vocabulary import statement_words
from extractor.rules import patterns_en, patterns_zh
from extractor.rules.borrowed import own_words
from extractor.types import Candidate, Turn

from .changes import predicate
from .compare import length_of
from .relations import MARKS
from .statement import read

__all__ = ["stands_alone", "with_changes"]

MOST: Final = 4  # of one message: more of them come from a pasted document
LONGEST_MESSAGE: Final = 40  # words: a longer one tells a story, in which much changes
SHORTEST, LONGEST = 3, 200  # characters of a sentence
CONFIDENCE: Final = 0.8

_POINTS = re.compile(r"\b(?:it|them|that one|this one)\b(?!'s\b)")
_OF_A_THING = re.compile(r"(?:my|our|the|his|her|their) .+|(?:.+的)?[^我咱的\x00-\x7f]+", re.IGNORECASE)
_LATE: Final = 5  # characters: a Chinese sentence whose word of change comes later has a subject before it


def with_changes(turn: Turn, kept: Sequence[Candidate]) -> list[Candidate]:
    """Return what the rules kept of a message, each with its sentence, and its other statements, which may change one.

    The latter are `only_as_change`.
    """
    candidates = list(kept)
    if length_of(turn.user[:LONGEST_READ]) > LONGEST_MESSAGE:
        return candidates
    found: list[Candidate] = []
    for sentence in sentences(own_words(turn.user[:LONGEST_READ])):
        if not _states(sentence):
            continue
        language = patterns_zh if has_han(sentence.plain) else patterns_en
        filler = language.FILLER.match(sentence.plain)
        text = " ".join(sentence.text[filler.end() if filler else 0 :].split())
        of_it = [number for number, candidate in enumerate(candidates) if candidate.content in text]
        for number in of_it:
            candidates[number] = replace(candidates[number], said=text)
        if not of_it and len(found) < MOST:
            found.append(
                Candidate(
                    content=text,
                    category="fact",
                    type="B",
                    importance="normal",
                    confidence=CONFIDENCE,
                    only_as_change=True,
                )
            )
    return candidates + found


def stands_alone(text: str, changed: str) -> str:
    """Return a sentence that changes a memory in a form that can be read without it.

    changed: the memory's text. "had it painted green" after "my bike is red" becomes "had my bike painted green", and
    漆成绿色了 after 我的自行车是红色的 becomes 我的自行车：漆成绿色了.
    """
    met = predicate(changed)
    thing = changed[: met.start()].strip() if met else ""
    if not _OF_A_THING.fullmatch(thing) or statement_words(thing) & statement_words(text):
        return text
    if has_han(text):
        begins = min((found.start() for pattern in MARKS.values() if (found := pattern.search(text))), default=_LATE)
        return f"{thing}：{text}" if begins < _LATE and not read(text).speaker else text
    named = thing if thing[1:2].isupper() else f"{thing[0].lower()}{thing[1:]}"
    return _POINTS.sub(lambda _: named, text, count=1)


def _states(sentence: Sentence) -> bool:
    """Return whether a sentence is the user's own, lasting statement."""
    language = patterns_zh if has_han(sentence.plain) else patterns_en
    plain = sentence.plain
    if sentence.question or QUOTED in plain or not SHORTEST <= len(plain) <= LONGEST:
        return False
    if language.ATTRIBUTED.match(sentence.clauses[-1].plain) or language.CONDITION.match(plain):
        return False
    if any(language.ASIDE.search(clause.plain) for clause in sentence.clauses):
        return False
    said = language.FILLER.match(plain)
    if language.ORDER.match(plain, said.end() if said else 0) or language.ONE_OFF.search(plain):
        return False
    asks = language.QUESTION.search(plain) if language is patterns_zh else language.QUESTION.match(plain)
    return not asks and not language.BLOCKED.search(plain)
