"""What speaks for a name in a sentence: the weights and words that both languages share, and quoted names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from extractor import PERSONS
from gateway_memory.ground.tables import has_han, tables_in

NameKind: TypeAlias = Literal["person", "pet", "place", "project", "topic"]

_TABLE: Final = tables_in(__file__)("naming")
_WEIGHTS: Final = _TABLE.numbers("weights")
WORDS: Final = _TABLE.sets("words")
PATTERNS: Final = _TABLE.patterns()
KEPT: Final = 3.0
"""The sum from which on a name is one."""
LONGEST: Final = 60
"""Characters of a name."""
PETS: Final = WORDS["pets"]
KIN: Final = WORDS["kin"] | {word for word in PERSONS if word.isascii()} - PETS
_BESIDE_QUOTATION: Final = 12


@dataclass(slots=True)
class Found:
    """A name in one sentence. score: the sum of what speaks for it. kinds: of what speaks for each kind.

    relation: what it is to the user, as the sentence says it ("sister", 妹妹), or "".
    """

    name: str
    score: float = 0.0
    kinds: dict[NameKind, float] = field(default_factory=dict)
    relation: str = ""

    def add(self, weight: str, kind: NameKind | None = None, share: float = 1.0) -> None:
        """Add what a weight of the table says, and for which kind it speaks."""
        self.score += share * _WEIGHTS[weight]
        if kind:
            self.kinds[kind] = self.kinds.get(kind, 0.0) + share * _WEIGHTS[weight]


def quoted(text: str) -> Iterator[Found]:
    """Yield what stands in quotation marks, where a noun before it says that it is a name."""
    for match in PATTERNS["quoted"].finditer(text):
        found = Found(match["name"].strip())
        before = text[max(0, match.start() - _BESIDE_QUOTATION) : match.start()]
        nouns = WORDS["projects Chinese"] if has_han(text) else WORDS["projects"]
        pets = WORDS["pets Chinese"] if has_han(text) else PETS
        behind = text[match.end() : match.end() + _BESIDE_QUOTATION].lstrip()
        words = {*re.findall(r"[a-z-]+", before.lower()), *re.findall(r"\A[a-z-]+", behind.lower())}
        if has_han(text):
            named = found.name not in nouns and (
                any(noun in before for noun in nouns) or behind.startswith(tuple(nouns))
            )
        else:
            named = bool(words & nouns)
        if match[0][0] == "《":
            found.add("work", "topic")
        elif named:
            found.add("work", "topic" if found.name.endswith(tuple(WORDS["ends of companies"])) else "project")
        elif any(noun in before for noun in pets) if has_han(text) else bool(words & pets):
            found.add("work", "pet")
        if found.name:
            yield found
