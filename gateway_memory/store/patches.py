"""Edits of a text, line by line: a compact record of one, and two of them merged. Pure functions."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """A replaced range: from line `at` (counted from 0) of the new text, `after` replaced `before`."""

    at: int
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """An edit of one file. made: the edit created the file. digest: of the resulting text."""

    file: str
    made: bool
    digest: str
    hunks: tuple[Hunk, ...]


def patch_of(file: str, before: str, after: str, *, made: bool) -> Patch:
    """Return the patch that turns `after` back into `before`."""
    old, new = before.split("\n"), after.split("\n")
    hunks = tuple(
        Hunk(at=edit.at, before=tuple(old[edit.start : edit.end]), after=edit.lines) for edit in _edits(old, new)
    )
    return Patch(file=file, made=made, digest=digest_of(after), hunks=hunks)


def _is_pair(lines: tuple[str, str]) -> bool:
    return lines[0] == lines[1]


def taken_back(text: str, patch: Patch) -> str | None:
    """Return the text before the patch; None if the text is not the patch's result, or if the patch changed nothing."""
    if not patch.hunks or digest_of(text) != patch.digest:
        return None
    lines = text.split("\n")
    for hunk in reversed(patch.hunks):
        lines[hunk.at : hunk.at + len(hunk.after)] = hunk.before
    return "\n".join(lines)


def digest_of(text: str) -> str:
    """Return a digest of a document's text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Merged:
    """The text with both edits; "" if they conflict.

    conflicts: the first line of each conflict in one's own text, counted from 1.
    """

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
    result: list[str] = []
    upto = 0
    for edit in sorted([*others, *fresh], key=lambda edit: (edit.start, edit.end)):
        result += [*lines[upto : edit.start], *edit.lines]
        upto = edit.end
    return Merged("".join(_ended([*result, *lines[upto:]])))


def _lines(text: str) -> list[str]:
    """Return the lines of a text with their ends. Only a line feed ends a line, as in the documents."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


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


def _collide(one: _Edit, other: _Edit) -> bool:
    if one.start == one.end == other.start == other.end:
        return True
    return max(one.start, other.start) < min(one.end, other.end) or any(
        outer.start < inner.start == inner.end < outer.end for outer, inner in ((one, other), (other, one))
    )


def _ended(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines. A line that was the last of one side and now stands inside gets a line end."""
    last = len(lines) - 1
    for number, line in enumerate(lines):
        yield line if number == last or line.endswith("\n") else f"{line}\n"
