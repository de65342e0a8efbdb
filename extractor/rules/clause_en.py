"""Reads the words of an English clause: contractions, forms of verbs, and the group around a verb."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from extractor.language.sentences import QUOTED

from .reading import sets_of, table_of, weights_of
from .words_en import IRREGULAR, MARKS, PREDICATES, SETS, VERBS

__all__ = [
    "MARKS_OF",
    "MARK_WEIGHTS",
    "PAST",
    "PERFECT",
    "PREDICATES_OF",
    "PREDICATE_WEIGHTS",
    "PRESENT",
    "PROGRESSIVE",
    "WORDS",
    "Verb",
    "VerbClass",
    "Word",
    "classes_of_verb",
    "is_plural",
    "is_verb",
    "lemmas",
    "mark_of",
    "read_verb",
    "words_of_clause",
]

PRESENT, PAST, PERFECT, PROGRESSIVE = range(4)  # the order of the weights in `VERBS`

WORDS: Final = sets_of(SETS)
MARKS_OF, MARK_WEIGHTS = weights_of(MARKS)
PREDICATES_OF, PREDICATE_WEIGHTS = weights_of(PREDICATES)

_LONGEST_READ: Final = 300  # characters of a clause
_SHORTEST_PLURAL, _SHORTEST_ADVERB, _SHORTEST_PARTICIPLE, _SHORTEST_STEM = 4, 6, 5, 2
_WORD = re.compile(rf"[A-Za-zÀ-ɏ{QUOTED}][\w.&{QUOTED}]*(?:['-][\w{QUOTED}]+)*'?|\d[\w:.,/%-]*|[^\s\w]")
_ENDINGS: Final = ("n't", "'m", "'re", "'ve", "'ll", "'d", "'s")
_CONTRACTED: Final = {
    "im": ("i", "'m"), "ive": ("i", "'ve"), "dont": ("do", "n't"), "doesnt": ("do", "n't"), "didnt": ("did", "n't"),
    "cant": ("can", "n't"), "cannot": ("can", "n't"), "can't": ("can", "n't"), "won't": ("will", "n't"),
    "wont": ("will", "n't"), "weve": ("we", "'ve"), "isnt": ("is", "n't"), "havent": ("have", "n't"),
    "gonna": ("going", "to"), "gotta": ("have", "to"), "wanna": ("want", "to"),
}  # fmt: skip


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
    """A verb and its group. form: an index of the weights of `VERBS`; rest: where what follows it begins."""

    lemma: str
    form: int
    rest: int
    modal: str = ""
    negated: bool = False
    adverbs: tuple[str, ...] = ()


def _read_verbs() -> dict[str, list[VerbClass]]:
    verbs: dict[str, list[VerbClass]] = {}
    for (name, category, *weights), entries in table_of(VERBS):
        for entry in entries:
            verbs.setdefault(entry, []).append(VerbClass(name, category, tuple(map(float, weights))))
    return verbs


_VERBS: Final = _read_verbs()
_DOING: Final = _VERBS.pop("_")
_IRREGULAR: Final = {
    head[0]: dict(entry.split() for entry in entries if " " in entry) for head, entries in table_of(IRREGULAR)
}


@lru_cache(maxsize=4)  # a clause is read as a statement and as a wish
def words_of_clause(plain: str, start: int, end: int) -> tuple[Word, ...]:
    """Return the first words of a clause, with contractions split: "I'm" is "I" and "'m"."""
    found: list[Word] = []
    for match in _WORD.finditer(plain, start, min(end, start + _LONGEST_READ)):
        text, first, last = match[0], match.start(), match.end()
        low = text.lower()
        if low in _CONTRACTED:
            found += (Word(text, half, first, last) for half in _CONTRACTED[low])
        elif "'" in low and (ending := next((each for each in _ENDINGS if low.endswith(each)), "")) not in ("", low):
            cut = last - len(ending)
            found.append(Word(text[: -len(ending)], low[: -len(ending)], first, cut))
            found.append(Word(text[-len(ending) :], ending, cut, last))
        else:
            found.append(Word(text, low.rstrip(".'") or low, first, last))
    return tuple(found)


def mark_of(words: Sequence[Word], at: int) -> str:
    """Return the class of the word at an index in `MARKS`; "" for none, and behind the end."""
    return MARKS_OF.get(words[at].low, "") if at < len(words) else ""


def is_plural(word: str) -> bool:
    """Return whether a noun is in the plural, by its form."""
    return word in WORDS["plurals"] or (
        len(word) >= _SHORTEST_PLURAL and word[-1] == "s" and word[-2] not in "su'" and word[-3:] != "sis"
    )


def lemmas(word: str, form: int) -> tuple[str, ...]:
    """Return the verbs of which a word may be a form; the form is an index of the weights of `VERBS`."""
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


def _has_verb(words: Sequence[Word], at: int, found: Sequence[str]) -> bool:
    return any(lemma in _VERBS or f"{lemma} {_low(words, at + 1)}" in _VERBS for lemma in found)


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
    found = lemmas(_low(words, at), PROGRESSIVE)
    return Verb(_known(words, at, found), PERFECT, at + 1) if found else None


def _with_auxiliary(words: Sequence[Word], at: int, group: _Group) -> Verb:
    low = "have" if words[at].low == "'ve" else words[at].low
    if group.be:
        found = () if group.past else lemmas(low, PROGRESSIVE)
        if found and (low not in PREDICATES_OF or any(lemma in _VERBS for lemma in found)):
            return group.verb(
                _known(words, at, found), PERFECT if group.perfect else PROGRESSIVE, _behind(words, at, found)
            )
        return group.verb("be", PERFECT if group.perfect else PAST if group.past else PRESENT, at)
    if group.perfect:
        found = lemmas(low, PERFECT)
        return group.verb(_known(words, at, found) if found else low, PERFECT, _behind(words, at, found))
    return group.verb(_known(words, at, (low,)), PAST if group.do == "did" else PRESENT, _behind(words, at, (low,)))


def _without_auxiliary(words: Sequence[Word], at: int, group: _Group, whose: str) -> Verb | None:
    low = "have" if words[at].low == "'ve" else words[at].low
    if whose == "omitted" and low == "got":
        return group.verb("have got", PRESENT, at + 1)
    if whose == "omitted" and low in PREDICATES_OF and _low(words, at + 1) not in ("my", "our"):
        return group.verb("be", PRESENT, at)
    found = (low,) if whose in ("i", "we") else lemmas(low, PRESENT)
    if _has_verb(words, at, found):
        return group.verb(_known(words, at, found), PRESENT, _behind(words, at, found))
    if found := lemmas(low, PAST):
        return group.verb(_known(words, at, found), PAST, _behind(words, at, found))
    if not low[0].isalpha() or low in MARKS_OF or low in WORDS["prepositions"]:
        return None
    return group.verb(low, PRESENT, at + 1)


def _is_participle(words: Sequence[Word], at: int) -> bool:
    while at < len(words) and (words[at].low in WORDS["adverbs"] or words[at].low in WORDS["not"]):
        at += 1
    low = _low(words, at)
    return low in _IRREGULAR["perfect"] or (low.endswith("ed") and len(low) >= _SHORTEST_PARTICIPLE)


def _known(words: Sequence[Word], at: int, found: Sequence[str]) -> str:
    """Return the verb of which the tables know, with its particle: "give up" before "give"."""
    after = _low(words, at + 1)
    phrase = next((f"{lemma} {after}" for lemma in found if f"{lemma} {after}" in _VERBS), "")
    return phrase or next((lemma for lemma in found if lemma in _VERBS), found[0])


def _behind(words: Sequence[Word], at: int, found: Sequence[str]) -> int:
    return at + (2 if found and " " in _known(words, at, found) else 1)
