"""A file without the marks at the ends of its lines, for a person to edit, and with them again when it is saved."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final

from gateway_memory.store.annotations import split_annotations
from gateway_memory.store.markdown import COMMENT, scan

_IN_PLACE: Final = 0.4
_ALIKE: Final = 0.6
"""How alike (0 to 1) two lines are of which one is the other, changed: in its place, and elsewhere."""
_MOST_COMPARED: Final = 20_000
"""Pairs of lines that are compared for being alike, and not in one place."""


def without_marks(text: str) -> str:
    """Return a file without the marks that hold its memories' ids. Annotations and all else stay as they are."""
    lines = text.split("\n")
    for number, (bare, _) in _find_marked(lines).items():
        lines[number] = bare + "\r" * lines[number].endswith("\r")
    return "\n".join(lines)


def with_marks(text: str, was: str) -> str:
    """Return a text that somebody edited without the marks, with those of the file from which they began.

    A line that stayed, moved or changed a little keeps its mark, and so its memory; one that is gone takes it along. A
    text that is as it was gives the file as it was, byte for byte.

    was: the file, with its marks.
    """
    before, lines = was.split("\n"), text.split("\n")
    marks = _find_marked(before)
    old = [marks[number][0] if number in marks else line.rstrip("\r") for number, line in enumerate(before)]
    pairs = _Pairs(
        old, set(marks), [line.rstrip("\r") for line in lines], set(_item_lines(lines)) - set(_find_marked(lines))
    )
    for number, place in pairs.found().items():
        bare = lines[number].rstrip("\r")
        marked = before[place].rstrip("\r") if bare == old[place] else f"{bare.rstrip()} {marks[place][1]}"
        lines[number] = marked + lines[number][len(bare) :]
    return "\n".join(lines)


class _Pairs:
    """Finds which line of an edited file is which line of the file before, that had a mark.

    old, new: the lines without marks. places: the numbers of old lines that had a mark. numbers: of new lines that may
    get one.
    """

    def __init__(self, old: Sequence[str], places: set[int], new: Sequence[str], numbers: set[int]) -> None:
        self._old, self._places = old, places
        self._new, self._numbers = new, numbers
        self._kept: dict[int, int] = {}

    def found(self) -> Mapping[int, int]:
        """Return the number of the old line of each new line that has one."""
        changes = SequenceMatcher(None, self._old, self._new, autojunk=False).get_opcodes()
        for what, first, last, begin, end in changes:
            if what == "equal":
                for place, number in zip(range(first, last), range(begin, end), strict=True):
                    self._keep(number, place)
        self._match_moved()
        for what, first, last, begin, end in changes:
            if what == "replace":
                self._changed(self._numbers & set(range(begin, end)), self._places & set(range(first, last)), _IN_PLACE)
        self._changed(self._numbers, self._places, _ALIKE)
        return self._kept

    def _keep(self, number: int, place: int) -> None:
        if number in self._numbers and place in self._places:
            self._kept[number] = place
            self._numbers.remove(number)
            self._places.remove(place)

    def _match_moved(self) -> None:
        by_text: dict[str, list[int]] = {}
        for place in sorted(self._places):
            by_text.setdefault(self._old[place].strip(), []).append(place)
        for number in sorted(self._numbers):
            if places := by_text.get(self._new[number].strip()):
                self._keep(number, places.pop(0))

    def _changed(self, numbers: set[int], places: set[int], least: float) -> None:
        """Keep the pairs of lines that are alike, the most alike first."""
        if len(numbers) * len(places) > _MOST_COMPARED:
            return
        alike = []
        for place in places:
            matcher = SequenceMatcher(None, b=self._old[place].strip(), autojunk=False)
            for number in numbers:
                matcher.set_seq1(self._new[number].strip())
                if matcher.quick_ratio() >= least and (ratio := matcher.ratio()) >= least:
                    alike.append((-ratio, number, place))
        for _, number, place in sorted(alike):
            self._keep(number, place)


def _item_lines(lines: Sequence[str]) -> list[int]:
    """Return the numbers of the lines of list items, which alone may hold a mark."""
    items = (block for block in scan(lines, memories=True) if block.kind == "item")
    return [number for block in items for number in range(block.first, block.last + 1)]


def _find_marked(lines: Sequence[str]) -> dict[int, tuple[str, str]]:
    """Return the lines that have a mark, by their numbers: each without it, and the mark."""
    marked: dict[int, tuple[str, str]] = {}
    for number in _item_lines(lines):
        line = lines[number].rstrip("\r")
        part, _ = split_annotations(line)
        if mark := COMMENT.search(part):
            marked[number] = part[: mark.start()] + line[len(part) :], mark[0].strip()
    return marked
