"""English and Chinese as the rules read them: each language's shapes and patterns, and what weighs its clauses."""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Final, TypeAlias, cast

from extractor.language.kind import is_english_with_han
from extractor.tables import table
from extractor.types import Importance, MemoryType, traits_of
from gateway_memory.ground.tables import has_han

from . import statements_en, statements_zh, wishes_en
from .reading import KEPT, Reading

_Weigh: TypeAlias = Callable[..., Reading | None]


class Language:
    """A language: its table, and the readers of its clauses. patterns: what stands around statements."""

    def __init__(self, name: str, weigh_statement: _Weigh, weigh_wish: _Weigh) -> None:
        self._table = table(name)
        self._weigh_statement = weigh_statement
        self._weigh_wish = weigh_wish
        self.patterns = self._table.patterns()

    @cached_property
    def _shapes(self) -> list[tuple[Reading, re.Pattern[str]]]:
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

    def statement(self, plain: str, start: int, end: int, *, least: float = KEPT) -> Reading | None:
        """Read a clause as a statement, by the shapes and then by the tables. least: the sum that keeps it."""
        reading = next((of_shape for of_shape, shape in self._shapes if shape.match(plain, start, end)), None)
        reading = reading or self._weigh_statement(plain, start, end, least=least)
        if reading is None or self.patterns["one-off"].search(plain):
            return None
        return None if self.patterns["blocked"].search(plain) and not traits_of(reading.category).directive else reading

    def wish(
        self,
        plain: str,
        start: int,
        end: int,
        *,
        condition: tuple[int, int] | None = None,
        reasoned: float = 0.0,
        leads: bool = True,
    ) -> Reading | None:
        """Read a clause as a standing wish; None for an order for once.

        condition: the bounds of "when you plan a trip" before it. reasoned: what is added for a reason that stands
        beside it. leads: the clause begins its sentence.
        """
        reading = self._weigh_wish(plain, start, end, condition=condition, reasoned=reasoned, leads=leads)
        return None if reading is None or self.patterns["one-off"].search(plain) else reading

    def instructs(self, plain: str, start: int, end: int) -> bool:
        """Return whether a clause is an instruction, however long it shall hold."""
        shapes = (shape for reading, shape in self._shapes if traits_of(reading.category).directive)
        return any(shape.match(plain, start, end) for shape in shapes) or bool(
            self._weigh_wish(plain, start, end, condition=None, reasoned=0.0, leads=True)
        )


_ENGLISH: Final = Language("rules_en", statements_en.read_statement, wishes_en.read_wish)
_CHINESE: Final = Language("rules_zh", statements_zh.read_statement, statements_zh.read_wish)
LANGUAGES: Final = (_ENGLISH, _CHINESE)


def language_of(text: str) -> Language:
    """Return the language by which a sentence is read: Chinese if it has a Han character that English doesn't hold."""
    return _CHINESE if has_han(text) and not is_english_with_han(text) else _ENGLISH
