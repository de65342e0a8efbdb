"""Finds what in a message is not its user's own: texts to be mended, quotations, parts to be played, suppositions.

The patterns recognise the request or the opening, not the text: whoever asks to proofread a text has not written it of
themselves, whatever it says.
"""

import re
from bisect import bisect_right
from typing import Final

from extractor.language.kind import is_small_talk
from extractor.language.sentences import without_quotations, without_single_quotations
from extractor.tables import table

from .language import LANGUAGES

_TABLE: Final = table("borrowed")
_PATTERNS: Final = _TABLE.patterns(flags=re.IGNORECASE | re.MULTILINE)
_LETTERS: Final = _TABLE.patterns("letters", re.IGNORECASE | re.MULTILINE)

_LONGEST_VERSE: Final = 60  # characters of a line
_FEWEST_VERSES: Final = 4
_FEWEST_COMMAS: Final = 0.5  # of the lines of verse that end in a comma
_MOST_STATED: Final = 0.75  # of the lines of verse; more of them are a list of facts, one a line

_LENGTHS_OF_LETTERS = (12, 5000)  # characters from the opening to the ending

_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？]|\n|[:：]")
_LAST_END = re.compile(r".*(?:[.!?](?=\s|$)|[。！？\n])", re.DOTALL)


def own_words(message: str) -> str:
    """Return the part of a message that its user tells of themselves; "" where nothing is. Linear, and it never raises.

    A request to work on a text takes the text with it: what follows the request or, if nothing does, what came before.
    """
    plain = without_single_quotations(without_quotations(message).replace("’", "'"))
    if _PATTERNS["played"].search(plain) or _is_letter(plain) or len(_PATTERNS["speaker"].findall(plain)) > 1:
        return ""
    end = len(message)
    mends = _PATTERNS["mended"].finditer(plain)
    # "when I paste a letter, fix the spelling" holds whenever a text comes
    once = (match for match in mends if not _PATTERNS["whenever"].match(plain, _sentence_start(plain, match.start())))
    if mended := next(once, None):
        after = _SENTENCE_END.search(plain, mended.end())
        rest = plain[after.end() :] if after else ""
        if not rest.strip() or _PATTERNS["points before"].search(
            plain, mended.start(), after.start() if after else end
        ):
            return ""
        end = _sentence_start(plain, mended.start())
    if match := _PATTERNS["supposed"].search(plain, 0, end):
        end = min(end, _sentence_start(plain, match.start()))
    introduces = any(mark in plain for mark in ":：\n")  # without one, the search would be in vain
    if introduces and (introduced := _PATTERNS["introduced"].search(plain, 0, end)):
        remember = any(language.patterns["remember"].match(introduced[0]) for language in LANGUAGES)
        if not (remember or _PATTERNS["wish"].match(introduced[0])):  # "My rules for commit messages: …"
            end = min(end, introduced.end())
    return _PATTERNS["comment"].sub("", message[:end])


def is_verse(message: str, statements: int) -> bool:
    """Return whether a message is verse and not a list of facts. statements: how many it has.

    Verse has short lines without full stops, half of them with a comma at the end; or none that asks, orders or greets.
    """
    lines = [line.strip() for line in message.split("\n") if line.strip()]
    if len(lines) < _FEWEST_VERSES or any(len(line) > _LONGEST_VERSE for line in lines):
        return False
    if sum(line[-1] in ",，;；" for line in lines) >= _FEWEST_COMMAS * len(lines):
        return True
    return statements < _MOST_STATED * len(lines) and not any(_is_chat(line) for line in lines)


def _is_letter(text: str) -> bool:
    shortest, longest = _LENGTHS_OF_LETTERS
    for language in ("en", "zh"):
        opened = [match.end() for match in _LETTERS[f"opening {language}"].finditer(text)]
        for match in _LETTERS[f"ending {language}"].finditer(text) if opened else ():
            before = bisect_right(opened, match.start() - shortest)
            if before and match.start() - opened[before - 1] <= longest:
                return True
    return False


def _is_chat(line: str) -> bool:
    asks = (language.patterns[name] for language in LANGUAGES for name in ("order", "remember", "question"))
    ends = line[-1] in ".?!。？！:："
    return ends or not line[0].isalpha() or is_small_talk(line) or any(pattern.match(line) for pattern in asks)


def _sentence_start(text: str, position: int) -> int:
    end = _LAST_END.match(text, 0, position)
    return end.end() if end else 0
