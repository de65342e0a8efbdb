"""Judge what has vanished from a memory file: somebody's wish, or damage that nobody wanted.

A power loss, a full disk or a client that synchronizes folders leaves a file empty, cut, full of NULs, gone or older.
Nobody has asked for that. Whatever is damage stays a memory until a person says that it was deleted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gateway_memory.store.damage import FEWEST_OLDER, most
from gateway_memory.store.markdown import Addition, edit

SETTLES_SECONDS: Final = 3.0
"""How long a file that looks damaged must stay as it is: an editor may empty it before it writes."""
MOMENT_SECONDS: Final = 0.15
"""How long a file from which a few lines vanished must stay as it is."""
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_COMMENT_BEGINS: Final = re.compile(r"(?<=\s)<(?:!-?)?\Z")
NO_TEXT: Final = re.compile("[\0\ud800-\udfff]")
"""What a line of a file that broke has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vanished:
    """The lines that are gone from a file, by their ids and texts.

    ours: those that the memory wrote, of so many (`of`) that it had there. theirs: those that others typed.
    """

    ours: tuple[tuple[str, str], ...]
    theirs: tuple[tuple[str, str], ...]
    of: int

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """All of them."""
        return self.ours + self.theirs


def is_damage(text: str | None, vanished: Vanished, *, older: bool) -> bool:
    """Return whether a vanishing is damage, and not the wish of a person who edits a file.

    text: of the file now, None if it is gone. older: it is a version from before.
    """
    if not vanished.lines:
        return False
    if text is None or "\0" in text or not NO_TEXT.sub("", text).strip() or cut_line(text, vanished):
        return True
    if older and len(vanished.ours) >= FEWEST_OLDER:
        return True
    return most(len(vanished.ours), vanished.of)


def cut_line(text: str, vanished: Vanished) -> str:
    """Return the last line of a text if it is the beginning of one that vanished, else ""."""
    line = text.rpartition("\n")[2]
    head, comment, _ = (line[found.end() :] if (found := _ITEM.match(line)) else "").partition("<!--")
    begun = _COMMENT_BEGINS.search(head)  # it was cut within "<!--"
    head = head[: begun.start() if begun else None].strip()
    if not head:
        return line if line.strip() in ("-", "*", "+") else ""
    for _, whole in vanished.lines:
        if whole.startswith(head) and (comment or begun or whole != head):
            return line
    return ""


def mended(text: str | None, file: str, *, title: str, cut: str, add: Sequence[Addition], remove: Sequence[str]) -> str:
    """Return a damaged text with its lost lines, and without what is no text.

    cut: its cut last line, "" for none. remove: the ids of lines that were forgotten before, and are back.
    """
    lines = (text or "").split("\n")
    if cut and lines[-1] == cut:
        lines[-1] = ""
    whole = "\n".join(line for line in lines if not NO_TEXT.search(line))
    return edit(whole, add=add, remove=remove, file=file, title=title)
