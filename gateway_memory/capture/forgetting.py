"""What "forget that …" or "忘掉…" names: one memory for certain, or several that it may mean."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from extractor import polarity
from gateway_memory.store.documents import is_writable
from recall import Near, Stored, text_overlap

__all__ = ["Named", "asked_to_forget", "named"]

_ENGLISH: Final = re.compile(
    r"\A\W*(?:(?:please|pls|ok|okay|hey|now|can you|could you|you (?:can|may|should)|just|and|also)[ ,]+)*"
    r"(?:forget|(?:remove|delete|erase|drop)(?= .*\b(?:memory|memories)\b)|stop remembering"
    r"|don't remember|do not remember|no longer remember)\s+"
    r"(?:(?:that|about|the (?:fact|memory) (?:that|about)|what i (?:said|told you) about|anything about"
    r"|everything about)\s+)*"
    r"(?P<what>(?!(?:it|this|that|about it|about that|me|everything|all of it|the (?:previous|above|last)"
    r"|what i said)\W*\Z)"
    r".{3,300}?)(?:\s+from (?:your |the )?memory)?(?:[ ,]+(?:please|thanks|thank you))?[\s.!]*\Z",
    re.IGNORECASE,
)
_CHINESE: Final = re.compile(
    r"\A[\s，,]*(?:请|麻烦|帮我?|你|可以|能不能|把|将|那就)*"
    r"(?:(?:忘掉|忘了|忘记|别记得?|不要记得?|不用记得?|删掉|删除)(?:关于|有关)?(?P<what>.{2,100}?)(?:的(?:事|事情|记忆|记录|这条|那条))?"
    r"|(?:把|将)?(?:关于|有关)?(?P<before>.{2,100}?)(?:的(?:事|事情|记忆|记录))?(?:这条|那条|这件事|的事情?)?"
    r"(?:忘掉|忘了吧|忘记吧|从记忆里?(?:删掉|删除|去掉)))"
    r"(?:吧|了|哦|啊|好吗|谢谢)*[\s。.!！~]*\Z"
)
_SIMPLIFIED: Final = str.maketrans("請煩幫將別記關於憶錄條這從裡裏刪後個們", "请烦帮将别记关于忆录条这从里里删后个们")
_MEMORY_WORD: Final = re.compile(
    r"记忆|记录|这条|那条|\A\W*(?:请|麻烦|你|把|将)*(?:忘|别记|不要记|不用记)|\A\W*(?:请|麻烦|帮我?|你|可以)*[把将].+忘掉"
)
_STATES: Final = re.compile(r"(?:i|we|my|our)\b|我", re.IGNORECASE)
_NOT_TOLD: Final = re.compile(r"[?？]|\b(?:to|how|what|why|when|if)\b.{0,3}\Z|吗\W*\Z", re.IGNORECASE)

CERTAIN: Final = 0.6
"""Word Jaccard from which a memory is the one that is meant …"""
STANDS_OUT: Final = 0.2
"""… if it is so much nearer than the next."""
POSSIBLE: Final = 0.2
NEAR_IN_MEANING: Final = 0.59
"""Cosine from which a memory in other words, or in the other language, is shown; never one to be forgotten by it."""
_SHOWN: Final = 5
_LONGEST: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What a request names: the one memory that is certain, or the ones that it may be, the likeliest first."""

    certain: Stored | None = None
    possible: tuple[Stored, ...] = ()


def asked_to_forget(message: str) -> str | None:
    """Return what a message asks to be forgotten, None where it asks for no such thing. One line, no question."""
    line = message.strip()
    if "\n" in line or len(line) > _LONGEST or _NOT_TOLD.search(line):
        return None
    if english := _ENGLISH.match(line):
        return english["what"].strip()
    simple = line.translate(_SIMPLIFIED)  # one character for one, so that a place in it is a place in the line
    if (chinese := _CHINESE.match(simple)) and _MEMORY_WORD.search(simple):
        start, end = chinese.span("what" if chinese["what"] else "before")
        return line[start:end].strip()
    return None


def named(what: str, near: Sequence[Near]) -> Named:
    """Return which memories a request names, given those nearest to it."""
    items = [item for item in near if item.stored.entry.kind == "item" and is_writable(item.stored.file)]
    scored = sorted(((_share(what, item), item.stored) for item in items), key=lambda pair: -pair[0])
    possible = tuple(stored for share, stored in scored if share >= POSSIBLE)
    alike = sorted(
        (item for item in items if (item.cosine or 0.0) >= NEAR_IN_MEANING), key=lambda item: -(item.cosine or 0.0)
    )
    possible = (*possible, *(item.stored for item in alike if item.stored not in possible))[:_SHOWN]
    meant = [pair for pair in scored if not _denies(what, pair[1].entry.text)]
    if meant and meant[0][0] >= CERTAIN and (len(meant) == 1 or meant[0][0] - meant[1][0] >= STANDS_OUT):
        return Named(certain=meant[0][1], possible=possible)
    return Named(possible=possible)


def _denies(what: str, text: str) -> bool:
    """Whether a memory says the contrary of what is named: "I like tea" is not "I don't like tea"."""
    sides = {polarity(what), polarity(text)} if _STATES.match(what) else set()
    return sides == {True, False}


def _share(what: str, item: Near) -> float:
    """How much of the request the memory says: Jaccard, or nearly one where all of it stands there in these words."""
    asked, text = ("".join(c for c in part.casefold() if c.isalnum()) for part in (what, item.stored.entry.text))
    within = 0.9 if len(asked) > 1 and asked in text else 0.0
    return max(within, text_overlap(what, item.stored.entry.text))
