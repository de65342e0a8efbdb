"""Whether a statement gives a thing another value than an older one: another day, count, state, or choice of its kind.

The rules are strict because a wrong answer loses a memory: all other words and the kind of the value must be the same.
"""

import re
from functools import lru_cache
from typing import Final, Literal

from extractor.language.vocabulary import names_of_kind, statement_words, without_kind
from extractor.tables import table

_TABLE: Final = table("merging")
_PATTERNS: Final = _TABLE.patterns()
_EXACT: Final = _TABLE.patterns("exact", flags=0)
_WORDS: Final = _TABLE.sets("words")
_STATUSES: Final = {word: status[0] for status, words in _TABLE.rows("statuses") for word in words}


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
