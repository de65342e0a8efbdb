"""Extracts what the user explicitly asks to remember, prefers, decided or is. No model; nothing in doubt."""

import re
from collections.abc import Iterator
from typing import Final

from extractor.language.sentences import LONGEST_READ, QUOTED, Sentence, sentences
from extractor.language.vocabulary import names_of_kind
from extractor.tables import table
from extractor.types import Candidate, Turn, traits_of

from .borrowed import is_verse, own_words
from .language import LANGUAGES, Language, language_of
from .stated import Kept, clauses_of, stated

_TABLE: Final = table("rules")
_PATTERNS: Final = _TABLE.patterns()
_WORDS: Final = _TABLE.sets("words")


MOST_CANDIDATES = 12  # of one message; more of them come from a pasted document
LONGEST_CONTENT = 400  # characters
MOST_SENTENCES_ALONE = 2  # a message of more says much else, so that an order in it is most likely about that
LONGEST_ALONE = 200  # characters, likewise
LONGEST_SAID = 2_500  # characters; a longer message was mostly pasted, and only explicit requests count
MOST_LINES_SAID = 20  # likewise
SHORTEST_CONTENT = 3
LONGEST_TRAIL = 40  # characters of "please, thanks" or 吧、谢谢 that are cut from the end

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
    own = own_words(turn.user[:LONGEST_READ])
    only_explicit = len(turn.user) > LONGEST_SAID or turn.user.count("\n") >= MOST_LINES_SAID
    for candidate in _of_message(own, only_explicit=only_explicit):
        known = candidates.get(candidate.content)
        if known is None or (candidate.explicit and not known.explicit):
            candidates[candidate.content] = candidate
        if len(candidates) >= MOST_CANDIDATES:
            break
    verse = is_verse(own, len(candidates))
    return [candidate for candidate in candidates.values() if candidate.explicit or not verse]


def gives_instructions(text: str) -> bool:
    """Return whether a text has an instruction in it, whoever's it is and however long it shall hold."""
    return any(
        language.instructs(sentence.plain, language.after("filler", sentence.plain, start), end)
        for sentence in sentences(text)
        for language in [language_of(sentence.plain)]
        for start, end in clauses_of(sentence, language)
    )


def _of_message(message: str, *, only_explicit: bool) -> Iterator[Candidate]:
    redo = bool(_PATTERNS["redo"].search(message, 0, LONGEST_SAID))
    before: Sentence | None = None
    listed = False  # the sentence before ended a lead-in such as "remember these:"
    own = sentences(message, whole=True)
    for sentence in own:
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
            if _PATTERNS["named only"].match(sentence.plain, lead):
                listed, before = True, sentence
                continue
            if not redo or _PATTERNS["of oneself"].match(sentence.plain, lead):
                yield from _remembered(sentence, lead)
            listed = False
        elif listed and (sentence.item or before is None) and not sentence.question:
            yield from _remembered(sentence, 0)
        else:
            listed = False
            if not only_explicit:
                crowded = len(own) > MOST_SENTENCES_ALONE or len(message) > LONGEST_ALONE
                kept = (_candidate(sentence, each, language) for each in stated(sentence, language, crowded=crowded))
                yield from filter(None, kept)
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
    """Return the rest of the sentence as a candidate, with the category of its first statement if it has one."""
    language = language_of(sentence.plain)
    end = len(sentence.text) if end is None else end
    content = _content(sentence, start, end, language)
    attributed = language.patterns["attributed"].match(sentence.clauses[-1].plain)  # "…, is what my teacher says"
    once = language.patterns["one-off"].search(sentence.plain, start)
    if content is None or attributed or once or _PATTERNS["thing only"].match(sentence.plain, start):
        return
    shape = language.statement(sentence.plain, language.after("filler", sentence.plain, start), end)
    if shape is None and _PATTERNS["to the assistant"].match(sentence.plain, start):  # "remember, you are a pirate"
        return
    about_self = _PATTERNS["of oneself"].match(sentence.plain, start)
    yield Candidate(
        content=content,
        category=shape.category if shape else "fact",
        type=shape.type if shape else ("B" if about_self else "W"),
        importance="high",
        confidence=0.95,
        entities=entities_of(content),
        explicit=True,
    )


def _candidate(sentence: Sentence, kept: Kept, language: Language) -> Candidate | None:
    reading = kept.reading
    wish = traits_of(reading.category).directive  # "please" belongs to it
    content = _content(sentence, kept.start, kept.end, language, wish=wish)
    if content is None or MASK in content or (reading.category == "decision" and _says_little(content)):
        return None
    if reading.category == "preference" and _PATTERNS["of two"].search(content):
        return None
    return Candidate(
        content=content,
        category=reading.category,
        type=reading.type,
        importance=reading.importance,
        confidence=reading.confidence,
        entities=entities_of(content),
    )


def _says_little(decision: str) -> bool:
    """Return whether a decision makes no sense without its options, or holds for today only."""
    lasting = names_of_kind(decision).keys() - _WORDS["of a day"]
    return bool(_PATTERNS["chosen from"].search(decision) or (_PATTERNS["of today"].search(decision) and not lasting))


def _content(sentence: Sentence, start: int, end: int, language: Language, *, wish: bool = False) -> str | None:
    plain = sentence.plain[start:end]
    trailing = None if wish else language.patterns["trailing"].search(plain, max(0, len(plain) - LONGEST_TRAIL))
    end = start + trailing.start() if trailing else end
    content = " ".join(sentence.text[start:end].split()).strip(" ,，、:：;；-—*_")
    letters = sum(character.isalnum() for character in content)
    if letters < SHORTEST_CONTENT or set(sentence.plain[start:end]) <= {QUOTED, '"', "“", "”"}:
        return None
    return content[:LONGEST_CONTENT].rstrip()


def entities_of(content: str) -> tuple[str, ...]:
    """Return the names in a statement, at most eight."""
    names = (match[1] or match[0] for match in _ENTITY.finditer(content))
    return tuple(dict.fromkeys(name for name in names if name.lower() not in _WORDS["no entity"]))[:8]
