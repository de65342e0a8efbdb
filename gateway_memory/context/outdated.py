"""The mark on memories that may no longer hold, since something newer was said that may say otherwise."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TypeVar

from gateway_memory.context.opening_text import OpeningMemory
from gateway_memory.edge.phrases import language_of, say
from gateway_memory.store.markdown import Block
from recall import Hit

__all__ = ["may_be_outdated", "with_marks"]

_Line = TypeVar("_Line", Hit, Block, OpeningMemory)


def may_be_outdated(text: str) -> str:
    """Return a memory's text with the mark, in the language of the memory."""
    return say(language_of(text), "may_be_outdated", text=text)


def with_marks(lines: Iterable[_Line], outdated: Collection[str]) -> list[_Line]:
    """Return lines, those among `outdated` (ids of memories) with the mark."""
    return [replace(line, text=may_be_outdated(line.text)) if line.id in outdated else line for line in lines]
