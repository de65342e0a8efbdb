"""Extracts what the user explicitly asks to remember, and what is plainly said. No model; nothing in doubt."""

import re
from collections.abc import Iterator
from typing import Final

from extractor.categories import traits_of
from extractor.language.sentences import LONGEST_READ, QUOTED, Sentence, sentences
from extractor.tables import table
from extractor.types import Candidate, Turn

from .borrowed import own_words
from .language import LANGUAGES, Language, language_of

_TABLE: Final = table("rules")
_PATTERNS: Final = _TABLE.patterns()
_WORDS: Final = _TABLE.sets("words")


MOST_CANDIDATES = 12  # of one message; more of them come from a pasted document
LONGEST_CONTENT = 400  # characters
LONGEST_SAID = 2_500  # characters; a longer message was mostly pasted, and only explicit requests count
MOST_LINES_SAID = 20  # likewise
SHORTEST_CONTENT = 3

MASK = "[masked: "
_ENTITY = re.compile(
    r"(?<![\w])(?:[A-Z][\w.+#-]*[\w+#](?: [A-Z][\w.+#-]*[\w+#])*|[a-z]+[A-Z\d][\w.+#-]*)"
    r"|(?<=[\u3400-\u9fff])[A-Za-z][\w.+#-]*[\w+#]?|[“《「]([^”》」]{1,30})[”》」]"
)


def extract_rules(turn: Turn) -> list[Candidate]:
    """Return the candidates of one turn, in order. It reads only the user's message, and never raises.

    Each content is one line of that message. A candidate is `explicit` if the user asked to remember it.
    """
    candidates: dict[str, Candidate] = {}
    only_explicit = len(turn.user) > LONGEST_SAID or turn.user.count("\n") >= MOST_LINES_SAID
    for candidate in _of_message(own_words(turn.user[:LONGEST_READ]), only_explicit=only_explicit):
        known = candidates.get(candidate.content)
        if known is None or (candidate.explicit and not known.explicit):
            candidates[candidate.content] = candidate
        if len(candidates) >= MOST_CANDIDATES:
            break
    return list(candidates.values())


def gives_instructions(text: str) -> bool:
    """Return whether a text has an instruction in it, whoever's it is and however long it shall hold."""
    return any(
        language_of(sentence.plain).instructs(plain)
        for sentence in sentences(text)
        for plain in (sentence.plain, *(clause.plain for clause in sentence.clauses))
    )


def _of_message(message: str, *, only_explicit: bool) -> Iterator[Candidate]:
    before: Sentence | None = None
    listed = False  # the sentence before ended a lead-in such as "remember these:"
    for sentence in sentences(message, whole=True):
        language = language_of(sentence.plain)
        lead = None if sentence.question else _lead_in(sentence, language)
        pointing = None if lead is None else _pointing_back(sentence, language)
        if pointing is not None:
            if pointing or before:
                yield from _remembered(sentence, 0, pointing) if pointing else _remembered(before or sentence, 0)
            listed = not pointing and before is None
        elif lead is not None and lead >= len(sentence.text):
            listed = True
            continue
        elif lead is not None:
            yield from _remembered(sentence, lead)
            listed = False
        elif listed and (sentence.item or before is None) and not sentence.question:
            yield from _remembered(sentence, 0)
        else:
            listed = False
            if not only_explicit:
                yield from _said(sentence, language)
        before = sentence


def _lead_in(sentence: Sentence, language: Language) -> int | None:
    """Return where the text to remember begins; None without a lead-in such as "remember that"."""
    for clause in sentence.clauses[:3]:
        for start in {clause.start: None, language.after("filler", sentence.plain, clause.start): None}:
            for lead in ("points back", "remember"):
                for each in LANGUAGES:  # "记住 my flight is at nine"
                    if match := each.patterns[lead].match(sentence.plain, start):
                        return match.end()
        if language.asks(clause.plain):
            return None
    return None


def _pointing_back(sentence: Sentence, language: Language) -> int | None:
    """Return where "keep that in mind" starts: at 0, or behind a statement in the same sentence; None without it."""
    starts = (clause.start for clause in sentence.clauses)
    return next((start for start in starts if language.patterns["points back"].match(sentence.plain, start)), None)


def _remembered(sentence: Sentence, start: int, end: int | None = None) -> Iterator[Candidate]:
    """Return the rest of the sentence as a candidate, with its category if it is plainly said."""
    language = language_of(sentence.plain)
    end = len(sentence.text) if end is None else end
    content = _content(sentence, start, end)
    if content is None or language.patterns["one-off"].search(sentence.plain, start):
        return
    reading = language.read(sentence.plain, language.after("filler", sentence.plain, start), end)
    about_self = _PATTERNS["of oneself"].match(sentence.plain, start)
    yield Candidate(
        content=content,
        category=reading.category if reading else "fact",
        type=reading.type if reading else ("B" if about_self else "W"),
        importance="high",
        confidence=0.95,
        entities=entities_of(content),
        explicit=True,
    )


def _said(sentence: Sentence, language: Language) -> Iterator[Candidate]:
    """Return what a sentence plainly says, from its first word on, without the clauses that ask or order behind it."""
    start = language.after("filler", sentence.plain, 0)
    asking = (
        clause.start
        for clause in sentence.clauses
        if clause.start > start and (language.asks(clause.plain) or language.patterns["order"].match(clause.plain))
    )
    last, behind = sentence.clauses[-1], sentence.clauses[1:]
    reading = None if sentence.question else language.read(sentence.plain, start, last.end)
    end = last.end
    if reading is None or not traits_of(reading.category).directive:  # an order may belong to a wish
        end = min((*asking, last.start if sentence.question else last.end))
    if behind and behind[0].start < end and _PATTERNS["no longer"].match(sentence.plain, start):
        yield from _plain(sentence, start, behind[0].start, language)
        start = behind[0].start
    yield from _plain(sentence, start, end, language)


def _plain(sentence: Sentence, start: int, end: int, language: Language) -> Iterator[Candidate]:
    """Return a part of a sentence that plainly says something."""
    reading = language.read(sentence.plain, start, end) if start < end else None
    content = _content(sentence, start, end)
    if reading is None or content is None or MASK in content or language.asks(sentence.plain[start:end]):
        return
    yield Candidate(
        content=content,
        category=reading.category,
        type=reading.type,
        importance=reading.importance,
        confidence=reading.confidence,
        entities=entities_of(content),
    )


def _content(sentence: Sentence, start: int, end: int) -> str | None:
    content = " ".join(sentence.text[start:end].split()).strip(" ,，、:：;；-—*_")
    letters = sum(character.isalnum() for character in content)
    if letters < SHORTEST_CONTENT or set(sentence.plain[start:end]) <= {QUOTED, '"', "“", "”"}:
        return None
    return content[:LONGEST_CONTENT].rstrip()


def entities_of(content: str) -> tuple[str, ...]:
    """Return the names in a statement, at most eight."""
    names = (match[1] or match[0] for match in _ENTITY.finditer(content))
    return tuple(dict.fromkeys(name for name in names if name.lower() not in _WORDS["no entity"]))[:8]
