"""The categories of memories, and what each of them means for the rest of the memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A kind of memory. A new one is a row of the table below; rules may make it, and models are asked for it.

    meaning: how the model's prompt explains it, "" where its name says it.
    standing: it tells how the assistant shall behave or what its user wants, until it is changed.
    directive: it instructs the assistant, which only the owner may do.
    recalled: it may be added to a prompt. announced: other sessions hear of it. distilled: it may move to MEMORY.md.
    """

    name: str
    meaning: str = ""
    standing: bool = False
    directive: bool = False
    recalled: bool = True
    announced: bool = True
    distilled: bool = True


_TABLE: Final = (
    Category(name="preference", standing=True),
    Category(name="decision"),
    Category(name="fact"),
    Category(
        name="instruction",
        meaning="a standing wish about how the assistant should answer",
        standing=True,
        directive=True,
    ),
)
CATEGORIES: Final[Mapping[str, Category]] = MappingProxyType({category.name: category for category in _TABLE})
_UNKNOWN: Final = Category(name="")


def traits_of(category: str) -> Category:
    """Return what a category means; one that is unknown, as of a person's own line, has no special meaning."""
    return CATEGORIES.get(category, _UNKNOWN)
