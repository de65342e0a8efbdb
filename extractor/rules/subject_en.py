"""Reads of whom an English clause tells: "I", "my neighbour Carlos", "Rui and I", "the bike I ride"."""

from collections.abc import Sequence
from typing import NamedTuple

from .clause_en import MARKS_OF, PAST, PRESENT, WORDS, Word, classes_of_verb, is_verb, lemmas
from .reading import weights_of
from .words_en import NOUNS

__all__ = ["Subject", "is_introduction", "read_subject"]

_NOUNS, _NOUN_WEIGHTS = weights_of(NOUNS)
_LONGEST_OPENING, _LONGEST_PERSONS, _LONGEST_PHRASE, _LONGEST_NOUN = 7, 7, 9, 4  # words
_FEWEST_AFTER_OPENING, _FEWEST_OF_PART = 6, 4  # words
_I, _WE, _KIN, _MINE, _FAVOURITE, _OMITTED = 1.0, 0.5, 1.5, 1.0, 2.0, 0.5
_BARE, _RELATIVE, _OF_WORK, _THE = 0.5, 0.5, -0.5, -1.0  # what a noun without "my" adds


_AUXILIARIES = WORDS["be"] | WORDS["have"] | WORDS["modals"]
_VERBS_OF_GRAMMAR = _AUXILIARIES | WORDS["do"]
_NO_NOUNS = WORDS["prepositions"] | WORDS["openers"] | WORDS["adverbs"] | WORDS["no nouns"]
_NO_NAMES = WORDS["prepositions"] | WORDS["adverbs"] | WORDS["no nouns"]


class Subject(NamedTuple):
    """Where the verb's group begins, what the subject adds, and whose it is.

    whose: "i", "we", "kin", "mine" (my bike), "thing" (our server, the bike I ride), "owned" (the truck … I own it),
    "there" (there are hives in our garden), "favourite" or "omitted".
    """

    verb_at: int
    weight: float
    whose: str


def is_introduction(words: Sequence[Word]) -> bool:
    """Return whether a clause is "Tom here"."""
    return (
        len(words) == 2  # noqa: PLR2004 - a name and "here"
        and words[1].low in ("here", "speaking")
        and words[0].text.istitle()
        and words[0].low not in _NO_NAMES
    )


def read_subject(words: Sequence[Word]) -> Subject | None:
    """Read a clause's subject, behind an opening such as "in our team"; None where the clause has none of its own."""
    first = 0
    if len(words) > 1 and _opens(words[0].low, words[1].low):
        opening = range(1, min(len(words), _LONGEST_OPENING))
        first = next((at for at in opening if words[at].low in ("i", "we")), -1)
        if first < 0:
            return _behind_opening(words)
    if len(words) >= _FEWEST_OF_PART and words[0].low in WORDS["quantities"] and words[1].low == "of":
        first = 2 if words[2].low in ("my", "our") else first  # "both of my kids"
    low = words[first].low
    if low in ("i", "we"):
        return Subject(first + 1, _I if low == "i" else _WE, low)
    if low == "there" and _low_at(words, first + 1) in WORDS["be"]:
        return (
            Subject(first + 1, 0.0, "there") if any(word.low in WORDS["own"] for word in words[first + 2 :]) else None
        )
    if low in ("he", "she") and _is_own_kin(words[first + 1 :]):  # "she's my stepdaughter"
        return Subject(first + 1, _KIN, "kin")
    if low in WORDS["bare kin"] and (kin := _noun(words, first - 1, "kin")):
        return kin
    return _persons(words, first) or (
        _noun(words, first, "") if low in ("my", "our", "the") else _omitted(words, first) or _bare_noun(words, low)
    )


def _is_own_kin(words: Sequence[Word]) -> bool:
    """Return whether "is my stepdaughter" follows."""
    own = len(words) > 2 and words[0].low in WORDS["be"] and words[1].low in ("my", "our")  # noqa: PLR2004 - is my aunt
    return own and any(MARKS_OF.get(word.low) == "kin" for word in words[2:4])


def _low_at(words: Sequence[Word], at: int) -> str:
    return words[at].low if at < len(words) else ""


def _opens(low: str, after: str) -> bool:
    """Return whether a clause opens with when or where: "in our team", "every week"; not "in case", "every thing"."""
    if low in ("every", "each", "last", "next", "most"):
        return after in WORDS["times"] or MARKS_OF.get(after) in ("date", "often", "since")
    return low in WORDS["openers"] and after not in WORDS["conditions"]


def _behind_opening(words: Sequence[Word]) -> Subject | None:
    """Read "at our company Q3 ends …"."""
    told = len(words) >= _FEWEST_AFTER_OPENING and words[1].low in ("my", "our") and words[0].low in ("in", "at", "on")
    return _noun(words, 2, "thing") if told else None


def _persons(words: Sequence[Word], first: int) -> Subject | None:
    """Read "Rui and I", "me and my wife"."""
    for at in range(first + 1, min(first + _LONGEST_PERSONS, len(words) - 1)):
        if words[at].low in ("and", "&") and words[at + 1].low == "i":
            return Subject(at + 2, _I, "we")
        if words[at].low in _AUXILIARIES:
            break
    both = words[first].low == "me" and len(words) >= _FEWEST_OF_PART and words[1].low == "and"
    return _noun(words, 2, "we") if both else None


def _omitted(words: Sequence[Word], first: int) -> Subject | None:
    """Read "Been playing the cello …", "Moved to Lisbon …"."""
    low = words[first].low
    names = {each.name for lemma in lemmas(low, PAST) for each in classes_of_verb(lemma)} if first == 0 else set()
    told = names & {"living", "event"} or ("turning" in names and _low_at(words, 1) in ("my", "our"))
    return Subject(first, _OMITTED, "omitted") if told or low in WORDS["without subject"] else None


def _bare_noun(words: Sequence[Word], low: str) -> Subject | None:
    """Read "Council tax comes out of my account on the 12th": a thing of the speaker's, on a day."""
    no_noun = (
        not low.isalpha()
        or low.endswith("ing")
        or MARKS_OF.get(low, "kin") not in ("kin", "member", "place")
        or low in _NO_NOUNS
        or classes_of_verb(low)[0].name != "doing"
    )
    if low in WORDS["bills"] and _dated(words[1:], ("often", "date")):
        bill = _noun(words, -1, "other")
        return bill if bill and _is_scheduled(words, bill.verb_at) else None
    own = any(word.low in WORDS["own"] for word in words[2:])
    return _noun(words, -1, "other") if not no_noun and own and _dated(words[2:], ("often", "date")) else None


def _dated(words: Sequence[Word], marks: Sequence[str]) -> bool:
    return any(MARKS_OF.get(word.low) in marks or word.low[0].isdigit() for word in words)


def _noun(words: Sequence[Word], first: int, whose: str) -> Subject | None:
    """Read a noun and what belongs to it up to its verb: "my neighbour Carlos has …"."""
    verb_at = _verb_behind(words, first)
    nouns = [word.low for word in words[first + 1 : verb_at] if word.low not in WORDS["adverbs"]]
    relative = any(noun in WORDS["relatives"] for noun in nouns[1:] if noun not in ("where", "that"))
    if verb_at < 0 or verb_at + 1 >= len(words) or not nouns or WORDS["others"] & set(nouns) or relative:
        return None
    partner = nouns[:2] == ["other", "half"]
    weight = min((_NOUN_WEIGHTS[_NOUNS[noun]] for noun in nouns if noun in _NOUNS and not partner), default=0.0)
    if first < 0:
        bare = Subject(verb_at, _KIN + weight, whose) if whose == "kin" else Subject(verb_at, _BARE + weight, "thing")
        return bare if verb_at <= _LONGEST_NOUN else None
    if words[first].low == "the":
        return _the_noun(words, verb_at, nouns, weight)
    if any(noun in WORDS["favourites"] for noun in nouns):
        return Subject(verb_at, _FAVOURITE, "favourite")
    if whose or partner or any(MARKS_OF.get(noun) == "kin" for noun in nouns):
        return Subject(verb_at, _KIN + weight, whose or "kin")
    return Subject(verb_at, _MINE + weight, "thing" if words[first].low == "our" else "mine")


def _the_noun(words: Sequence[Word], verb_at: int, nouns: Sequence[str], weight: float) -> Subject | None:
    """Read "the bike I ride", "the staging server", "the insurance renews in May"; no other thing."""
    if "i" in nouns or "we" in nouns:
        return Subject(verb_at, _RELATIVE + weight, "thing")
    mine = _low_at(words, verb_at + 1) in ("mine", "ours")
    if weight >= 0 and words[verb_at].low in WORDS["be"] and (mine or _owns(words[verb_at + 1 :])):
        return Subject(verb_at, _RELATIVE, "owned")
    if weight > 0:
        return Subject(verb_at, _OF_WORK + weight, "thing")
    own = any(word.low in ("my", "our", "us") for word in words[verb_at:])
    return Subject(verb_at, _THE + weight, "thing") if own or _scheduled(words, verb_at) else None


def _owns(words: Sequence[Word]) -> bool:
    """Return whether "I own it", "we keep them" follows."""
    return any(
        words[at].low in ("i", "we")
        and any(word.low in WORDS["possessing"] for word in words[at + 1 : at + 3])
        and any(word.low in ("it", "them") for word in words[at + 2 : at + 4])
        for at in range(1, len(words) - 2)
    )


def _is_scheduled(words: Sequence[Word], at: int) -> bool:
    low, after = words[at].low, _low_at(words, at + 1)
    return any(
        each.name == "scheduling"
        for lemma in lemmas(low, PRESENT)
        for known in (lemma, f"{lemma} {after}")
        for each in classes_of_verb(known)
    )


def _scheduled(words: Sequence[Word], at: int) -> bool:
    """Return whether "the insurance" renews, ends or is due on a day."""
    known = _is_scheduled(words, at)
    return (known or any(word.low == "due" for word in words[at : at + 3])) and _dated(words[at:], ("date",))


def _verb_behind(words: Sequence[Word], first: int) -> int:
    """Return the index of the verb behind a noun, -1 without one: an auxiliary, or a verb that a table has."""
    last = min(first + _LONGEST_PHRASE, len(words))
    auxiliary = next(
        (
            at
            for at in range(max(1, first + 1), last)
            if words[at].low in _VERBS_OF_GRAMMAR and not (words[at].low == "'s" and _is_possessive(words, at, last))
        ),
        -1,
    )
    known = next((at for at in range(first + 2, last) if is_verb(words, at) and not _is_noun(words, at, last)), -1)
    if auxiliary > known > 0 and words[known - 1].low in ("i", "we"):
        return auxiliary  # "the pup we got after is called …"
    return known if known > 0 and (auxiliary < 0 or known < auxiliary - 1) else auxiliary


def _is_noun(words: Sequence[Word], at: int, last: int) -> bool:
    """Return whether what may be a verb is a noun before one: "my phone plan renews …"."""
    return at + 1 < last and words[at + 1].low.endswith("s") and is_verb(words, at + 1)


def _is_possessive(words: Sequence[Word], at: int, last: int) -> bool:
    """Return whether 's belongs to a noun: a verb follows, as in "my sister's wedding is …"."""
    return any(word.low in _AUXILIARIES for word in words[at + 1 : min(at + 4, last)])
