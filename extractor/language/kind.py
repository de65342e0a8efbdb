"""The kind of a text: whether it is Chinese, and whether it is only a greeting or small talk. Light to import."""

import re
from typing import Final

from extractor.tables import table
from gateway_memory.ground.tables import has_han, simplified

_PATTERNS: Final = table("talk").patterns()


# Whether a text is Chinese: every part of the package asks here.
#
# There are three questions with three thresholds. `has_han` asks whether Chinese patterns can match at all.
# `is_chinese` asks how to read a message, and is generous: somebody who writes Chinese mixes in English names of
# things. `is_mostly_chinese` asks in which language to write something around a text, and wants more of it.

LONGEST_READ: Final = 4_000  # characters; the gate reads no further, since a longer message surely holds something
_FEWEST_HAN: Final = 4
_HAN_OF_A_READER: Final = 10  # one Han character in so many characters, to read a message as Chinese
_HAN_OF_A_WRITER: Final = 4  # one in so many, to answer in Chinese
_HAN_TO_KANA: Final = 10  # Japanese has more kana than one to so many Han characters

_LETTERS_TO_HAN: Final = 3  # a Han character says about as much as so many Latin letters

_HAN = re.compile(r"[\u3400-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")


def is_chinese(text: str) -> bool:
    """Return whether to read a message as Chinese: a tenth of its characters are Han, or four, and it is no English."""
    text = text[:LONGEST_READ]
    han = len(_HAN.findall(text))
    enough = han >= _FEWEST_HAN or (han > 0 and han * _HAN_OF_A_READER >= len(text.strip()))
    return enough and not is_english_with_han(text)


def is_english_with_han(text: str) -> bool:
    """Return whether English holds a text with Han characters together, as in "I work at 字节跳动".

    It has English words that join others, and more than twice as many as Chinese ones: names have few of either.
    """
    if not has_han(text):
        return False
    chinese = len(_PATTERNS["joining chinese"].findall(simplified(text)))
    return len(_PATTERNS["joining english"].findall(text)) > 2 * chinese


def is_mostly_chinese(text: str) -> bool:
    """Return whether to write Chinese around a text: more than a quarter of its characters are Han, and no kana."""
    han = len(_HAN.findall(text))
    return han * _HAN_OF_A_WRITER > len(text) and han > _HAN_TO_KANA * len(_KANA.findall(text))


def length_in_letters(text: str) -> int:
    """Return the length of a text without outer white space, in characters. A Han character counts as three."""
    text = text.strip()
    return len(text) + (_LETTERS_TO_HAN - 1) * len(_HAN.findall(text))


_LONGEST: Final = 200  # characters


def is_greeting(text: str) -> bool:
    """Return whether a message only greets."""
    return len(text) <= _LONGEST and bool(_PATTERNS["greeting"].fullmatch(text))


def is_small_talk(text: str) -> bool:
    """Return whether a message only thanks, agrees or reacts."""
    return len(text) <= _LONGEST and bool(_PATTERNS["small talk"].fullmatch(text))
