"""Reads a Chinese clause that tells of its speaker, or wishes something of the assistant for good."""

import re
from functools import cache
from typing import Final

from extractor.tables import table

from .reading import KEPT, Reading, statement_of, wish_of

_TABLE: Final = table("rules_zh")
_PATTERNS: Final = _TABLE.patterns()
_WEIGHTS: Final = {"mine": 1.5, "thing": 1.0, "self": 1.0, "kin": 1.0, "mine_own": 1.0, "own": 0.5, "omitted": 0.5}
_SECOND: Final = 0.5  # of a second predicate's weight
_MOST_BESIDE: Final = 1.0
_LONGEST_READ: Final = 200  # characters of a clause
_BARE: Final = 1.0  # of a predicate in no table: who says 我戴假发 without more does so as a rule
_CONDITIONS: Final = ("的话", "时候", "时")
_LONGEST: Final = 80  # characters of a wish


@cache
def _classes(section: str) -> list[tuple[str, float, str, re.Pattern[str]]]:
    """Return the classes of a section: name, weight, category ("" for none) and pattern."""
    rows = ((head.split(), pattern) for head, pattern in _TABLE.compiled(section, flags=0))
    return [(name, float(weight), "".join(category), pattern) for (name, *category, weight), pattern in rows]


def read_statement(plain: str, start: int, end: int, *, least: float = KEPT) -> Reading | None:
    """Read a clause that says something lasting of its speaker; None for any other. least: the sum that keeps it."""
    end = min(end, start + _LONGEST_READ)
    subject = _PATTERNS["whose"].match(plain, start, end)
    topic = None
    if not subject or subject.lastgroup in ("own", "omitted"):
        topic = _PATTERNS["topic"].match(plain, start, end)
        subject = topic or subject
    if subject is None or subject.end() >= end or _PATTERNS["noun only"].match(plain, start, end):
        return None
    kind = subject.lastgroup or "self"
    rest = plain[subject.end() : end]
    whole = rest if kind in ("self", "kin", "omitted") and not topic else plain[start:end]
    weight, category = _predicate(whole, rest, plain[start:end])
    if weight <= 0 or (kind == "own" and _PATTERNS["named"].match(rest)):  # "the company is called …": whose?
        return None
    around = plain[start : subject.start(kind)] + rest if topic else rest
    of_a_thing = kind in ("thing", "own")
    score = weight + _WEIGHTS[kind] + (1 if of_a_thing and _PATTERNS["is"].match(rest) else 0)
    score += _marks(around, speaks_for=True)
    if score >= least:  # what speaks against it is looked for last: most clauses come not so far
        score += _marks(around, speaks_for=False, of_team=plain.startswith("我们", start))
    if score < least:
        return None
    if _PATTERNS["unable"].search(plain, start, end) and kind in ("self", "omitted"):
        category = "preference"
    leans = kind == "omitted" or plain.endswith("的", start, end)
    return statement_of(category, score, of_work=of_a_thing, of_a_thing=of_a_thing, leans=leans)


def _marks(around: str, *, speaks_for: bool, of_team: bool = False) -> float:
    """Return what the words around the predicate add. A team tells of its tasks, and whoever compares of the things."""
    marks = {
        name: weight
        for name, weight, _, pattern in _classes("marks")
        if (weight > 0) == speaks_for and pattern.search(around)
    }
    if "task" in marks and (of_team or _PATTERNS["compared"].search(around)):
        marks["task"] = marks["task"] / 2 if of_team else 0.0
    return sum(marks.values())


def _predicate(whole: str, rest: str, clause: str) -> tuple[float, str]:
    """Return what the predicates add, and the category of the weightiest. A plan needs a date in its clause."""
    dated = any(name == "date" and pattern.search(clause) for name, _, _, pattern in _classes("marks"))
    predicates = sorted(
        (
            (weight, category)
            for name, weight, category, pattern in _classes("predicates")
            if (dated or name != "planned") and pattern.search(whole)
        ),
        reverse=True,
    )
    if not predicates:
        return (0.0 if _PATTERNS["moved"].search(rest) else _BARE), "fact"
    beside = sum(weight * _SECOND for weight, _ in predicates[1:])
    return predicates[0][0] + min(_MOST_BESIDE, beside), predicates[0][1]


def read_wish(
    plain: str,
    start: int,
    end: int,
    *,
    condition: tuple[int, int] | None,
    reasoned: float,
    leads: bool,  # noqa: ARG001 - English needs it
) -> Reading | None:
    """Read a clause as a standing wish, by its form, not by its topic: see `Language.wish`."""
    clause = plain[condition[0] if condition else start : end]
    if len(clause) > _LONGEST or clause.endswith(_CONDITIONS):
        return None
    if (reasoned < 0 and not _PATTERNS["for good"].search(clause)) or _PATTERNS["wished by another"].match(clause):
        return None
    forms = sorted((weight for _, weight, _, form in _classes("wish forms") if form.search(clause)), reverse=True)
    if not forms:
        return None
    score = forms[0] + min(1.0, _SECOND * len(forms[1:])) + reasoned
    if reasoned >= 1:  # "I don't believe in stars, spare me that"
        clause = _PATTERNS["points"].sub("", clause)
    return wish_of(score + sum(weight for _, weight, _, mark in _classes("wish marks") if mark.search(clause)))
