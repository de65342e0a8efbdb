"""A compact record of an edit: the changed lines, and a digest of the whole result."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Any

__all__ = ["Patch", "patch_of", "taken_back"]


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

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Patch":
        """Return the patch from the mapping that `asdict` and JSON produced."""
        hunks = tuple(
            Hunk(at=hunk["at"], before=tuple(hunk["before"]), after=tuple(hunk["after"])) for hunk in raw["hunks"]
        )
        return cls(file=raw["file"], made=raw["made"], digest=raw["digest"], hunks=hunks)


def patch_of(file: str, before: str, after: str, *, made: bool) -> Patch:
    """Return the patch that turns `after` back into `before`."""
    old, new = before.split("\n"), after.split("\n")
    # Most edits touch a few lines of many, and comparing takes longer than finding where they are.
    head = sum(1 for _ in takewhile(_is_pair, zip(old, new, strict=False)))
    tail = sum(1 for _ in takewhile(_is_pair, zip(reversed(old[head:]), reversed(new[head:]), strict=False)))
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    hunks = tuple(
        Hunk(at=head + start, before=tuple(old[old_start:old_end]), after=tuple(new[start:end]))
        for kind, old_start, old_end, start, end in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes()
        if kind != "equal"
    )
    return Patch(file=file, made=made, digest=_digest(after), hunks=hunks)


def _is_pair(lines: tuple[str, str]) -> bool:
    return lines[0] == lines[1]


def taken_back(text: str, patch: Patch) -> str | None:
    """Return the text before the patch; None if the text is not the patch's result, or if the patch changed nothing."""
    if not patch.hunks or _digest(text) != patch.digest:
        return None
    lines = text.split("\n")
    for hunk in reversed(patch.hunks):
        lines[hunk.at : hunk.at + len(hunk.after)] = hunk.before
    return "\n".join(lines)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
