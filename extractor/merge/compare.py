"""Weighs whether a statement changes another one, or says the same in other words.

Relatedness alone does not tell: two facts about one thing are as near as its old and its new value. A statement that
changes another speaks of the same thing, and says that it changes ("now", "gave up", 改成), or gives it another value.
"""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal

from extractor.language.kind import is_chinese
from extractor.language.values import numbers_stated
from extractor.language.vocabulary import polarity, statement_words
from extractor.tables import table

from .attributes import ROLES, exclude_each_other
from .statement import Statement, clauses, read

_TABLE: Final = table("merging")
_WORDS: Final = _TABLE.sets("words")
_WEIGHTS: Final = _TABLE.numbers("weights")


_OF_CHANGE: Final = frozenset({"back", "change", "begin"})
_STRONG: Final = frozenset({"back", "change"})
_SCORES_BY_WORDS: Final = {True: 0.3, False: -0.6}
"""How much a statement with a word of change, or without one, tells of a change where its vector is unknown."""
_ABOUT_THE_SAME: Final = 0.9
"""Of the same thing from this sum on: the cosine, and the share of a clause that the older statement has too."""
_UNKNOWN, _FAR, _CLOSE = 0.4, 0.2, 0.7
"""Cosines: what stands for an unknown one, and those from which on none is farther or nearer."""
_SURELY = 1.5

_LEAST_ODDS: Final = -2.0
_RELATES: Final = ("share", "marked", "back", "change", "first quantity", "denied", "old_happened", "muse", "add")

# A repeat: the cosine and what supports it, or tells against it.
_SAME: Final = 0.9
_SHARED_WORDS, _A_NUMBER, _A_NAME = 0.2, 0.15, 0.1
_NOT_THE_SAME: Final = -0.1
_MOST_NUMBERS: Final = 2

_CODE = re.compile(r"[a-z][-_.]?\d")  # "b53": no number that may be written otherwise
_LATIN = re.compile(r"[A-Za-zÀ-ɏ0-9](?:(?![\u3400-\u9fff])[\w'.-])*")
_HAN = re.compile(r"[\u3400-\u9fff]")
_LONGEST, _LONGEST_OLD = 22, 14
"""Words: a longer text tells of several things, of which words and vectors do not tell which one has changed."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a statement does to an older one. odds: the log-odds that it changes it."""

    verdict: Literal["changed", "same", ""] = ""
    odds: float = float("-inf")


def compared(new: str, old: str, cosine: float | None, change_score: float | None = None) -> Comparison:
    """Compare a statement with an older one in the same language. Pure.

    cosine: of both, and change_score: how much the new one's vector tells of a change (`meaning.py`), None if they are
    unknown: then only the words tell.
    """
    older = read(old)
    newer = read(new)
    if _is_of_another_person(newer, older):  # without what it says of somebody else: 改到十九号，老婆那周才能调班
        own = read(", ".join(clause for clause in clauses(newer.text) if not read(clause).persons))
        newer = own if own.marks & _STRONG and own.words & older.words else newer
    longest = _LONGEST if newer.marks & _STRONG else _LONGEST_OLD
    only_muses = "muse" in newer.marks and not newer.marks & _STRONG
    if length_of(new) > _LONGEST or length_of(old) > longest or newer.asks or only_muses:
        return Comparison()
    odds = float("-inf")
    if (share := share_of_the_same(newer, older, cosine)) > 0:
        weighed = terms(newer, older, share, cosine, change_score)
        odds = sum(_WEIGHTS[name] * value for name, value in weighed.items())
    if odds >= _SURELY:
        return Comparison("changed", odds)
    return Comparison("same" if _repeats(newer, older, cosine) else "", odds)


def share_of_the_same(new: Statement, old: Statement, cosine: float | None) -> float:
    """Return how much of a clause of the newer statement names what the older one is about, 0..1.

    0 where they do not speak of the same thing of the same people, as all that changes another one does. A clause that
    does has little besides: it names the thing, what becomes of it, and no other thing. A verb, a day or a number that
    both have is no thing.
    """
    if _is_of_another_person(new, old):
        return 0.0
    parts = [new.things, *(read(clause).things for clause in clauses(new.text))]
    share = max((len(part & old.things) / len(part) for part in parts if part), default=0.0)
    return share if share >= _ABOUT_THE_SAME - (_UNKNOWN if cosine is None else cosine) else 0.0


def length_of(text: str) -> float:
    """Return the length of a statement in words, of which two Han characters make one."""
    return len(_LATIN.findall(text)) + len(_HAN.findall(text)) / 2


def tells_of_change(text: str) -> bool:
    """Return whether a statement has a word of change, and does not say that it adds to what was."""
    marks = read(text).marks
    return bool(marks & _OF_CHANGE) and "muse" not in marks and ("add" not in marks or "back" in marks)


def terms(
    new: Statement, old: Statement, share: float, cosine: float | None, change_score: float | None = None
) -> dict[str, float]:
    """Return what tells for a change of the thing of which both speak, or against it, by the names in `_WEIGHTS`."""
    near = _UNKNOWN if cosine is None else cosine
    adds = "add" in new.marks and "back" not in new.marks
    marked = not adds and (bool(new.marks & _OF_CHANGE) or _has_another_value(new, old))
    return {
        "always": 1.0,
        "share": share,
        "change score": _SCORES_BY_WORDS[marked] if change_score is None else change_score,
        "marked": float(marked),
        "near": marked * (min(max(near, _FAR), _CLOSE) - _FAR),
        "back": float("back" in new.marks),
        "change": float("change" in new.marks),
        "first quantity": float(bool(new.quantities) and not old.quantities),
        "denied": float(polarity(new.text) is False and polarity(old.text) is not False),
        "old_happened": float(old.happened),
        "muse": float("muse" in new.marks),
        "add": float("add" in new.marks),
    }


def relation(new: str, old: str, cosine: float, telling: float | None) -> dict[str, float]:
    """Return what the words of a statement have to do with those of an older one, by names that `change_of` weighs.

    telling: how much the vector of the newer one tells of a change.
    """
    newer, older = read(new), read(old)
    words, known = statement_words(new), statement_words(old)
    numbers, known_numbers = numbers_stated(new), numbers_stated(old)
    share = share_of_the_same(newer, older, cosine)
    weighed = terms(newer, older, share, cosine)
    told = {
        "words of the newer": len(words & known) / max(1, len(words)),
        "words of the older": len(words & known) / max(1, len(known)),
        "a word": words & known,
        "a thing": newer.things & older.things,
        "of another": is_of_another(new, old),
        "newer of oneself": newer.speaker,
        "older of oneself": older.speaker,
        "newer of people": newer.persons,
        "older of people": older.persons,
        "the same people": newer.persons & older.persons,
        "new people": newer.persons - older.people,
        "people left": older.persons - newer.people,
        "happened": newer.happened,
        "another number": numbers and known_numbers and not numbers & known_numbers,
        "a first number": numbers and not known_numbers,
        "negated": polarity(new) is False,
        "turned": polarity(new) != polarity(old),
        "another name": _differ(newer.names, older.names),
        "the same name": newer.names & older.names,
        "near": cosine * cosine,
        "change by words": compared(new, old, cosine, telling).verdict == "changed",
        "odds by words": max(_LEAST_ODDS, compared(new, old, cosine, telling).odds),
        **{name: weighed[name] for name in _RELATES},
    }
    return {name: value if isinstance(value, float) else float(bool(value)) for name, value in told.items()}


def _has_another_value(new: Statement, old: Statement) -> bool:
    """Return whether a statement gives the same thing another name, day, hour or count: no further event."""
    if _differ(new.names, old.names):
        return bool(old.things & new.things)
    return exclude_each_other(new.quantities, old.quantities) and not (new.happened and old.happened)


def _differ(one: AbstractSet[str], other: AbstractSet[str]) -> bool:
    return bool(one and other) and one.isdisjoint(other)


def is_of_another(new: str, old: str) -> bool:
    """Return whether a statement asks, or is about other people than an older one."""
    newer = read(new)
    return newer.asks or _is_of_another_person(newer, read(old))


def _is_of_another_person(new: Statement, old: Statement) -> bool:
    """Return whether two statements are about different people: what a sister does changes nothing of oneself."""
    if new.addresses and not old.addresses:
        return True
    if new.whose and old.whose and new.whose != old.whose and not {new.whose, old.whose} & (new.words & old.words):
        return True
    others = new.persons - old.people - ROLES
    of_others = bool(old.persons - new.people - ROLES) and not (old.speaker and new.marks & _STRONG)
    return bool(others) or (of_others and (new.speaker or bool(new.persons)))


def _repeats(new: Statement, old: Statement, cosine: float | None) -> bool:
    """Return whether a statement says the same as an older one in other words."""
    both = (new.words & old.words) - ({new.whose} if new.whose == old.whose else set())
    numbers = len(new.numbers & old.numbers)
    if _tells_more(new, old) or not (both or numbers):
        return False
    named = is_chinese(new.text) and any(word[0] < "\u3400" and not word[0].isdigit() for word in both)
    score = (cosine or 0.0) + _SHARED_WORDS * len(both) / max(1, min(len(new.words), len(old.words)))
    score += _A_NUMBER * min(numbers, _MOST_NUMBERS) + _A_NAME * named
    return score + _NOT_THE_SAME * len(new.marks) >= _SAME


def _tells_more(new: Statement, old: Statement) -> bool:
    """Return whether a statement tells something of which the older one does not speak, or the opposite of it."""
    return (
        bool(new.marks & _STRONG)
        or (new.happened and not old.happened)
        or {polarity(new.text), polarity(old.text)} == {True, False}
        or _is_of_another_person(new, old)
        or not new.numbers <= old.numbers
        or any(_CODE.search(word) for word in new.words - old.words)
        or bool(_WORDS["of time"] & (new.quantities.keys() - old.quantities.keys()))
        or any(name not in old.text.lower() for name in new.names)
    )
