"""Extracts what the user explicitly asks to remember, prefers, decided or is. No model; nothing in doubt."""

import re
from collections.abc import Iterator
from types import ModuleType

from extractor.categories import traits_of
from extractor.language.kind import has_han
from extractor.language.sentences import LONGEST_READ, QUOTED, Sentence, sentences
from extractor.language.vocabulary import names_of_kind, words_of
from extractor.types import Candidate, Turn

from . import patterns_en, patterns_zh
from .borrowed import own_words, told_in_verse
from .stated import Kept, after, asks, clauses_of, reading_at, stated

__all__ = ["MASK", "entities_of", "extract_rules", "gives_instructions"]

MOST_CANDIDATES = 12  # of one message; more of them come from a pasted document
LONGEST_CONTENT = 400  # characters
MOST_SENTENCES_ALONE = 2  # a message of more says much else, so that an order in it is most likely about that
LONGEST_ALONE = 200  # characters, likewise
LONGEST_SAID = 2_500  # characters; a longer message was mostly pasted, and only explicit requests count
MOST_LINES_SAID = 20  # likewise
SHORTEST_CONTENT = 3
LONGEST_TRAIL = 40  # characters of "please, thanks" or 吧、谢谢 that are cut from the end

MASK = "[masked: "
_TO_ASSISTANT = re.compile(r"(?:you|your|you're)\b|[你您]", re.IGNORECASE)
_OF_SELF = re.compile(r"(?:i|my|i'm|we|our)\b|[我咱]", re.IGNORECASE)
# "Try again. Remember that …" is about the current task.
_REDO = re.compile(
    r"\b(?:try again|redo|regenerate|start over|another (?:try|attempt))\b|再试一次|重新(?:写|来|生成)|重写",
    re.IGNORECASE,
)
# "Remember this profile for later:" does not contain the profile.
_NAMED_ONLY = re.compile(r"(?:[\w'-]+ ){1,5}for (?:later|now|reference|future use)$", re.IGNORECASE)
# "Don't forget the milk" is for the speaker's own day; "that the milkman sings" is a statement.
_THING_ONLY = re.compile(r"(?<!that )the [\w'-]+(?: [\w'-]+)?\W*$", re.IGNORECASE)
# "Let's go with option 1" means nothing without the options.
_CHOSEN_FROM = re.compile(
    r"\b(?:option|choice|(?<=with )number) ?#?(?:\d{1,2}|[a-e]|one|two|three|four|five)\b(?! ?[:(—-]+ ?\w.{5})"
    r"|\bthat's the one\b"
    r"|\bthe (?:first|second|third|fourth|last|former|latter) (?:one|option|choice|idea|suggestion)\b"
    r"|(?:方案|选项)[一二三四五\dA-Ea-e](?! ?[：:（(]+ ?\w.{3})|第[一二三四五\d]+(?:个|种|套)(?:方案|选项|建议|$)",
    re.IGNORECASE,
)
# "I prefer the shorter one" likewise.
_OF_TWO = re.compile(
    r"\bthe (?:\w+ )?(?:one|ones|version|option)$|的?[那这](?:个|种|版|条|款|首|张|些)$", re.IGNORECASE
)
# "We decided to skip lunch today" is over tomorrow; "today we decided …" and what names a thing in use are not.
_OF_TODAY = re.compile(
    r"(?<!^)(?<!decided )(?<!chose )(?<!agreed )\b(?:today|tonight|this (?:morning|afternoon|evening|run|session))\b"
    r"|(?:决定|定了|说好|约定|商定|就)[^，。]{0,8}(?:今[天晚早日]|这次|这一次|这一轮)",
    re.IGNORECASE,
)
_OF_A_DAY = {"drink", "taste", "meal", "animal", "sport", "day", "day part", "kin", "length", "spoken"}
_ENTITY = re.compile(
    r"(?<![\w])(?:[A-Z][\w.+#-]*[\w+#](?: [A-Z][\w.+#-]*[\w+#])*|[a-z]+[A-Z\d][\w.+#-]*)"
    r"|(?<=[\u3400-\u9fff])[A-Za-z][\w.+#-]*[\w+#]?|[“《「]([^”》」]{1,30})[”》」]"
)
_NO_ENTITY = words_of(
    """
    let let's i i'm i've i'd i'll my our we the a an please always never from call you your don't do keep use it's
    so and but also if when for to in on at as ok
    """
)


def extract_rules(turn: Turn) -> list[Candidate]:
    """Return the candidates of one turn, in order. It reads only the user's message, and never raises.

    Each content is one line of that message. A candidate is `explicit` if the user asked to remember it.
    """
    found: dict[str, Candidate] = {}
    own = own_words(turn.user[:LONGEST_READ])
    only_explicit = len(turn.user) > LONGEST_SAID or turn.user.count("\n") >= MOST_LINES_SAID
    for candidate in _of_message(own, only_explicit=only_explicit):
        known = found.get(candidate.content)
        if known is None or (candidate.explicit and not known.explicit):
            found[candidate.content] = candidate
        if len(found) >= MOST_CANDIDATES:
            break
    verse = told_in_verse(own, len(found))
    return [candidate for candidate in found.values() if candidate.explicit or not verse]


def gives_instructions(text: str) -> bool:
    """Return whether a text has an instruction in it, whoever's it is and however long it shall hold."""
    return any(
        _instructs(sentence.plain, after(language.FILLER, sentence.plain, start), end, language)
        for sentence in sentences(text)
        for language in (_language(sentence.plain),)
        for start, end in clauses_of(sentence, language)
    )


def _instructs(plain: str, start: int, end: int, language: ModuleType) -> bool:
    directives = (shape for shape in language.SHAPES if traits_of(shape.category).directive)
    return any(shape.pattern.match(plain, start, end) for shape in directives) or bool(
        language.read_wish(plain, start, end, condition=None, reasoned=0.0, leads=True)
    )


def _of_message(message: str, *, only_explicit: bool) -> Iterator[Candidate]:
    redo = bool(_REDO.search(message, 0, LONGEST_SAID))
    before: Sentence | None = None
    listed = False  # the sentence before ended a lead-in such as "remember these:"
    said = sentences(message)
    for sentence in said:
        language = _language(sentence.plain)
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
            if _NAMED_ONLY.match(sentence.plain, lead):
                listed, before = True, sentence
                continue
            if not redo or _OF_SELF.match(sentence.plain, lead):
                yield from _remembered(sentence, lead)
            listed = False
        elif listed and (sentence.item or before is None) and not sentence.question:
            yield from _remembered(sentence, 0)
        else:
            listed = False
            if not only_explicit:
                crowded = len(said) > MOST_SENTENCES_ALONE or len(message) > LONGEST_ALONE
                kept = (_candidate(sentence, each, language) for each in stated(sentence, language, crowded=crowded))
                yield from filter(None, kept)
        before = sentence


def _language(text: str) -> ModuleType:
    return patterns_zh if has_han(text) else patterns_en


def _lead_in(sentence: Sentence, language: ModuleType) -> int | None:
    """Return where the text to remember begins; None without a lead-in such as "remember that"."""
    for clause in sentence.clauses[:3]:
        for start in {clause.start: None, after(language.FILLER, sentence.plain, clause.start): None}:
            for lead in (language.POINTS_BACK, language.REMEMBER):
                match: re.Match[str] | None = lead.match(sentence.plain, start)
                if match:
                    return match.end()
        if asks(clause.plain, language):
            return None
    return None


def _pointing_back(sentence: Sentence, language: ModuleType) -> int | None:
    """Return where "keep that in mind" starts: at 0, or behind a statement in the same sentence; None without it."""
    starts = (clause.start for clause in sentence.clauses)
    return next((start for start in starts if language.POINTS_BACK.match(sentence.plain, start)), None)


def _remembered(sentence: Sentence, start: int, end: int | None = None) -> Iterator[Candidate]:
    """Return the rest of the sentence as a candidate, with the category of its first statement if it has one."""
    language = _language(sentence.plain)
    end = len(sentence.text) if end is None else end
    content = _content(sentence, start, end, language)
    attributed = language.ATTRIBUTED.match(sentence.clauses[-1].plain)  # "…, is what my teacher says"
    if (
        content is None
        or attributed
        or _THING_ONLY.match(sentence.plain, start)
        or language.ONE_OFF.search(sentence.plain, start)
    ):
        return
    shape = reading_at(sentence.plain, after(language.FILLER, sentence.plain, start), end, language)
    if shape is None and _TO_ASSISTANT.match(sentence.plain, start):  # "remember, you are a pirate"
        return
    about_self = _OF_SELF.match(sentence.plain, start)
    yield Candidate(
        content=content,
        category=shape.category if shape else "fact",
        type=shape.type if shape else ("B" if about_self else "W"),
        importance="high",
        confidence=0.95,
        entities=entities_of(content),
        explicit=True,
    )


def _candidate(sentence: Sentence, kept: Kept, language: ModuleType) -> Candidate | None:
    reading = kept.reading
    wish = traits_of(reading.category).directive  # "please" belongs to it
    content = _content(sentence, kept.start, kept.end, language, wish=wish)
    if content is None or MASK in content or (reading.category == "decision" and _says_little(content)):
        return None
    if reading.category == "preference" and _OF_TWO.search(content):
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
    lasting = names_of_kind(decision).keys() - _OF_A_DAY
    return bool(_CHOSEN_FROM.search(decision) or (_OF_TODAY.search(decision) and not lasting))


def _content(sentence: Sentence, start: int, end: int, language: ModuleType, *, wish: bool = False) -> str | None:
    plain = sentence.plain[start:end]
    trailing = None if wish else language.TRAILING.search(plain, max(0, len(plain) - LONGEST_TRAIL))
    end = start + trailing.start() if trailing else end
    content = " ".join(sentence.text[start:end].split()).strip(" ,，、:：;；-—*_")
    letters = sum(character.isalnum() for character in content)
    if letters < SHORTEST_CONTENT or set(sentence.plain[start:end]) <= {QUOTED, '"', "“", "”"}:
        return None
    return content[:LONGEST_CONTENT].rstrip()


def entities_of(content: str) -> tuple[str, ...]:
    """Return the names in a statement, at most eight."""
    names = (match[1] or match[0] for match in _ENTITY.finditer(content))
    return tuple(dict.fromkeys(name for name in names if name.lower() not in _NO_ENTITY))[:8]
