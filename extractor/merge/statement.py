"""Reads a statement: of whom it is, what about, which value it tells, and whether it gives a thing another value.

The table has words for people, words of change, and attributes with one value at a time.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final, Literal, cast

from extractor.language.values import numbers_of, numbers_stated
from extractor.language.vocabulary import left_behind, names_of_kind, statement_words, stem, without_kind
from extractor.tables import table

_TABLE: Final = table("merging")
_PATTERNS: Final = _TABLE.patterns()
_EXACT: Final = _TABLE.patterns("exact", flags=0)
_WORDS: Final = _TABLE.sets("words")
_STATUSES: Final = {word: status[0] for status, words in _TABLE.rows("statuses") for word in words}


# What statements are about, and the attributes that they tell.


Mark = Literal["add", "muse", "back", "change", "begin"]


@cache
def marks_of_change() -> Mapping[Mark, re.Pattern[str]]:
    """Return the words of each kind of change, the kinds in the order in which they are looked for."""
    gaps = {"English": r"(?:[\w'-]+ ){0,3}?[\w'-]+", "Chinese": "[^，。,；]{1,8}?"}
    sources: dict[str, list[str]] = {}
    for (kind, language), words in _TABLE.rows("changes"):
        source = "|".join(
            re.escape(word).replace("\\~", gaps[language]).replace("\\$", "$").replace("\\^", "^")
            for word in sorted(words, key=len)[::-1]
        )
        sources.setdefault(kind, []).append(rf"\b(?:{source})\b" if language == "English" else source)
    return {cast("Mark", kind): re.compile("|".join(parts), re.IGNORECASE) for kind, parts in sources.items()}


PERSONS: Final = _TABLE.words("persons")
"""Words for people: "sister", "boss", 妹妹."""
_PERSONS: Final = _TABLE.sets("persons")
ROLES: Final = frozenset(map(stem, _PERSONS["roles"]))
PEOPLE: Final = ROLES | frozenset(map(stem, _PERSONS["people"]))


@lru_cache(maxsize=512)  # a statement is compared with several others
def slots(text: str) -> Mapping[str, str]:
    """Return the attributes that a statement tells, with values in lower case: {"home": "berlin"}."""
    text = text.strip().replace("’", "'")
    values: dict[str, str] = {}
    for name, pattern in _TABLE.compiled("attributes"):
        if match := pattern.match(text):
            key = _key(match["k"]) if name == "by its name" else name
            value = " ".join(match["v"].lower().split()).strip(" .'")
            if key != "home" or not names_of_kind(value):  # "I moved to Linux"
                values.setdefault(key, value)
    return {key: value for key, value in values.items() if value}


def _key(name: str) -> str:
    """Return the canonical name of an attribute: "email address" and "e-mail", "手机号" and "新手机"."""
    name = " ".join(name.lower().split()).replace("e-mail", "email").removeprefix("新的").removeprefix("新")
    if name in ("email address", "phone number"):
        name = name.split()[0]
    return {"手机": "手机号", "微信": "微信号"}.get(name, name)


# Reads the days, hours, dates and counts of a statement, by unit: two values of one unit exclude each other.


@lru_cache(maxsize=512)  # a statement is compared with several others
def quantities(text: str) -> Mapping[str, frozenset[str]]:
    """Return what a statement tells of each unit: {"day": {"mon"}, "mg": {"5.0"}}."""
    values: dict[str, set[str]] = {}
    rest = text.lower()
    for unit, pattern in _TABLE.compiled("units"):
        for match in pattern.finditer(rest):
            name = stem(match["unit"] or "") if unit == "counted" else unit
            if name not in _WORDS["numbers of things"]:
                value = match[0][-1] if match[0] > "\u3400" else match[0][:3]
                numbers = sorted(numbers_of(match[0]))
                values.setdefault(name, set()).add(value if name == "day" else str(numbers))
        rest = pattern.sub(" ", rest)
    return {unit: frozenset(of_unit) for unit, of_unit in values.items()}


def exclude_each_other(new: Mapping[str, frozenset[str]], old: Mapping[str, frozenset[str]]) -> bool:
    """Return whether two statements tell different values of one unit."""
    return any(new[unit].isdisjoint(old[unit]) for unit in new.keys() & old.keys() - _WORDS["alone"])


# Finds statements that give a thing another value: another day, count, state, or choice of its kind.
#
# The rules are strict because a wrong answer loses a memory: all other words and the kind of the value must be the
# same.


@lru_cache(maxsize=512)  # a statement is compared with several others
def predicate(text: str) -> re.Match[str] | None:
    """Return the predicate, which ends the subject: "box 3 is blue" and "box 4 is blue" have different subjects."""
    return _PATTERNS["predicate"].search(text)


@lru_cache(maxsize=512)
def happened(text: str) -> bool:
    """Return whether a statement tells of something that has happened once."""
    return bool(_PATTERNS["happened once"].search(text))


def changed(new: str, old: str) -> tuple[Literal["supersede"], str] | None:
    """Return `("supersede", reason)` if the new statement gives the old one's subject another value. Pure."""
    if _moved(new, old) or _retimed(new, old):
        return "supersede", "newer_value"
    if _recounted(new, old):
        return "supersede", "newer_number"
    if _restated(new, old) or _rechosen(new, old):
        return "supersede", "changed_mind"
    return None


def says_now(text: str) -> bool:
    """Return whether a statement itself tells of a change: "now", "anymore", 现在, 了."""
    return bool(_PATTERNS["now"].search(text))


def _moved(new: str, old: str) -> bool:
    """Return whether the same thing has moved to another time, or to another thing of its kind."""
    move, old_predicate = _PATTERNS["moved"].search(new), predicate(old)
    if not move or not old_predicate or old_predicate[0].lower() not in _WORDS["is"]:
        return False
    subject = statement_words(new[: move.start()])
    value, old_value = new[move.end() :], old[old_predicate.end() :]
    both_when = bool(_PATTERNS["when"].search(value) and _PATTERNS["when"].search(old_value))
    both_of_kind = bool(names_of_kind(value).keys() & names_of_kind(old_value).keys())
    return bool(subject) and subject == statement_words(old[: old_predicate.start()]) and (both_when or both_of_kind)


def _retimed(new: str, old: str) -> bool:
    """Return whether the same thing has another time and nothing else is said of it. Two past events do not count."""
    new_predicate, old_predicate = predicate(new), predicate(old)
    if not new_predicate or not old_predicate or happened(new) or happened(old):
        return False
    if new_predicate[0].lower() not in _WORDS["is at"] or new_predicate[0].lower() != old_predicate[0].lower():
        return False
    subject, value, old_value = (
        _plain(new[: new_predicate.start()]),
        _plain(new[new_predicate.end() :]),
        _plain(old[old_predicate.end() :]),
    )
    both = (value, old_value)
    days = [bool(re.search(r"day\b|days\b|周|星期|礼拜", each)) for each in both]
    return (
        bool(statement_words(subject))
        and subject == _plain(old[: old_predicate.start()])
        and value != old_value
        and all(_PATTERNS["only when"].fullmatch(each) and _PATTERNS["when"].search(each) for each in both)
        and days[0] == days[1]  # a day and an hour do not contradict each other
    )


def _recounted(new: str, old: str) -> bool:
    """Return whether the number of the same things has changed: "I have three cats now" after "I have two cats"."""
    plain, plain_old = _plain(new), _plain(old)
    counts, old_counts = _PATTERNS["count"].findall(plain), _PATTERNS["count"].findall(plain_old)
    if len(counts) != 1 or len(old_counts) != 1 or counts == old_counts:
        return False
    frame, old_frame = (
        " ".join(word.removesuffix("s") for word in _PATTERNS["count"].sub("#", each).split())
        for each in (plain, plain_old)
    )
    return frame == old_frame and bool(_PATTERNS["counted"].fullmatch(frame))


def _restated(new: str, old: str) -> bool:
    """Return whether the marital status has changed: a person has only one."""
    status, old_status = _status(new), _status(old)
    return bool(status and old_status) and status != old_status


def _status(text: str) -> str:
    status = _PATTERNS["status"].fullmatch(text.replace("’", "'").strip())
    return _STATUSES[(status["English"] or status["Chinese"]).lower()] if status else ""


def _rechosen(new: str, old: str) -> bool:
    """Return whether another thing of a kind was chosen or ordered for the same purpose, or is preferred instead."""
    new, old = _PATTERNS["over"].sub("", new), _PATTERNS["over"].sub("", old)
    names, old_names = names_of_kind(new), names_of_kind(old)
    orders = bool(_PATTERNS["orders"].match(new) and _PATTERNS["orders"].match(old))
    decides = bool(_EXACT["decides"].search(new) and _EXACT["decides"].search(old))
    prefers = bool(_PATTERNS["prefers"].match(new) and _PATTERNS["prefers"].match(old))
    for kind in names.keys() & old_names.keys():
        if len(names[kind]) != 1 or len(old_names[kind]) != 1 or names[kind] == old_names[kind]:
            continue
        frame, old_frame = (without_kind(_plain(each), kind) for each in (new, old))
        if frame == old_frame and (
            ((decides or (orders and kind in _WORDS["ordered"])) and statement_words(frame))
            or (prefers and kind in _WORDS["either or"])
        ):
            return True
    return False


@lru_cache(maxsize=512)  # a statement is compared with several others
def _plain(text: str) -> str:
    """Normalize: lower case, single spaces, none next to Han, without words for "now" and end marks."""
    text = _PATTERNS["now"].sub(" ", text.lower().replace("’", "'"))
    text = re.sub(r"\s+", " ", re.sub(r"[.!。！,，]+(?=\s|$)", " ", text)).strip()
    return re.sub(r"(?<=[\u3400-\u9fff]) | (?=[\u3400-\u9fff])|了", "", text)


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
