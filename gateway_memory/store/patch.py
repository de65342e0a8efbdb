"""What an edit did to a file, small enough to keep: the lines that changed, and the whole as a digest."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

__all__ = ["Patch", "patch_of", "taken_back"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """From line `at` (counted from 0) of the new text on, `after` stands where `before` stood."""

    at: int
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """An edit of one file. made: the file was not there before. digest: of the text that came of it."""

    file: str
    made: bool
    digest: str
    hunks: tuple[Hunk, ...]

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Patch":
        """Return the patch that `asdict` and JSON made a mapping of."""
        hunks = tuple(
            Hunk(at=hunk["at"], before=tuple(hunk["before"]), after=tuple(hunk["after"])) for hunk in raw["hunks"]
        )
        return cls(file=raw["file"], made=raw["made"], digest=raw["digest"], hunks=hunks)


def patch_of(file: str, before: str, after: str, *, made: bool) -> Patch:
    """Return what turns `after` into `before` again."""
    old, new = before.split("\n"), after.split("\n")
    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    hunks = tuple(
        Hunk(at=start, before=tuple(old[old_start:old_end]), after=tuple(new[start:end]))
        for kind, old_start, old_end, start, end in matcher.get_opcodes()
        if kind != "equal"
    )
    return Patch(file=file, made=made, digest=_digest(after), hunks=hunks)


def taken_back(text: str, patch: Patch) -> str | None:
    """Return the text from before the patch, None where the text is not what the patch made, or it changed nothing."""
    if not patch.hunks or _digest(text) != patch.digest:
        return None
    lines = text.split("\n")
    for hunk in reversed(patch.hunks):
        lines[hunk.at : hunk.at + len(hunk.after)] = hunk.before
    return "\n".join(lines)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
