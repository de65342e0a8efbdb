"""Reads an English clause that tells of its speaker: subject, verb, and what follows are weighed by the tables."""

from collections.abc import Sequence
from typing import Final

from extractor.language.sentences import QUOTED
from extractor.tables import table

from .clause_en import (
    MARK_WEIGHTS,
    MARKS_OF,
    PAST,
    PERFECT,
    PREDICATE_WEIGHTS,
    PREDICATES_OF,
    PRESENT,
    PROGRESSIVE,
    WORDS,
    Verb,
    VerbClass,
    Word,
    classes_of_verb,
    is_introduction,
    is_plural,
    mark_of,
    read_subject,
    read_verb,
    words_of_clause,
)
from .reading import KEPT, Reading, statement_of

_SPEAKS: Final = table("rules_en").patterns()["speaks"]
_NEVER_SAID, _NOT_SAID, _DONE_ONCE = -3.0, -2.0, -4.0  # what speaks against a memory
_A_KIND, _A_STATE_OF_ONES_OWN, _LITTLE = 2.5, 1.5, 0.5  # what speaks for one
_ENDURED, _ENDURED_ONCE, _ABLE, _PLANNED, _RATHER = 3.0, 1.5, 1.5, 1.0, 2.5
_DIGITS_OF_AN_AGE: Final = 2
_USUAL: Final = ("habit", "light", "doing")
_KEEPS_IN_PAST: Final = ("born", "raised", "diagnosed with")


def read_statement(plain: str, start: int, end: int, *, least: float = KEPT) -> Reading | None:
    """Read a clause that says something lasting of its speaker; None for any other. least: the sum that keeps it."""
    words = words_of_clause(plain, start, end) if _SPEAKS.search(plain, start, end) else ()
    if not words:
        return None
    if is_introduction(words):
        return Reading("fact", "B", "high", 0.85)
    subject = read_subject(words)
    verb = read_verb(words, subject.verb_at, subject.whose) if subject else None
    if subject is None or verb is None:
        return None
    weight, category = _weigh(words[verb.rest :], verb, subject.whose)
    score = subject.weight + weight + _marks(words, verb, subject.verb_at, subject.whose)
    if score < least:
        return None
    of_work = subject.whose in ("we", "thing", "there", "owned")
    leans = subject.whose == "omitted" or words[0].low in ("he", "she")
    return statement_of(category, score, of_work=of_work, of_a_thing=subject.whose == "thing", leans=leans)


def _weigh(rest: Sequence[Word], verb: Verb, whose: str) -> tuple[float, str]:
    """Return what the verb adds, and the category of what is said."""
    if verb.lemma == "be":
        inclined = whose == "favourite" or any(word.low in WORDS["inclined"] for word in rest[:4])
        return _predicate(rest, verb, whose), "preference" if inclined else "fact"
    if "never" in verb.adverbs and verb.form == PAST and not verb.modal and verb.lemma in WORDS["untried"]:
        return (_RATHER if rest else _NEVER_SAID), "fact"  # "I never learned to drive"
    dated = any(MARKS_OF.get(word.low) == "date" or word.low[0].isdigit() for word in rest)
    kind = _class_of(verb, whose, dated=dated)
    if _says_nothing(rest, verb, kind) or (whose == "omitted" and kind.name == "doing" and verb.form == PERFECT):
        return _NEVER_SAID, kind.category
    if verb.form == PAST and kind.name in _USUAL and not _lasts(rest):
        return _DONE_ONCE, kind.category
    if verb.modal:
        return _of_modal(rest, verb, dated=dated)
    strict = verb.lemma == "avoid" or WORDS["strict"] & set(verb.adverbs)
    preferred = strict and kind.category == "fact" and kind.name in _USUAL
    return _of_class(rest, verb, kind), "preference" if preferred else kind.category


def _class_of(verb: Verb, whose: str, *, dated: bool) -> VerbClass:
    """Return the class of the verb that counts here; a plan needs a day, and only things are scheduled."""
    classes = [
        each
        for each in classes_of_verb(verb.lemma)
        if not (each.name == "planning" and (verb.form != PROGRESSIVE or not dated))
        and not (each.name == "scheduling" and whose in ("i", "we", "kin"))
    ] or classes_of_verb("")
    thinking = next((each for each in classes if each.name == "thinking"), None)
    return thinking or max(classes, key=lambda each: each.weights[verb.form])


def _says_nothing(rest: Sequence[Word], verb: Verb, kind: VerbClass) -> bool:
    """Return whether it is a turn of phrase: "I live for the weekend", "I keep getting …", "I've got to …"."""
    following = rest[0].low if rest else ""
    if kind.name == "living":
        place = len(rest) > 1 and (rest[1].low in WORDS["determiners"] or not rest[1].text[0].islower())
        return following == "for" or (following == "on" and not place)
    if following == ":" or (verb.lemma == "keep" and following.endswith("ing")):  # "my boss wrote: …"
        return True
    return kind.name == "having" and following in WORDS["prepositions"]


def _of_modal(rest: Sequence[Word], verb: Verb, *, dated: bool) -> tuple[float, str]:
    """Return what "I can't …", "I'd rather …", "I'll …" adds."""
    if verb.modal in ("can", "could") and verb.negated:
        lasting = (
            verb.modal == "can"
            and verb.lemma in WORDS["endured"]
            and "just" not in verb.adverbs
            and not (rest and rest[0].low in ("to", "if", "how"))
        )
        weight = _NEVER_SAID if not lasting else _ENDURED_ONCE if verb.lemma in WORDS["once"] else _ENDURED
        return weight, "preference" if verb.lemma in WORDS["suffered"] else "fact"
    if verb.modal == "can":
        return _ABLE if verb.lemma in WORDS["abilities"] else _NOT_SAID, "fact"
    if verb.modal in ("will", "'ll", "going to"):
        return _PLANNED if dated and verb.lemma in WORDS["travels"] else _NOT_SAID, "fact"
    if verb.modal in ("would", "'d"):
        known = classes_of_verb(verb.lemma)[0].name != "doing"  # not "I'd never felt so happy"
        lasting = "rather" in verb.adverbs or ("never" in verb.adverbs and known)
        return _RATHER if lasting else _NEVER_SAID, "preference"
    return _ABLE if verb.modal == "used to" else _NEVER_SAID, "fact"


def _of_having(rest: Sequence[Word], verb: Verb, score: float) -> float:
    """Return what "I have …" adds: "I had a stroke" lasts, "I had a coffee" does not."""
    if verb.form in (PAST, PERFECT):
        ill = any(MARKS_OF.get(word.low) == "health" for word in rest)
        score = _A_STATE_OF_ONES_OWN if ill else _DONE_ONCE + _A_KIND
    return score - 1.5 * verb.negated


def _of_class(rest: Sequence[Word], verb: Verb, kind: VerbClass) -> float:
    """Return what the verb's class adds in this form, with what is said directly of it."""
    score = kind.weights[verb.form]
    if kind.name == "thinking":
        return score
    if kind.name == "having":
        score = _of_having(rest, verb, score)
    if verb.form == PERFECT and _lasts(rest):
        score = max(score, _A_STATE_OF_ONES_OWN)
    if not rest:
        return score if kind.name in ("habit", "event") else score - 1
    if verb.negated and verb.form == PROGRESSIVE:
        return _NOT_SAID
    if verb.negated and verb.form == PRESENT:
        score += _LITTLE
    if "only" in verb.adverbs and kind.name in _USUAL:
        score += _A_STATE_OF_ONES_OWN
    if kind.name in (*_USUAL, "having") and PREDICATES_OF.get(rest[0].low) == "trait":
        score += 1  # "I eat halal"
    general = rest[0].low in ("a", "an") or any(is_plural(word.low) for word in rest[:3] if word.low != "the")
    if verb.form == PRESENT and kind.name in (*_USUAL, "having") and general:  # bees, no meat, a forklift
        score += _LITTLE
    pointed = (kind.name in ("liking", "having") and rest[0].low == "the") or (
        kind.name in ("living", "liking", "deciding") and mark_of(rest, 0) == "deixis"
    )
    return score - _A_STATE_OF_ONES_OWN if pointed else score  # "I like the second draft", "I love this"


def _lasts(rest: Sequence[Word]) -> bool:
    return any(MARKS_OF.get(word.low) in ("often", "since") for word in rest)


def _predicate(rest: Sequence[Word], verb: Verb, whose: str) -> float:
    """Return what "I'm …" or "my … is …" adds."""
    if not rest or verb.modal in ("would", "'d", "could", "might", "should", "may"):
        return _NEVER_SAID
    if rest[0].low in ("a", "an") and len(rest) > 1 and whose != "there":
        return _of_kind(rest, verb)
    known = _of_table(rest)
    if known:
        weight = PREDICATE_WEIGHTS[PREDICATES_OF[known]]
        return weight if verb.form != PAST or known in _KEEPS_IN_PAST else min(weight, _LITTLE)
    if rest[0].text[0].isupper() or rest[0].text[0] == QUOTED:
        return _A_KIND
    if rest[0].low[0].isdigit():
        return _A_KIND if len(rest[0].low) == _DIGITS_OF_AN_AGE or whose != "i" else 1.0
    return _of_first_word(rest, verb, whose)


def _of_kind(rest: Sequence[Word], verb: Verb) -> float:
    """Return what "I'm a nurse" adds, and "a bit tired" does not."""
    if rest[1].low in WORDS["small"] or "odd" in (mark_of(rest, 1), mark_of(rest, 2)):
        return _NEVER_SAID
    if rest[-1].low == "fan" or verb.modal:
        return _NOT_SAID
    return _A_KIND if verb.form != PAST else _A_STATE_OF_ONES_OWN


def _of_table(rest: Sequence[Word]) -> str:
    """Return the predicate that the table has: "hard of subscriptions", "good at", "tired", "six months pregnant"."""
    first, second, third = ([*(word.low for word in rest[:3]), "", ""])[:3]
    counted = first[0].isdigit() or first in WORDS["counts"]
    phrases = [f"{first} {second}", first] if counted else [f"{first} {second} {third}", f"{first} {second}", first]
    if first in WORDS["counts"]:
        phrases += [word for word in (second, third) if PREDICATES_OF.get(word) == "trait"]
    return next((phrase for phrase in phrases if phrase in PREDICATES_OF), "")


def _of_first_word(rest: Sequence[Word], verb: Verb, whose: str) -> float:
    low, mark = rest[0].low, mark_of(rest, 0)
    if whose == "there":  # "there's six hives at the bottom of our garden"
        return _NEVER_SAID if low in ("no", "nothing", "always") else _A_STATE_OF_ONES_OWN
    member = low in ("on", "in") and any(MARKS_OF.get(word.low) == "member" for word in rest[1:4])
    dated = any(MARKS_OF.get(word.low) == "date" for word in rest)
    often = mark in ("often", "date") and whose not in ("i", "we")
    if (
        often or member or (low in WORDS["mended"] and whose in ("mine", "kin") and dated)
    ):  # "my hip was replaced in March"
        return _A_STATE_OF_ONES_OWN
    if low in WORDS["prepositions"]:
        if verb.form == PAST or whose not in ("kin", "mine", "thing"):
            return -1.0 if verb.form == PAST else _LITTLE
        return _A_STATE_OF_ONES_OWN if any(MARKS_OF.get(word.low) == "place" for word in rest) else 1.0
    if low in ("the", "my", "our"):
        return _A_STATE_OF_ONES_OWN if low == "the" and whose in ("i", "we", "kin", "favourite") else _LITTLE
    return 1.0 if whose in ("mine", "kin", "favourite") and low.isalpha() and not mark else _NOT_SAID


def _marks(words: Sequence[Word], verb: Verb, verb_at: int, whose: str) -> float:
    """Return what the words around the verb add: how often, since when, with whom, this or that."""
    rest = words[verb.rest :]
    if rest and rest[-1].low in ("one", "ones"):
        return _NEVER_SAID
    before = {MARKS_OF.get(word.low, "") for word in words[: max(0, verb_at - 1)]}
    marks = {mark_of(rest, at) for at in range(len(rest)) if not _is_other(rest, at)}
    marks |= {MARKS_OF.get(adverb, "") for adverb in verb.adverbs}
    marks |= before & {"often", "since", "date", "moment", "kin", "member"}
    score = sum(MARK_WEIGHTS[name] for name in marks - _without_weight(rest, verb, before, whose) if name)
    if any(word.text[0].isupper() and word.low != "i" and len(word.text) > 1 for word in rest):
        score += 1  # a name
    if any(word.low[0].isdigit() or word.low in WORDS["counts"] for word in rest):
        score += _LITTLE
    return score


def _is_other(rest: Sequence[Word], at: int) -> bool:
    """Return whether a mark means another thing: "since we spoke", "each other", "this year"."""
    low, after = rest[at].low, rest[at + 1].low if at + 1 < len(rest) else ""
    return (
        (low == "since" and after in ("we", "you", "then", "last"))
        or (low == "each" and after == "other")
        or (low == "this" and MARKS_OF.get(after) == "date")
        or (low == "these" and after == "days")
    )


def _without_weight(rest: Sequence[Word], verb: Verb, before: set[str], whose: str) -> set[str]:
    """Return the marks that say nothing beside this verb."""
    void = set()
    name = classes_of_verb(verb.lemma)[0].name
    if "member" in before:  # "in our team we do code review": their work is what they tell of
        void.add("task")
    if name != "having":
        void |= {"odd", "stock"}
    dated = name == "turning" and any(MARKS_OF.get(word.low) == "date" or word.low[0].isdigit() for word in rest)
    if dated or name in ("living", "working", "raising", "event", "deciding", "project"):
        void.add("the")
    if whose == "owned":
        void.add("deixis")
    trait = verb.lemma == "be" and rest and PREDICATES_OF.get(rest[0].low) == "trait"
    if trait and "deixis" not in (mark_of(rest, 1), mark_of(rest, 2)):
        void.add("deixis")  # "I'm allergic to wool and avoid it"
    return void
