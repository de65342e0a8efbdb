"""Weighs whether a statement changes another one, or says the same in other words.

Relatedness alone does not tell: two facts about one thing are as near as its old and its new value. A statement that
changes another says so ("now", "gave up", 改成); its words, relation and subject tell what it changes.
"""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

from extractor.language.kind import is_chinese
from extractor.language.vocabulary import polarity, statement_words
from extractor.tables import table

from .statement import ONE_AT_A_TIME, ROLES, Statement, clauses, exclude_each_other, read

_TABLE: Final = table("merging")
_PATTERNS: Final = _TABLE.patterns()
_EXACT: Final = _TABLE.patterns("exact", flags=0)
_WORDS: Final = _TABLE.sets("words")
_WEIGHTS: Final = _TABLE.numbers("weights")


# Compares statements of the same words in another order: "coffee over tea", "tea over coffee"; who owes whom.

_NAME = re.compile(r"(?<![A-Za-z])[A-Z][A-Za-z]*")


def turned(new: str, old: str) -> bool:
    """Return whether a preference was reversed."""
    rather, old_rather = _rather(new), _rather(old)
    if not rather or not old_rather:
        return False
    first, second = statement_words(new[: rather.start()]), statement_words(new[rather.end() :])
    old_first, old_second = statement_words(old[: old_rather.start()]), statement_words(old[old_rather.end() :])
    risen, fallen = first - old_first, second - old_second
    return bool(risen and fallen) and risen == old_second - second and fallen == old_first - first


def swapped(new: str, old: str) -> bool:
    """Return whether names have another order, other than in a list."""
    places = {name[0]: name.start() for name in _NAME.finditer(old)}
    shared = [name for name in _NAME.finditer(new) if name[0] in places]
    return any(
        places[one[0]] > places[other[0]] and not _PATTERNS["listed"].fullmatch(new, one.end(), other.start())
        for one, other in pairwise(shared)
    )


@lru_cache(maxsize=512)  # a statement is compared with several others
def _rather(text: str) -> re.Match[str] | None:
    return (_PATTERNS["preferred"] if "prefer" in text.lower() else _PATTERNS["rather"]).search(text)


_OF_CHANGE: Final = frozenset({"back", "change", "begin"})
_STRONG: Final = frozenset({"back", "change"})
_SCORES_BY_WORDS: Final = {True: 0.3, False: -0.6}
"""How much a statement with a word of change, or without one, tells of a change where its vector is unknown."""
_RELATED: Final = 0.45
_FAR, _LEAST, _CLOSE = 0.2, 0.3, 0.7
"""Cosines: none is nearer than `_CLOSE`, farther than `_FAR`, or unless far below `_LEAST`."""
_PERHAPS, _FIRM, _SURELY = -0.3, -0.3, 2.2

# A repeat: the cosine and what supports it, or tells against it.
_SAME: Final = 0.82
_SHARED_WORDS, _A_NUMBER, _A_NAME, _A_RELATION = 0.2, 0.15, 0.1, 0.04
_NOT_THE_SAME: Final = -0.1
_MOST_NUMBERS: Final = 2

_CODE = re.compile(r"[a-z][-_.]?\d")  # "b53": no number that may be written otherwise
_LATIN = re.compile(r"[A-Za-zÀ-ɏ0-9](?:(?![\u3400-\u9fff])[\w'.-])*")
_HAN = re.compile(r"[\u3400-\u9fff]")
_LONGEST, _LONGEST_OLD = 22, 14
"""Words: a longer text tells of several things, of which words and vectors do not tell which one has changed."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a statement does to an older one.

    odds: the log-odds that it changes it. firm: whether one relation, or a word of change and what it names, says so.
    """

    verdict: Literal["changed", "perhaps", "same", ""] = ""
    odds: float = float("-inf")
    firm: bool = False


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
    weighed = terms(newer, older, cosine, change_score)
    odds = sum(_WEIGHTS[name] * value for name, value in weighed.items())
    if odds >= _PERHAPS:
        firm = odds >= _FIRM and (weighed["exclusive"] > 0 or weighed["named"] > 0 or (cosine or 0.0) >= _RELATED)
        return Comparison("changed" if odds >= _SURELY else "perhaps", odds, firm)
    return Comparison("same" if _repeats(newer, older, cosine) else "", odds)


def length_of(text: str) -> float:
    """Return the length of a statement in words, of which two Han characters make one."""
    return len(_LATIN.findall(text)) + len(_HAN.findall(text)) / 2


def tells_of_change(text: str) -> bool:
    """Return whether a statement has a word of change, and does not say that it adds to what was."""
    marks = read(text).marks
    return bool(marks & _OF_CHANGE) and "muse" not in marks and ("add" not in marks or "back" in marks)


def terms(new: Statement, old: Statement, cosine: float | None, change_score: float | None = None) -> dict[str, float]:
    """Return what tells for a change, or against it, by the names in `_WEIGHTS`."""
    near = _LEAST if cosine is None else cosine
    shared, strong = new.relations & old.relations, bool(new.marks & _STRONG)
    either = new.relations if strong else new.relations | old.relations
    both = (new.words & old.words) - ({new.whose} if new.whose == old.whose else set())
    named = bool(both)
    adds = "add" in new.marks and "back" not in new.marks
    marked = not adds and (bool(new.marks & _OF_CHANGE) or _has_another_value(new, old))
    return {
        "always": 1.0,
        "change score": _SCORES_BY_WORDS[marked] if change_score is None else change_score,
        "marked": float(marked),
        "near": marked * (min(max(near, _FAR), _CLOSE) - _FAR),
        "far": float(near < _LEAST and not named),
        "exclusive": len(shared if strong else shared & ONE_AT_A_TIME) / max(1, len(either)),
        "unrelated": float(not shared and bool(new.relations and old.relations)),
        "back": float("back" in new.marks),
        "change": float("change" in new.marks),
        "given_up": len(new.given_up & old.words) / max(1, len(old.words)),
        "named": float(named),
        "denied": float(named and polarity(new.text) is False and polarity(old.text) is not False),
        "other_value": float(any(_differ(new.values.get(name, set()), old.values.get(name, set())) for name in shared)),
        "first_quantity": float(named and bool(new.quantities) and not old.quantities),
        "other_thing": _is_of_another_thing(new, old) * (3.0 if _differ(new.thing, old.thing | old.words) else 1.0),
        "other_person": float(_is_of_another_person(new, old)),
        "both_speak": float(new.speaker and old.speaker),
        "old_happened": float(old.happened),
        "old_length": length_of(old.text),
        "muse": float("muse" in new.marks),
        "add": float("add" in new.marks),
        "today": float(bool(_PATTERNS["today"].search(new.text))),
    }


def _has_another_value(new: Statement, old: Statement) -> bool:
    """Return whether a statement gives the same subject another name, day, hour or count: no further event."""
    if _is_of_another_person(new, old):
        return False
    if old.thing and old.thing <= new.words and new.thing <= old.words and _differ(new.names, old.names):
        return True
    if not exclude_each_other(new.quantities, old.quantities) or (new.happened and old.happened):
        return False
    if _differ(new.names, old.names):
        return False
    subject = any(not _EXACT["counts"].search(word) for word in (new.words & old.words) - new.people)
    one_quantity = bool(new.named & old.named & _WORDS["of one quantity"])
    return (subject or one_quantity) and not _is_of_another_thing(new, old)


def _differ(one: AbstractSet[str], other: AbstractSet[str]) -> bool:
    return bool(one and other) and one.isdisjoint(other)


def _is_of_another_person(new: Statement, old: Statement) -> bool:
    """Return whether two statements are about different people: what a sister does changes nothing of oneself."""
    if "partner" in new.relations & old.relations:
        return False
    if new.addresses and not old.addresses:
        return True
    if new.whose and old.whose and new.whose != old.whose and not {new.whose, old.whose} & (new.words & old.words):
        return True
    others = new.persons - old.people - ROLES
    of_others = bool(old.persons - new.people - ROLES) and not (old.speaker and new.marks & _STRONG)
    return bool(others) or (of_others and (new.speaker or bool(new.persons)))


def _is_of_another_thing(new: Statement, old: Statement) -> bool:
    """Return whether the subjects are different things, or the new statement has none of the old one's words for it."""
    if not old.thing or new.points or new.given_up & old.words or old.persons & new.people:
        return False
    return not old.thing & new.words or bool(new.thing - old.words and old.thing - new.words)


def _repeats(new: Statement, old: Statement, cosine: float | None) -> bool:
    """Return whether a statement says the same as an older one in other words."""
    both = (new.core & old.core) - ({new.whose} if new.whose == old.whose else set())
    numbers = len(new.numbers & old.numbers)
    if _tells_more(new, old) or not (both or numbers):
        return False
    named = is_chinese(new.text) and any(word[0] < "\u3400" and not word[0].isdigit() for word in both)
    other = bool(new.thing - old.words and old.thing - new.words)
    # The words of each beside those for what both are about: "paints" counts against "sings".
    contents = (one.words if one.named - two.relations else one.core for one, two in ((new, old), (old, new)))
    score = (cosine or 0.0) + _SHARED_WORDS * len(both) / max(1, min(map(len, contents)))
    score += _A_NUMBER * min(numbers, _MOST_NUMBERS) + _A_NAME * named
    score += _A_RELATION * bool(new.relations & old.relations)
    return score + _NOT_THE_SAME * (len(new.marks) + other) >= _SAME


def _tells_more(new: Statement, old: Statement) -> bool:
    """Return whether a statement tells something of which the older one does not speak, or the opposite of it."""
    return (
        bool(new.marks & _STRONG)
        or (new.happened and not old.happened)
        or {polarity(new.text), polarity(old.text)} == {True, False}
        or _is_of_another_person(new, old)
        or bool(new.named and old.named and not new.named & old.named)
        or "taste" in new.named ^ old.named
        or not new.numbers <= old.numbers
        or any(_CODE.search(word) for word in new.words - old.words)
        or bool(_WORDS["of time"] & (new.quantities.keys() - old.quantities.keys()))
        or any(name not in old.text.lower() for name in new.names)
    )
