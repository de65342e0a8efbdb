"""English and Chinese as the rules read them: what is plainly said, and what stands around it."""

import re
from functools import cached_property
from typing import Final, NamedTuple, cast

from extractor.language.kind import is_english_with_han
from extractor.tables import table
from extractor.types import Importance, MemoryType
from gateway_memory.ground.tables import has_han


class Reading(NamedTuple):
    """As what something plainly said is kept. confidence: 0..1."""

    category: str
    type: MemoryType
    importance: Importance
    confidence: float


class Language:
    """A language and its table. patterns: what stands around statements."""

    def __init__(self, name: str) -> None:
        self._table = table(name)
        self.patterns = self._table.patterns()

    @cached_property
    def shapes(self) -> list[tuple[Reading, re.Pattern[str]]]:
        """What is plainly said, and as what it is kept."""
        shapes = []
        for head, pattern in self._table.compiled("shapes"):
            category, kind, importance, confidence = head.split()
            reading = Reading(category, cast("MemoryType", kind), cast("Importance", importance), float(confidence))
            shapes.append((reading, pattern))
        return shapes

    def after(self, name: str, text: str, start: int) -> int:
        """Return where a pattern that may stand at a place ends."""
        match = self.patterns[name].match(text, start)
        return match.end() if match else start

    def asks(self, plain: str) -> bool:
        """Return whether a clause asks."""
        return bool(self.patterns["question"].search(plain))

    def read(self, plain: str, start: int, end: int) -> Reading | None:
        """Return as what a text is kept that plainly says something, from its first word on; None for any other."""
        if self.patterns["one-off"].search(plain, start, end):
            return None
        return next((reading for reading, shape in self.shapes if shape.match(plain, start, end)), None)

    def instructs(self, plain: str) -> bool:
        """Return whether a clause is an instruction, however long it shall hold."""
        return bool(self.patterns["instructs"].match(plain, self.after("filler", plain, 0)))


LANGUAGES: Final = (Language("rules_en"), Language("rules_zh"))
_ENGLISH, _CHINESE = LANGUAGES


def language_of(text: str) -> Language:
    """Return the language by which a sentence is read: Chinese if it has a Han character that English doesn't hold."""
    return _CHINESE if has_han(text) and not is_english_with_han(text) else _ENGLISH
