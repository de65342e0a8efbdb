"""Finds what in a message is not its user's own: texts to be mended, quotations, parts to be played, suppositions.

The patterns recognise the request or the opening, not the text: whoever asks to proofread a text has not written it of
themselves, whatever it says.
"""

import re
from typing import Final

from extractor.language.sentences import without_quotations, without_single_quotations
from extractor.tables import table

from .language import LANGUAGES

_TABLE: Final = table("borrowed")
_PATTERNS: Final = _TABLE.patterns(flags=re.IGNORECASE | re.MULTILINE)

_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[。！？]|\n|[:：]")
_LAST_END = re.compile(r".*(?:[.!?](?=\s|$)|[。！？\n])", re.DOTALL)


def own_words(message: str) -> str:
    """Return the part of a message that its user tells of themselves; "" where nothing is. Linear, and it never raises.

    A request to work on a text takes the text with it: what follows the request or, if nothing does, what came before.
    """
    plain = without_single_quotations(without_quotations(message).replace("’", "'"))
    if _PATTERNS["played"].search(plain) or len(_PATTERNS["speaker"].findall(plain)) > 1:
        return ""
    end = len(message)
    if mended := _PATTERNS["mended"].search(plain):
        after = _SENTENCE_END.search(plain, mended.end())
        if not (after and plain[after.end() :].strip()):
            return ""
        end = _sentence_start(plain, mended.start())
    if match := _PATTERNS["supposed"].search(plain, 0, end):
        end = min(end, _sentence_start(plain, match.start()))
    introduces = any(mark in plain for mark in ":：\n")  # without one, the search would be in vain
    introduced = _PATTERNS["introduced"].search(plain, 0, end) if introduces else None
    if introduced and not any(language.patterns["remember"].match(introduced[0]) for language in LANGUAGES):
        end = introduced.end()
    return _PATTERNS["comment"].sub("", message[:end])


def _sentence_start(text: str, position: int) -> int:
    end = _LAST_END.match(text, 0, position)
    return end.end() if end else 0
