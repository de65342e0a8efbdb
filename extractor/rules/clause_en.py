"""Reads the words of an English clause: contractions, forms of verbs, the group around a verb, and of whom it tells."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from extractor.language.sentences import QUOTED
from extractor.tables import table

PRESENT, PAST, PERFECT, PROGRESSIVE = range(4)  # the order of the weights of verbs in the table

_TABLE: Final = table("rules_en")
WORDS: Final = _TABLE.sets("words")
MARKS_OF, MARK_WEIGHTS = _TABLE.weights("marks")
PREDICATES_OF, PREDICATE_WEIGHTS = _TABLE.weights("predicates")

_LONGEST_READ: Final = 300  # characters of a clause
_SHORTEST_PLURAL, _SHORTEST_ADVERB, _SHORTEST_PARTICIPLE, _SHORTEST_STEM = 4, 6, 5, 2
_WORD = re.compile(rf"[A-Za-zÀ-ɏ{QUOTED}][\w.&{QUOTED}]*(?:['-][\w{QUOTED}]+)*'?|\d[\w:.,/%-]*|[^\s\w]")
_ENDINGS: Final = ("n't", "'m", "'re", "'ve", "'ll", "'d", "'s")
_CONTRACTED: Final = {head[0]: words[0].split() for head, words in _TABLE.rows("contracted")}


class Word(NamedTuple):
    """A word of a clause. text: as written; low: in lower case, without a contraction's other half."""

    text: str
    low: str
    start: int
    end: int


class VerbClass(NamedTuple):
    """A class of verbs: the category of what they tell, and what they add by form."""

    name: str
    category: str
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb and its group. form: an index of the weights of verbs; rest: where what follows it begins."""

    lemma: str
    form: int
    rest: int
    modal: str = ""
    negated: bool = False
    adverbs: tuple[str, ...] = ()


def _read_verbs() -> dict[str, list[VerbClass]]:
    verbs: dict[str, list[VerbClass]] = {}
    for (name, category, *weights), entries in _TABLE.rows("verbs"):
        for entry in entries:
            verbs.setdefault(entry, []).append(VerbClass(name, category, tuple(map(float, weights))))
    return verbs


_VERBS: Final = _read_verbs()
_DOING: Final = _VERBS.pop("_")
_IRREGULAR: Final = {
    head[0]: dict(entry.split() for entry in entries if " " in entry) for head, entries in _TABLE.rows("irregular")
}


@lru_cache(maxsize=4)  # a clause is read as a statement and as a wish
def words_of_clause(plain: str, start: int, end: int) -> tuple[Word, ...]:
    """Return the first words of a clause, with contractions split: "I'm" is "I" and "'m"."""
    words: list[Word] = []
    for match in _WORD.finditer(plain, start, min(end, start + _LONGEST_READ)):
        text, first, last = match[0], match.start(), match.end()
        low = text.lower()
        if low in _CONTRACTED:
            words += (Word(text, half, first, last) for half in _CONTRACTED[low])
        elif "'" in low and (ending := next((each for each in _ENDINGS if low.endswith(each)), "")) not in ("", low):
            cut = last - len(ending)
            words.append(Word(text[: -len(ending)], low[: -len(ending)], first, cut))
            words.append(Word(text[-len(ending) :], ending, cut, last))
        else:
            words.append(Word(text, low.rstrip(".'") or low, first, last))
    return tuple(words)


def mark_of(words: Sequence[Word], at: int) -> str:
    """Return the class of the word at an index of marks; "" for none, and behind the end."""
    return MARKS_OF.get(words[at].low, "") if at < len(words) else ""


def is_plural(word: str) -> bool:
    """Return whether a noun is in the plural, by its form."""
    return word in WORDS["plurals"] or (
        len(word) >= _SHORTEST_PLURAL and word[-1] == "s" and word[-2] not in "su'" and word[-3:] != "sis"
    )


def lemmas(word: str, form: int) -> tuple[str, ...]:
    """Return the verbs of which a word may be a form; the form is an index of the weights of verbs."""
    if form == PROGRESSIVE:
        return _stems(word, "ing")
    if form in (PAST, PERFECT):
        irregular = _IRREGULAR["past" if form == PAST else "perfect"].get(word)
        return (irregular,) if irregular else _stems(word, "ed")
    return (word, *_stems(word, "s"))


def _stems(word: str, ending: str) -> tuple[str, ...]:
    if not word.endswith(ending) or len(word) < len(ending) + _SHORTEST_STEM:
        return ()
    stem = word.removesuffix(ending)
    if ending == "s":
        return (stem, stem.removesuffix("e"), f"{stem[:-2]}y" if stem.endswith("ie") else stem)
    undoubled = stem[:-1] if len(stem) > _SHORTEST_STEM and stem[-1] == stem[-2] else stem
    return (stem, f"{stem}e", undoubled, f"{stem[:-1]}y" if stem.endswith("i") else stem)


def classes_of_verb(lemma: str) -> list[VerbClass]:
    """Return the classes of a verb: "doing" for one that no table has."""
    return _VERBS.get(lemma, _DOING)


def is_verb(words: Sequence[Word], at: int) -> bool:
    """Return whether the word at an index may be a verb that a table has, behind a noun."""
    if words[at].text[0].isupper() or words[at - 1].low in WORDS["determiners"]:
        return False
    return any(_has_verb(words, at, lemmas(words[at].low, form)) for form in (PRESENT, PAST))


def _has_verb(words: Sequence[Word], at: int, verbs: Sequence[str]) -> bool:
    return any(lemma in _VERBS or f"{lemma} {_low(words, at + 1)}" in _VERBS for lemma in verbs)


def _low(words: Sequence[Word], at: int) -> str:
    return words[at].low if at < len(words) else ""


@dataclass(slots=True)
class _Group:
    """What stands before a verb: auxiliaries, adverbs, negation."""

    modal: str = ""
    negated: bool = False
    perfect: bool = False
    be: bool = False
    past: bool = False
    do: str = ""
    adverbs: list[str] = field(default_factory=list)

    def take(self, words: Sequence[Word], at: int) -> int:
        """Take the word at an index into the group. Returns how many words it took: 0 at the verb."""
        low, after = words[at].low, _low(words, at + 1)
        if self._takes_adverb(low):
            return 1
        if low in WORDS["modals"] and not self.be and not self.perfect:
            self.modal = low
        elif low in WORDS["do"] and not self.be and (after in WORDS["not"] or after in _VERBS):
            self.do = low
        elif (low in WORDS["have"] and _is_participle(words, at + 1)) or (low == "'s" and after in WORDS["perfect"]):
            self.perfect = True
        elif low in WORDS["be"] and low != "being":
            self.be, self.past = True, low in ("was", "were")
        else:
            return self._take_with_to(low, after)
        return 1

    def _takes_adverb(self, low: str) -> bool:
        if low in WORDS["not"]:
            self.negated = self.negated or low != "never"
            if low == "never":
                self.adverbs.append(low)
            return True
        by_ending = low.endswith("ly") and len(low) >= _SHORTEST_ADVERB and not self.be
        if (low in WORDS["adverbs"] or by_ending) and not (self.be and low in WORDS["degrees"]):
            self.adverbs.append(low)
            return True
        return False

    def _take_with_to(self, low: str, after: str) -> int:
        """Take "have to", "used to", "going to"."""
        if after != "to":
            return 0
        if low in ("have", "has", "had", "need", "needs") and not self.be:
            self.modal = "must"
        elif low == "used" and not self.be:
            self.modal = "used to"
        elif low == "going" and self.be:
            self.modal, self.be = "going to", False
        else:
            return 0
        return 2

    def known(self, words: Sequence[Word], at: int, verbs: Sequence[str], form: int) -> Verb:
        """Return the verb of which the tables know, with its particle: "give up" before "give"."""
        lemma = _known(words, at, verbs)
        return self.verb(lemma, form, at + (2 if " " in lemma else 1))

    def verb(self, lemma: str, form: int, rest: int) -> Verb:
        return Verb(lemma, form, rest, self.modal, self.negated, tuple(self.adverbs))


def read_verb(words: Sequence[Word], at: int, whose: str) -> Verb | None:
    """Read a verb and its group from an index on; None where none follows. whose: of the subject before it."""
    if whose == "omitted" and words[at].low == "been":
        return _read_been(words, at + 1)
    group = _Group()
    while at < len(words):
        if words[at].low in WORDS["have"] and words[at].low != "had" and _low(words, at + 1) == "got":
            return group.verb("have got", PRESENT, at + 2)
        if words[at].low == "'d" and _low(words, at + 1) in WORDS["determiners"]:  # "I'd a stroke in 2019"
            return group.verb("have", PAST, at + 1)
        taken = group.take(words, at)
        if not taken:
            break
        at += taken
    if at >= len(words):
        return None
    if group.be or group.perfect or group.modal or group.do:
        return _with_auxiliary(words, at, group)
    return _without_auxiliary(words, at, group, whose)


def _read_been(words: Sequence[Word], at: int) -> Verb | None:
    """Read "been playing …", "been vegetarian …"."""
    if PREDICATES_OF.get(_low(words, at)) == "trait" or _low(words, at) in ("a", "an"):
        return Verb("be", PERFECT, at)
    verbs = lemmas(_low(words, at), PROGRESSIVE)
    return Verb(_known(words, at, verbs), PERFECT, at + 1) if verbs else None


def _with_auxiliary(words: Sequence[Word], at: int, group: _Group) -> Verb:
    low = "have" if words[at].low == "'ve" else words[at].low
    if group.be:
        verbs = () if group.past else lemmas(low, PROGRESSIVE)
        if verbs and (low not in PREDICATES_OF or any(lemma in _VERBS for lemma in verbs)):
            return group.known(words, at, verbs, PERFECT if group.perfect else PROGRESSIVE)
        return group.verb("be", PERFECT if group.perfect else PAST if group.past else PRESENT, at)
    if group.perfect:
        return group.known(words, at, lemmas(low, PERFECT) or (low,), PERFECT)
    return group.known(words, at, (low,), PAST if group.do == "did" else PRESENT)


def _without_auxiliary(words: Sequence[Word], at: int, group: _Group, whose: str) -> Verb | None:
    low = "have" if words[at].low == "'ve" else words[at].low
    if whose == "omitted" and low == "got":
        return group.verb("have got", PRESENT, at + 1)
    if whose == "omitted" and low in PREDICATES_OF and _low(words, at + 1) not in ("my", "our"):
        return group.verb("be", PRESENT, at)
    verbs = (low,) if whose in ("i", "we") else lemmas(low, PRESENT)
    if _has_verb(words, at, verbs):
        return group.known(words, at, verbs, PRESENT)
    if verbs := lemmas(low, PAST):
        return group.known(words, at, verbs, PAST)
    if not low[0].isalpha() or low in MARKS_OF or low in WORDS["prepositions"]:
        return None
    return group.verb(low, PRESENT, at + 1)


def _is_participle(words: Sequence[Word], at: int) -> bool:
    while at < len(words) and (words[at].low in WORDS["adverbs"] or words[at].low in WORDS["not"]):
        at += 1
    low = _low(words, at)
    return low in _IRREGULAR["perfect"] or (low.endswith("ed") and len(low) >= _SHORTEST_PARTICIPLE)


def _known(words: Sequence[Word], at: int, verbs: Sequence[str]) -> str:
    """Return the verb of which the tables know, with its particle: "give up" before "give"."""
    after = _low(words, at + 1)
    phrase = next((f"{lemma} {after}" for lemma in verbs if f"{lemma} {after}" in _VERBS), "")
    return phrase or next((lemma for lemma in verbs if lemma in _VERBS), verbs[0])


# Reads of whom an English clause tells: "I", "my neighbour Carlos", "Rui and I", "the bike I ride".

_NOUNS, _NOUN_WEIGHTS = _TABLE.weights("nouns")
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
        if first < 0:  # "at our company Q3 ends …"
            place = words[0].low in ("in", "at", "on") and words[1].low in ("my", "our")
            return _noun(words, 2, "thing") if place and len(words) >= _FEWEST_AFTER_OPENING else None
    if len(words) >= _FEWEST_OF_PART and words[0].low in WORDS["quantities"] and words[1].low == "of":
        first = 2 if words[2].low in ("my", "our") else first  # "both of my kids"
    low = words[first].low
    if low in ("i", "we"):
        return Subject(first + 1, _I if low == "i" else _WE, low)
    if low == "there" and _low(words, first + 1) in WORDS["be"]:
        own = any(word.low in WORDS["own"] for word in words[first + 2 :])
        return Subject(first + 1, 0.0, "there") if own else None
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


def _opens(low: str, after: str) -> bool:
    """Return whether a clause opens with when or where: "in our team", "every week"; not "in case", "every thing"."""
    if low in ("every", "each", "last", "next", "most"):
        return after in WORDS["times"] or MARKS_OF.get(after) in ("date", "often", "since")
    return low in WORDS["openers"] and after not in WORDS["conditions"]


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
    lasting = names & {"living", "event"} or ("turning" in names and _low(words, 1) in ("my", "our"))
    return Subject(first, _OMITTED, "omitted") if lasting or low in WORDS["without subject"] else None


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
        bare = (_KIN, whose) if whose == "kin" else (_BARE, "thing")
        return Subject(verb_at, bare[0] + weight, bare[1]) if verb_at <= _LONGEST_NOUN else None
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
    mine = _low(words, verb_at + 1) in ("mine", "ours")
    if weight >= 0 and words[verb_at].low in WORDS["be"] and (mine or _owns(words[verb_at + 1 :])):
        return Subject(verb_at, _RELATIVE, "owned")
    if weight > 0:
        return Subject(verb_at, _OF_WORK + weight, "thing")
    own = any(word.low in ("my", "our", "us") for word in words[verb_at:])
    due = _is_scheduled(words, verb_at) or any(word.low == "due" for word in words[verb_at : verb_at + 3])
    scheduled = due and _dated(words[verb_at:], ("date",))  # "the insurance" renews, ends or is due on a day
    return Subject(verb_at, _THE + weight, "thing") if own or scheduled else None


def _owns(words: Sequence[Word]) -> bool:
    """Return whether "I own it", "we keep them" follows."""
    return any(
        words[at].low in ("i", "we")
        and any(word.low in WORDS["possessing"] for word in words[at + 1 : at + 3])
        and any(word.low in ("it", "them") for word in words[at + 2 : at + 4])
        for at in range(1, len(words) - 2)
    )


def _is_scheduled(words: Sequence[Word], at: int) -> bool:
    low, after = words[at].low, _low(words, at + 1)
    verbs = [verb for lemma in lemmas(low, PRESENT) for verb in (lemma, f"{lemma} {after}")]
    return any(each.name == "scheduling" for verb in verbs for each in classes_of_verb(verb))


def _verb_behind(words: Sequence[Word], first: int) -> int:
    """Return the index of the verb behind a noun, -1 without one: an auxiliary, or a verb that a table has."""
    last = min(first + _LONGEST_PHRASE, len(words))

    def is_possessive(at: int) -> bool:  # a verb follows 's: "my sister's wedding is …"
        return words[at].low == "'s" and any(word.low in _AUXILIARIES for word in words[at + 1 : min(at + 4, last)])

    def is_noun(at: int) -> bool:  # a verb follows: "my phone plan renews …"
        return at + 1 < last and words[at + 1].low.endswith("s") and is_verb(words, at + 1)

    auxiliaries = (at for at in range(max(1, first + 1), last) if words[at].low in _VERBS_OF_GRAMMAR)
    auxiliary = next((at for at in auxiliaries if not is_possessive(at)), -1)
    known = next((at for at in range(first + 2, last) if is_verb(words, at) and not is_noun(at)), -1)
    if auxiliary > known > 0 and words[known - 1].low in ("i", "we"):
        return auxiliary  # "the pup we got after is called …"
    return known if known > 0 and (auxiliary < 0 or known < auxiliary - 1) else auxiliary
