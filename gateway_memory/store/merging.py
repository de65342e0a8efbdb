"""Merge two edits of a text, line by line. Pure functions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile

__all__ = ["Merged", "merged"]


@dataclass(frozen=True, slots=True)
class Merged:
    """The text with both edits; "" if they conflict. conflicts: where, as the first lines in one's own text, from 1."""

    text: str
    conflicts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Edit:
    """Lines start … end - 1 of the basis became `lines`, which begin at line `at` of the edited text."""

    start: int
    end: int
    lines: tuple[str, ...]
    at: int

    @property
    def change(self) -> tuple[int, int, tuple[str, ...]]:
        return self.start, self.end, self.lines


def merged(base: str, theirs: str, mine: str) -> Merged:
    """Return a text with the edits of both sides.

    Edits conflict if they change the same line in different ways, or insert different lines at the same place. Edits of
    neighbouring lines do not.
    """
    lines = _lines(base)
    ours, others = _edits(lines, _lines(mine)), _edits(lines, _lines(theirs))
    known = {edit.change for edit in others}
    fresh = [edit for edit in ours if edit.change not in known]
    conflicts = tuple(edit.at + 1 for edit in fresh if any(_collide(edit, other) for other in others))
    if conflicts:
        return Merged("", conflicts)
    done: list[str] = []
    upto = 0
    for edit in sorted([*others, *fresh], key=lambda edit: (edit.start, edit.end)):
        done += [*lines[upto : edit.start], *edit.lines]
        upto = edit.end
    return Merged("".join(_ended([*done, *lines[upto:]])))


def _lines(text: str) -> list[str]:
    """Return the lines of a text with their ends. Only a line feed ends a line, as in the documents."""
    found = [f"{line}\n" for line in text.split("\n")]
    found[-1] = found[-1][:-1]
    return found if found[-1] else found[:-1]


def _edits(old: Sequence[str], new: Sequence[str]) -> list[_Edit]:
    # Most edits touch a few lines of many, and comparing takes longer than finding where they are.
    head = sum(1 for _ in takewhile(_is_pair, zip(old, new, strict=False)))
    tail = sum(1 for _ in takewhile(_is_pair, zip(reversed(old[head:]), reversed(new[head:]), strict=False)))
    matcher = SequenceMatcher(a=old[head : len(old) - tail], b=new[head : len(new) - tail], autojunk=False)
    return [
        _Edit(head + start, head + end, tuple(new[head + new_start : head + new_end]), head + new_start)
        for kind, start, end, new_start, new_end in matcher.get_opcodes()
        if kind != "equal"
    ]


def _is_pair(lines: tuple[str, str]) -> bool:
    return lines[0] == lines[1]


def _collide(one: _Edit, other: _Edit) -> bool:
    if one.start == one.end == other.start == other.end:
        return True
    return max(one.start, other.start) < min(one.end, other.end) or any(
        outer.start < inner.start == inner.end < outer.end for outer, inner in ((one, other), (other, one))
    )


def _ended(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines; what was the last line of one side, and is none any more, gets its end."""
    last = len(lines) - 1
    for number, line in enumerate(lines):
        yield line if number == last or line.endswith("\n") else f"{line}\n"
