"""Texts whose characters know where they stood, and cuts of them."""

import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

_AROUND = 600
"""Characters of context; a secret and its name are closer to each other."""


class Cut(NamedTuple):
    """A span of a source, and its replacement."""

    start: int
    end: int
    instead: str


class Traced:
    """A source, or a text decoded from it. cuts: the cuts so far, by positions in the source."""

    def __init__(self, text: str, places: tuple["array[int]", "array[int]"] | None = None) -> None:
        self.text = text
        self.cuts: list[Cut] = []
        self._places = places

    @property
    def places(self) -> tuple["array[int]", "array[int]"]:
        """The start and end of each character's source; computed on first use."""
        if self._places is None:
            length = len(self.text)
            self._places = array("q", range(length)), array("q", range(1, length + 1))
        return self._places

    def copy(self) -> "Traced":
        """Return an independent copy, with the same cuts."""
        copied = Traced(self.text, self._places)
        copied.cuts = list(self.cuts)
        return copied

    def unseen(self, known: set[tuple[str, str]]) -> list["Traced"]:
        """Return the parts whose pairs of lines were not seen before, with their context, and note them as seen."""
        parts: list[list[int]] = []
        fresh: set[tuple[str, str]] = set()
        position, before = 0, ""
        for line in self.text.split("\n"):
            end = position + len(line)
            if (before, line) not in known:
                fresh.add((before, line))
                begin = self.text.rfind("\n", 0, max(0, position - _AROUND)) + 1
                if parts and begin <= parts[-1][1]:
                    parts[-1][1] = end + _AROUND
                else:
                    parts.append([begin, end + _AROUND])
            position, before = end + 1, line if line.strip() else before
        known |= fresh
        starts, ends = self.places
        return [Traced(self.text[begin:end], (starts[begin:end], ends[begin:end])) for begin, end in parts]

    def cut(self, spans: Sequence[tuple[int, int, str]]) -> None:
        """Replace spans of the current text. They are ascending, not empty, and do not overlap."""
        if not spans:
            return
        starts, ends = self.places
        self.cuts += [Cut(starts[start], ends[end - 1], instead) for start, end, instead in spans]
        self.text, self._places = self._replaced(spans)

    def decoded(self, pattern: re.Pattern[str], decode: Callable[[re.Match[str]], str | None]) -> "Traced | None":
        """Return the text with each match decoded; None where nothing changes."""
        spans = [
            (match.start(), match.end(), text)
            for match in pattern.finditer(self.text)
            if (text := decode(match)) is not None
        ]
        return Traced(*self._replaced(spans)) if spans else None

    def _replaced(self, spans: Sequence[tuple[int, int, str]]) -> tuple[str, tuple["array[int]", "array[int]"]]:
        """Return the text with spans replaced. A replacement maps to the whole source of its span."""
        starts, ends = self.places
        texts: list[str] = []
        begins, stops = array("q"), array("q")
        position = 0
        for start, end, instead in spans:
            texts += (self.text[position:start], instead)
            begins += starts[position:start]
            stops += ends[position:start]
            begins += array("q", [starts[start]]) * len(instead)
            stops += array("q", [ends[end - 1]]) * len(instead)
            position = end
        texts.append(self.text[position:])
        return "".join(texts), (begins + starts[position:], stops + ends[position:])


def carried_out(text: str, cuts: Iterable[Cut], *, strongest: str) -> tuple[str, list[Cut]]:
    """Return a source with its cuts applied, and the cuts. Overlapping ones are joined.

    The replacement of joined cuts is the first one's, or `strongest` if it is among them.
    """
    merged: list[Cut] = []
    # Stable: of two cuts that begin together, the earlier one comes first.
    for cut in sorted(cuts, key=lambda cut: cut.start):
        last = merged[-1] if merged else None
        if last is None or cut.start >= last.end:
            merged.append(cut)
            continue
        instead = strongest if strongest in (cut.instead, last.instead) else last.instead
        merged[-1] = Cut(last.start, max(last.end, cut.end), instead)
    texts: list[str] = []
    position = 0
    for cut in merged:
        texts += (text[position : cut.start], cut.instead)
        position = cut.end
    return "".join((*texts, text[position:])), merged
