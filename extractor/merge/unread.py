"""Finds the sentences of a message that no rule reads, and that may yet say something: "had it painted green"."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from extractor.categories import traits_of
from extractor.language.sentences import LONGEST_READ, QUOTED, Sentence, sentences
from extractor.language.vocabulary import statement_words
from extractor.rules.borrowed import own_words
from extractor.rules.extract import MASK, MOST_CANDIDATES
from extractor.rules.language import language_of
from extractor.tables import table
from extractor.types import Candidate, Turn
from gateway_memory.ground.tables import has_han

from .attributes import marks_of_change
from .compare import length_of
from .new_value import predicate
from .statement import read

LONGEST_MESSAGE: Final = 150  # words: a longer one was mostly pasted
SHORTEST, LONGEST = 3, 200  # characters of a sentence, or of a wish
MOST_OF_ONE_WISH: Final = 4  # sentences
MOST_QUOTED: Final = 0.25
CONFIDENCE: Final = 0.8

_TABLE: Final = table("merging")
_PATTERNS: Final = _TABLE.patterns()
_EXACT: Final = _TABLE.patterns("exact", flags=0)

_UNREAD: Final = Candidate(content="", category="fact", type="B", importance="normal", confidence=CONFIDENCE)
_LATE: Final = 5  # characters: a Chinese sentence whose word of change comes later has a subject before it


def with_unread(turn: Turn, kept: Sequence[Candidate]) -> list[Candidate]:
    """Return what the rules kept of a message, each with its sentence, and its other sentences: see `only_as`."""
    candidates = list(kept)
    if length_of(turn.user[:LONGEST_READ]) > LONGEST_MESSAGE:
        return candidates
    unread: list[Candidate] = []
    own = own_words(turn.user[:LONGEST_READ])
    said = sentences(own, whole=True)
    for sentence in said:
        only_as = may_be(sentence)
        if not only_as:
            continue
        text = text_of(sentence)
        of_it = [number for number, candidate in enumerate(candidates) if candidate.content in text]
        for number in of_it:
            candidates[number] = replace(candidates[number], sentence=text)
        if not of_it and len(unread) < MOST_CANDIDATES:
            unread.append(replace(_UNREAD, content=text, only_as=only_as))
    whole = " ".join(own.split())
    explicit = any(candidate.explicit for candidate in candidates)
    if not explicit and 1 < len(said) <= MOST_OF_ONE_WISH and MASK not in own and len(whole) <= LONGEST:
        unread.append(replace(_UNREAD, content=whole, only_as=frozenset({"whole"})))
    return candidates + unread


def with_one_wish(candidates: Sequence[Candidate], found: Sequence[Candidate | None]) -> list[Candidate | None]:
    """Return what is kept of a message whose sentences may be one wish ("Lead with the answer. Reasons afterwards").

    They are not where each of them wishes by itself, or one does and another tells a fact: then each is kept as what it
    is. candidates: as of `with_unread`; found: what each of them means.
    """
    if not candidates or "whole" not in candidates[-1].only_as:
        return list(found)
    *parts, whole = found
    wishes = [traits_of(part.category).directive for part in parts if part and not part.only_as]
    if whole is None or len(set(wishes)) > 1 or (len(wishes) == len(parts) and all(wishes)):
        return [*parts, None]
    return [*(None for _ in parts), whole]


def stands_alone(text: str, changed: str) -> str:
    """Return a sentence that changes a memory in a form that can be read without it.

    changed: the memory's text. "had it painted green" after "my bike is red" becomes "had my bike painted green", and
    漆成绿色了 after 我的自行车是红色的 becomes 我的自行车：漆成绿色了.
    """
    verb = predicate(changed)
    thing = changed[: verb.start()].strip() if verb else ""
    if not _PATTERNS["of a thing"].fullmatch(thing) or statement_words(thing) & statement_words(text):
        return text
    if has_han(text):
        marks = (pattern.search(text) for pattern in marks_of_change().values())
        begins = min((mark.start() for mark in marks if mark), default=_LATE)
        return f"{thing}：{text}" if begins < _LATE and not read(text).speaker else text
    named = thing if thing[1:2].isupper() else f"{thing[0].lower()}{thing[1:]}"
    return _EXACT["points at a thing"].sub(lambda _: named, text, count=1)


def text_of(sentence: Sentence) -> str:
    """Return a sentence as one line, without the words that only lead to it ("by the way, …")."""
    return " ".join(sentence.text[language_of(sentence.plain).after("filler", sentence.plain, 0) :].split())


def points_back(text: str) -> bool:
    """Return whether a sentence begins with a word for what was stated before it: "she", "that", 它."""
    return bool(_PATTERNS["stands for"].match(text))


def may_be(sentence: Sentence) -> frozenset[str]:
    """Return what a sentence may be (see `only_as`); nothing where it is mostly another's words."""
    plain = sentence.plain
    quotes = plain.count(QUOTED) > MOST_QUOTED * len(plain)  # a title is no other's words
    if MASK in plain or not SHORTEST <= len(plain) <= LONGEST:
        return frozenset()
    if quotes:  # "Sign my mails “Warmly, Ines”"
        return frozenset({"wish"})
    if sentence.question:
        return frozenset({"part"})
    language = language_of(plain)
    if language.patterns["order"].match(plain, language.after("filler", plain, 0)):
        return frozenset({"statement", "wish", "part"})  # 请把登录接口改成…: what it orders has not changed yet
    return frozenset({"change", "statement", "wish", "part"})
