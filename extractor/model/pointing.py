"""Which sentence of the user an entry points at.

A small model finds what is worth keeping, and words it wrongly: of the wrong person, or with a half that nobody said.
So its entries only point. What is kept is the user's own sentence, if its meaning tells something lasting, and the
model's wording only where it says the same.
"""

import re
from dataclasses import replace
from datetime import date
from typing import Final

from extractor.categories import traits_of
from extractor.language.dates import relative_dates_of, without_dates
from extractor.language.script import has_han
from extractor.language.sentences import LONGEST_READ, sentences
from extractor.language.vocabulary import statement_words
from extractor.meaning import SPEAKER
from extractor.merge.told import may_be, points_back, text_of
from extractor.rules.borrowed import own_words
from extractor.rules.extract import entities_of
from extractor.types import Candidate, Turn

from .support import Said, expiry_of, share_repeated
from .voice import is_standing_wish
from .whose import adds_must_or_wish

__all__ = ["pointed_at", "repeats"]

LONGEST: Final = 300  # characters
LEAST_REPEATED: Final = 0.7
_DATE: Final = re.compile(r"\b(?:on |in |by )?\d{4}-\d\d(?:-\d\d)?\b|\d{4}年(?:\d{1,2}月)?(?:\d{1,2}[日号])?")
_OF_USER: Final = re.compile(r"(?:the )?user\b|用户", re.IGNORECASE)


def pointed_at(candidate: Candidate, turn: Turn) -> Candidate | None:
    """Return an entry with the sentence at which it points as its content; None where that tells nothing.

    Of a quotation of several sentences, the one counts that shares most words with the entry. A sentence that begins
    with "she" or "that" is told with the one before it.
    """
    said = sentences(own_words(turn.user[:LONGEST_READ]))
    quoted, told = statement_words(candidate.quote), statement_words(candidate.content)
    shared = [(len(quoted & words), len(told & words)) for words in (statement_words(each.text) for each in said)]
    if not any(of_quote for of_quote, _ in shared):
        return None
    number = max(range(len(said)), key=lambda each: (sum(shared[each]) if shared[each][0] else -1, -each))
    parts, only_as = [said[number]], may_be(said[number])
    if points_back(said[number].plain):
        if number and "statement" in may_be(said[number - 1]):
            parts.insert(0, said[number - 1])
        if only_as and (len(parts) > 1 or SPEAKER.search(said[number].plain)):
            only_as = frozenset({"statement"})
    text = _joined([text_of(part) for part in parts])
    wished = traits_of(candidate.category).directive and is_standing_wish(text)
    only_as &= {"statement", "wish"} if wished else {"statement"}
    if not only_as or len(text) > LONGEST:
        return None
    return replace(
        candidate,
        content=text,
        category="fact",
        only_as=only_as,
        entities=entities_of(text),
        expires=expiry_of(text, turn.at.date()),
        turn=turn.id,
    )


def repeats(content: str, sentence: str, day: date) -> bool:
    """Return whether an entry says what a sentence says, by all of the entry's words and most of the sentence's."""
    said, plain = Said([(sentence, day)]), _DATE.sub(" ", content)  # a model may tell "Friday" as a date
    return (
        has_han(content) == has_han(sentence)
        and said.has_dates_and_numbers(content, day)
        and set(relative_dates_of(plain, day)) <= set(relative_dates_of(sentence, day))
        and said.has_names(plain)
        and share_repeated(plain, sentence) == 1.0
        and share_repeated(without_dates(sentence, day), content) >= LEAST_REPEATED
        and not adds_must_or_wish(sentence, content)
        and (bool(SPEAKER.search(sentence)) or not _OF_USER.match(content))
    )


def _joined(texts: list[str]) -> str:
    return " ".join([*(f"{text}{'。' if has_han(text) else '.'}" for text in texts[:-1]), texts[-1]])
