"""Splits what was said into passages that are searched and quoted: at sentences, without code."""

import re

_LONGEST_TEXT = 20_000
_LONGEST_PASSAGE = 480
"""In letters; a wide character counts for `_WIDE_LETTERS`."""
_WIDE_LETTERS = 2
_PASSAGES = 24
_FENCED = re.compile(r"(?:^|\n)[ \t]*(```|~~~).*?(?:\n[ \t]*\1[^\n]*|\Z)", re.DOTALL)
SENTENCE = re.compile(r"(?<=[。！？!?…])\s*|(?<=[.;；])\s+|\n+")
_CODE_MARK = re.compile(r"[{}()\[\]<>;=\\|$#/_*+&]")
_CODE_SHARE = 0.1
_FEWEST_LETTERS = 40


def passages_of(text: str) -> list[str]:
    """Return a text's passages in order, each of one or more whole sentences; at most `_PASSAGES`.

    Fenced code and passages that look like code or tool output are left out.
    """
    prose = _FENCED.sub("\n", text[:_LONGEST_TEXT])
    passages: list[str] = []
    passage = ""
    for sentence in SENTENCE.split(prose):
        for part in _pieces(sentence.strip()):
            if passage and _letters(passage) + _letters(part) > _LONGEST_PASSAGE:
                passages.append(passage)
                passage = ""
            passage = f"{passage} {part}" if passage and part[0] < "\u2e80" else passage + part
    if passage:
        passages.append(passage)
    return [each for each in passages if not _is_code(each)][:_PASSAGES]


def _pieces(sentence: str) -> list[str]:
    """Return a sentence, cut if it is longer than a passage."""
    size = _LONGEST_PASSAGE if _letters(sentence) <= len(sentence) * 1.2 else _LONGEST_PASSAGE // _WIDE_LETTERS
    return [piece for at in range(0, len(sentence), size) if (piece := sentence[at : at + size].strip())]


def _letters(text: str) -> int:
    return len(text) + (_WIDE_LETTERS - 1) * sum(letter >= "\u2e80" for letter in text)


def _is_code(passage: str) -> bool:
    marks = len(_CODE_MARK.findall(passage))
    return len(passage) >= _FEWEST_LETTERS and marks > _CODE_SHARE * len(passage)
