"""Decides what a candidate does to similar memories: `add`, `skip` (known), `update` (richer) or `supersede` (changed).

A wrong merge loses a memory; a missed one costs a line. So words, numbers, names and negation decide first. What they
leave open is weighed by its words of change (`compare.py`), and estimated by the vectors and words of both
(`change_of`). Where a change is only likely, both stay, and the person is asked. A capable model says itself what its
entries replace.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from extractor.categories import traits_of
from extractor.language.kind import is_chinese, length_in_letters
from extractor.language.values import numbers_of, numbers_stated
from extractor.language.vocabulary import CHANGE, left_behind, names_of_kind, polarity, statement_words
from extractor.meaning import change_of
from extractor.tables import table
from extractor.types import Action, Candidate, Decision, Known

from .attributes import slots
from .compare import compared, relation, tells_of_change
from .new_value import changed, predicate, says_now
from .order import swapped, turned
from .statement import clauses, read, same_text

ALIKE = 0.8  # Jaccard of the content words
RICHER_ALIKE = 0.4  # the same, where one statement holds all of the other
CHANGED_ALIKE = 0.6  # the same, where one of the two is negated
SAME_ACROSS_LANGUAGES = 0.72  # cosine; between the two, the best must be ahead of the others by STANDS_OUT
NEAR_ACROSS_LANGUAGES = 0.59
STANDS_OUT = 0.09
FEW = 3  # words
# Log-odds (`change_of`) of a change: replaced, even if curated; its person is asked.
CHANGED, CHANGED_PLAINLY, ASKED = 2.0, 2.8, 1.4
# How much the newer statement alone must tell of a change (`Meaning.change`) for that, and one that is worth nothing
# else: two events of a kind, or two wishes, are alike in form, and both stand.
TELLS_OF_CHANGE, TELLS_ONLY_OF_CHANGE = 0.1, 0.4
# What words of change say must agree with the vectors: "Finn is better" changes nothing of his allergy.
CHANGED_BY_WORDS, _COSINE_WEIGHS, LEAST_BY_WORDS = 4.3, 4.0, -0.5
SAID_WORDS = 0.6  # share of a line's content words, of two at least, from which on a text says the line …
QUOTED_WORDS = 0.35  # … or a share of them, where the text was made of that line
NEAR_WORDS, SAID_COSINE = 0.5, 0.5  # … or share of any number of them, where the cosine of both is high too

WEIGHED: Final = frozenset({"changed_mind", "perhaps_changed"})  # reasons that estimate a change
SPEAKS_OF_THE_SAME = 0.35  # cosine, from which on a line may be replaced by one that shares no word with it

_TABLE: Final = table("merging")
_PATTERNS: Final = _TABLE.patterns()
_NO_NAMES: Final = _TABLE.sets("words")["no names"]
_NUMBER = re.compile(r"\d+(?:[.:/-]\d+)*")
_DIGIT = re.compile(r"\d")
_LATIN = re.compile(r"[a-zà-ÿ]+")
_NAME = re.compile(r"(?<![A-Za-z])[A-Z][A-Za-z]*")
_NAME_WITHIN = re.compile(r"(?<=[a-z,] )[A-Z][A-Za-z]+")
_LEAST_NEAR, _LEAST_OVERLAP = 0.45, 0.2
_SAYS_MUCH = 60  # letters; a Han character counts as three
_ADDED: Final = Decision(action="add", target=None, reason="new")
_RANK: dict[Action, int] = {"supersede": 0, "skip": 1, "update": 2, "add": 3}


@dataclass(frozen=True, slots=True)
class _Effect:
    """What a candidate does to one memory; "add": it may have made it outdated. odds: of a change that was weighed.

    reason: "asked" where its person is asked whether the memory still holds.
    """

    action: Action
    memory: Known
    reason: str
    odds: float = float("inf")


def decide(candidate: Candidate, known: Sequence[Known]) -> Decision:
    """Decide what to do with a candidate. known: the nearest memories of its scope. Pure."""
    ordered = sorted(known, key=lambda memory: (memory.cosine or 0.0, memory.overlap), reverse=True)
    effects = [effect for memory in ordered if (effect := _effect_on(memory, candidate, ordered))]
    # An exact repeat has priority: nothing has changed then.
    exact = next((effect for effect in effects if effect.reason == "same_text"), None)
    best = exact or min(effects, key=lambda effect: (_RANK[effect.action], -effect.odds), default=None)
    if best is None or best.action == "add":
        return (_ask(best.memory) if best.reason == "asked" else _perhaps(best.memory)) if best else _ADDED
    sentence = candidate.sentence or candidate.content
    told = says_now(sentence) or left_behind(sentence) or tells_of_change(sentence)
    plainly = best.action == "supersede" and (told or CHANGED_PLAINLY <= best.odds < float("inf"))
    if best.action in ("update", "supersede") and best.memory.protected and not (plainly or _may_change(candidate)):
        return _ask(best.memory) if 0 < best.odds < CHANGED_PLAINLY else _beside(best.memory, best.action)
    return Decision(action=best.action, target=best.memory.id, reason=best.reason)


def says(content: str, text: str, cosine: float | None = None, *, quoted: bool = False) -> bool:
    """Return whether a content says what a line says, with its names and numbers, in any words or language.

    cosine: of both, None if it is unknown. quoted: the content was made of this very line.
    """
    if not numbers_stated(text) <= numbers_of(content) or _denies(content, text):
        return False
    near = (cosine or 0.0) >= SAID_COSINE
    if is_chinese(content) != is_chinese(text):
        return near and _are_named(text, content)
    if not _are_named(text, content) or _names_others(text, content):
        return False
    words = statement_words(text)
    share = len(words & statement_words(content)) / max(1, len(words))
    if quoted:
        return share >= QUOTED_WORDS
    return share >= SAID_WORDS if len(words) > 1 and not near else share >= NEAR_WORDS and near


def differ(one: str, other: str) -> bool:
    """Return whether two texts tell of different things: of another number, day, thing of one kind, or name.

    However alike they are otherwise, neither repeats the other then.
    """
    numbers, others = numbers_stated(one), numbers_stated(other)
    if numbers and others and not numbers & numbers_of(other) and not others & numbers_of(one):
        return True
    named, named_too = ({name.lower() for name in _NAME_WITHIN.findall(text)} - _NO_NAMES for text in (one, other))
    renamed = named and named_too and not any(name in other.lower() for name in named)
    return _names_others(one, other) or bool(renamed and not any(name in one.lower() for name in named_too))


def speak_of_the_same(content: str, text: str, cosine: float | None) -> bool:
    """Return whether one line may replace another at a model's word, in any language: both have a word, or are near.

    cosine: of both, None if it is unknown.
    """
    return bool(statement_words(content) & statement_words(text)) or (cosine or 0.0) >= SPEAKS_OF_THE_SAME


def _numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(text))


def _capitalized(text: str) -> set[str]:
    return {name.lower() for name in _NAME.findall(text)}


def _beside(memory: Known, action: Action) -> Decision:
    """Add a candidate that may not change a line next to it."""
    against = memory.id if action == "supersede" else ""
    return Decision(action="add", target=None, reason="protected", against=against)


def _perhaps(memory: Known) -> Decision:
    """Add a candidate beside a memory that it may have made outdated."""
    return Decision(action="add", target=None, reason="perhaps_changed", outdates=memory.id)


def _ask(memory: Known) -> Decision:
    """Add a candidate beside a memory of which its person is asked whether it still holds."""
    return Decision(action="add", target=None, reason="perhaps_changed", asks=memory.id)


def _of_other_codes(new: str, old: str) -> bool:
    """Return whether the subjects of two statements have other codes: "locker b53", "locker a53"."""
    codes, old_codes = (
        {word for word in statement_words(_subject(each) or "") if _DIGIT.search(word)} for each in (new, old)
    )
    return bool(codes and old_codes) and not codes & old_codes


def _effect_on(memory: Known, candidate: Candidate, ordered: Sequence[Known]) -> _Effect | None:
    """Return what a candidate does to a memory: by the rules, and where they leave it open, by what was weighed."""
    ruling = _same_language(candidate, memory) or _other_language(candidate, memory, ordered)
    ruled = _Effect(ruling[0], memory, ruling[1]) if ruling else None
    # A model's entry is the model's to compare.
    alone = candidate.quote or memory.same_message or is_chinese(candidate.content) != is_chinese(memory.text)
    if (ruled and ruled.action != "update") or alone or _of_other_codes(candidate.content, memory.text):
        return ruled
    weighed = compared(candidate.content, memory.text, memory.cosine, candidate.telling)
    content_weighed = True
    if candidate.sentence not in ("", candidate.content) and weighed.verdict != "same":
        # "I gave it up, I play … now": the content, of which the vectors tell, may be a part of it.
        by_sentence = compared(candidate.sentence, memory.text, memory.cosine)
        if by_sentence.odds > weighed.odds:
            weighed, content_weighed = by_sentence, False
    far = (1.0 if memory.cosine is None else memory.cosine) < _LEAST_NEAR and memory.overlap < _LEAST_OVERLAP
    if far and weighed.verdict == "changed" and length_in_letters(memory.text) > _SAYS_MUCH:
        return ruled  # a memory that says much is about something else, although it has a word of the candidate's
    if weighed.verdict == "same":
        return ruled or _Effect("skip", memory, "known", weighed.odds)
    if weighed.verdict != "changed" and (ruled or memory is not ordered[0]):
        return ruled
    estimated = _odds(candidate, memory) if content_weighed else None
    if weighed.verdict == "changed" and _agree(weighed.odds, estimated, memory.cosine):
        return _Effect("supersede", memory, "changed_mind", weighed.odds)
    return ruled or (_estimated(memory, candidate, estimated) if memory is ordered[0] else None)


def _estimated(memory: Known, candidate: Candidate, odds: float | None) -> _Effect | None:
    """Return what the estimate over both vectors tells: the words of change know only what is in their lists.

    It was trained on what people tell: two wishes are alike in form, and both stand.
    """
    telling = candidate.telling or 0.0
    is_wish = traits_of(candidate.category).directive
    if odds is None or is_wish or odds < ASKED or read(candidate.content).asks:
        return None
    if candidate.only_as and telling < TELLS_ONLY_OF_CHANGE:
        return None
    changes = odds >= CHANGED and telling >= TELLS_OF_CHANGE
    return _Effect("supersede" if changes else "add", memory, "changed_mind" if changes else "asked", odds)


def _agree(odds: float, estimated: float | None, cosine: float | None) -> bool:
    """Return whether the vectors bear out what words tell of a change (log-odds); without them, the words count."""
    if estimated is None or cosine is None:
        return True
    return estimated >= LEAST_BY_WORDS and odds + _COSINE_WEIGHS * cosine >= CHANGED_BY_WORDS


def _odds(candidate: Candidate, memory: Known) -> float | None:
    """Return the log-odds that a candidate changes a memory, by the vectors of both; None where one is missing."""
    if memory.vectors is None:
        return None
    related = relation(candidate.content, memory.text, memory.cosine or 0.0, candidate.telling)
    return change_of(candidate.content, *memory.vectors, related)


def _may_change(candidate: Candidate) -> bool:
    """Return whether a candidate may change a curated line; what a capable model has read may."""
    return candidate.explicit or candidate.importance == "high" or bool(candidate.quote and not candidate.only_as)


def _same_language(candidate: Candidate, memory: Known) -> tuple[Action, str] | None:
    new, old = candidate.content, memory.text
    if same_text(new) == same_text(old):
        return "skip", "same_text"
    if is_chinese(new) != is_chinese(old):
        return None
    new_slots, old_slots = slots(new), slots(old)
    for slot in new_slots.keys() & old_slots.keys():
        if new_slots[slot] != old_slots[slot]:
            return "supersede", "newer_value"
        return ("skip", "known") if len(new) <= len(old) + 2 else ("update", "richer")
    if _gives_another_value(new, old):
        return "add", "perhaps_changed"
    other_way: tuple[Action, str] | None = ("supersede", "changed_mind") if turned(new, old) else None
    return other_way or changed(new, old) or _left(new, old) or _ordered_otherwise(new, old) or _worded(new, old)


def _gives_another_value(new: str, old: str) -> bool:
    """Return whether a clause of each tells the same attribute with another value: "I am Jonas and I live in Graz".

    The older one tells more than that, so it is doubted and not replaced.
    """
    values, old_values = ([slots(clause) for clause in clauses(text)] for text in (new, old))
    return any(one[slot] != other[slot] for one in values for other in old_values for slot in one.keys() & other.keys())


def _worded(new: str, old: str) -> tuple[Action, str] | None:  # noqa: PLR0911 - one return a rule
    """Decide by the content words that are in both, or only in one."""
    new_words, old_words = statement_words(new), statement_words(old)
    both, either = new_words & old_words, new_words | old_words
    if not both or _of_another(new, old) or swapped(new, old):
        return None
    alike = len(both) / len(either)
    new_side, old_side = polarity(new), polarity(old)
    within = both in (new_words, old_words)
    if new_side is not None and old_side is not None and new_side != old_side:
        alike_enough = alike >= CHANGED_ALIKE or (within and len(either) <= FEW)
        return ("supersede", "negated") if alike_enough else None
    if new_side != old_side:
        return None
    new_numbers, old_numbers = _numbers(new), _numbers(old)
    if new_numbers != old_numbers:
        return None if new_numbers and old_numbers else _richer(new_words, old_words, alike)
    if _names(new) ^ _names(old) and not within:
        return None
    if alike >= ALIKE:
        return ("update", "richer") if new_words > old_words else ("skip", "known")
    return _richer(new_words, old_words, alike)


def _ordered_otherwise(new: str, old: str) -> tuple[Action, str] | None:
    """Supersede an instruction on how to answer by a newer one of another length, language or form."""
    if not _PATTERNS["answer"].search(new) or not _PATTERNS["answer"].search(old):
        return None
    new_names, old_names = names_of_kind(new), names_of_kind(old)
    for kind in ("length", "spoken", "theme", "indentation"):
        if kind in new_names and kind in old_names and new_names[kind].isdisjoint(old_names[kind]):
            return "supersede", "ordered_otherwise"
    return None


def _richer(new_words: frozenset[str], old_words: frozenset[str], alike: float) -> tuple[Action, str] | None:
    """Decide where one statement holds all of the other, of at least two content words: one is in many statements."""
    if old_words < new_words and len(old_words) > 1 and alike >= RICHER_ALIKE:
        return "update", "richer"
    if new_words <= old_words and len(new_words) > 1 and alike >= RICHER_ALIKE:
        return "skip", "known"
    return None


def _subject(text: str) -> str | None:
    """Return what stands before the predicate of a statement; None where no predicate is known."""
    match = predicate(text)
    return text[: match.start()] if match else None


def _of_another(new: str, old: str) -> bool:
    """Return whether the two statements have different subjects."""
    subject, old_subject = _subject(new), _subject(old)
    if subject is None or old_subject is None:
        return False
    if _numbers(subject) != _numbers(old_subject):
        return True
    words, old_words = statement_words(subject), statement_words(old_subject)
    return bool(words - old_words) and bool(old_words - words)


def _left(new: str, old: str) -> tuple[Action, str] | None:
    """Supersede a preference that was given up: "I switched from X to Y", "我现在改用 Y 了"."""
    if not CHANGE.search(new) or polarity(old) is False:
        return None
    if _PATTERNS["i"].match(new) and statement_words(_subject(old) or ""):
        return None  # somebody else's, or a project's
    replaced = left_behind(new)
    new_names, old_names = names_of_kind(new), names_of_kind(old)
    if replaced:
        replaced_words, old_words = statement_words(replaced), statement_words(old)
        if replaced_words and replaced_words <= old_words and len(old_words - replaced_words) <= FEW:
            return "supersede", "changed_mind"
        return None
    matter = statement_words(old)
    for kind in new_names.keys() & old_names.keys():
        other = matter - statement_words(" ".join(old_names[kind])) - old_names[kind]
        purpose = {word for word in other if not any(word in name for name in old_names[kind])}
        replaces = new_names[kind].isdisjoint(old_names[kind]) and len(old_names[kind]) == 1
        if replaces and purpose <= statement_words(new):
            return "supersede", "changed_mind"
    return None


def _other_language(candidate: Candidate, memory: Known, ordered: Sequence[Known]) -> tuple[Action, str] | None:
    """Skip a repeat in the other language: similar embeddings, and the same numbers, names, things and negation."""
    new, old = candidate.content, memory.text
    if memory.cosine is None or is_chinese(new) == is_chinese(old) or memory.cosine < NEAR_ACROSS_LANGUAGES:
        return None
    if memory.cosine < SAME_ACROSS_LANGUAGES:
        rivals = (each for each in ordered if each is not memory and is_chinese(each.text) == is_chinese(old))
        if memory.cosine - max((each.cosine or 0.0 for each in rivals), default=-1.0) < STANDS_OUT:
            return None
    chinese, latin = (new, old) if is_chinese(new) else (old, new)
    if not _capitalized(chinese) <= _capitalized(latin) or _numbers(chinese) not in (set(), _numbers(latin)):
        return None
    same = not (_names_others(chinese, latin) or _denies(chinese, latin))
    return ("skip", "known_in_other_language") if same else None


def _names(text: str) -> set[str]:
    """Return capitalized words and known things: if they differ, so do the statements."""
    return _capitalized(text[1:]).union(*names_of_kind(text).values())


def _are_named(text: str, content: str) -> bool:
    """Return whether a content has the Latin names of a text."""
    return _capitalized(text[1:]) - _NO_NAMES <= set(_LATIN.findall(content.lower()))


def _names_others(text: str, content: str) -> bool:
    """Return whether two statements name other things of one kind: tea, and coffee."""
    kinds, others = names_of_kind(text), names_of_kind(content)
    return any(kinds[kind].isdisjoint(others[kind]) for kind in kinds.keys() & others.keys())


def _denies(content: str, text: str) -> bool:
    """Return whether one of two statements is negated, and the other is not."""
    side, other = polarity(content), polarity(text)
    return side is not None and other is not None and side != other
