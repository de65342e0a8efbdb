"""Finds prompt injections: text that commands the memory or its model.

Such text is a quotation or an attack, and never a memory. The patterns know the usual forms in English and Chinese.
They are one defence of several: a model's answer is also checked against the user's own words.

A text is searched as it is and decoded: without escapes, hidden or unusual letters, emphasis and line breaks within a
sentence, and in simplified characters.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final

from extractor.tables import table

from .layers import views

_TABLE: Final = table("injections")
_SIMPLIFIED, _LOOK_ALIKES = (str.maketrans(*letters) for _, letters in _TABLE.rows("letters"))
_FOLDED: Final = re.compile(r"[^\x00-\x7f\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\ufe30-\uff0f\uff1a-\uff20]+")
"""Letters outside ASCII and Chinese. What marks or styles them is dropped."""
_SPELT: Final = re.compile(r"(?<!\w)\w(?:[ .·-]\w)+(?!\w)")
_SPELT_HAN: Final = re.compile(r"(?<=[\u4e00-\u9fff])[^\S\n]+(?=[\u4e00-\u9fff])")
_MARKS: Final = re.compile(r"</?[a-zA-Z][^<>\n]{0,60}>|[*_`~]+")
_BROKEN: Final = re.compile(r"(?<=[\w,，])\s*\n\s*(?=\w)")
_BLANKS: Final = re.compile(r"[^\S\n]+")


def commands_the_machine(text: str) -> bool:
    """Return whether a text addresses the memory's machinery, in English or Chinese, in any encoding."""
    patterns = _TABLE.compiled("patterns", re.IGNORECASE | re.MULTILINE)
    return any(pattern.search(reading) for reading in readings(text) for _, pattern in patterns)


def readings(text: str) -> Iterator[str]:
    """Yield each text that somebody may read in it: decoded, without marks, and in plain letters."""
    for view in views(text):
        yield view.text
        plain = _FOLDED.sub(_folded, view.text).translate(_LOOK_ALIKES)
        plain = _SPELT.sub(lambda spelt: re.sub(r"[ .·-]", "", spelt[0]), plain)
        plain = _BLANKS.sub(" ", _BROKEN.sub(" ", _MARKS.sub(" ", plain.translate(_SIMPLIFIED))))
        plain = _SPELT_HAN.sub("", plain)
        if plain != view.text:
            yield plain


def _folded(match: re.Match[str]) -> str:
    plain = unicodedata.normalize("NFKD", match[0])
    return "".join(character for character in plain if not unicodedata.combining(character))


_SENTENCE = re.compile(r"(?<=[.!?])(?=\s)|(?<=[。！？\n])")


def without_commands(text: str) -> str:
    """Return the text without sentences that address the machine; "" where the rest as a whole still does."""
    return without(text, commands_the_machine)


def without(text: str, unfit: Callable[[str], bool]) -> str:
    """Return the text without sentences that are unfit; "" where the rest as a whole still is."""
    if not unfit(text):
        return text
    rest = "".join(part for part in _SENTENCE.split(text) if not unfit(part)).strip()
    return "" if unfit(rest) else rest
