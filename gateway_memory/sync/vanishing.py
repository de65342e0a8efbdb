"""Judge what has vanished from a memory file: somebody's wish, or damage that nobody wanted.

A power loss, a full disk or a client that synchronizes folders leaves a file empty, cut, full of NULs, gone or older.
Nobody has asked for that. Whatever is damage stays a memory until a person says that it was deleted.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from gateway_memory.ground.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.store.damage import FEWEST_OLDER, most
from gateway_memory.store.journal.store import Store
from gateway_memory.store.markdown import Addition, Block, edit
from gateway_memory.store.patches import digest_of
from recall import Recaller, Stamp, Stored

SETTLES_SECONDS: Final = 3.0
"""How long a file that looks damaged must stay as it is: an editor may empty it before it writes."""
MOMENT_SECONDS: Final = 0.15
"""How long a file from which a few lines vanished must stay as it is."""
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
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
    head = head.strip()
    if not head:
        return line if line.strip() in ("-", "*", "+") else ""
    for _, whole in vanished.lines:
        if whole.startswith(head) and (comment or whole != head):
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


# What is gone from a file, by the index and the journal.


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What vanished from a file, with the rows that the index has of the file.

    cut: its last line, if that is only the beginning of one. damaged: nobody wanted it.
    """

    vanished: Vanished
    rows: tuple[Stored, ...]
    cut: str
    damaged: bool

    @property
    def lines(self) -> int:
        """How many lines the file had."""
        return self.vanished.of + len(self.vanished.theirs)

    @property
    def lost(self) -> list[Stored]:
        """The rows of the lines that are gone."""
        ids = {identity for identity, _ in self.vanished.lines}
        return [row for row in self.rows if row.entry.id in ids]


class Losses:
    """Finds what is gone from a scope's files."""

    def __init__(self, runtime: Runtime, store: Store, recaller: Recaller) -> None:
        self._runtime = runtime
        self._store = store
        self._recaller = recaller

    async def find(
        self,
        scope: Scope,
        file: str,
        now: tuple[str, Stamp] | None,
        blocks: Sequence[Block],
        *,
        was: Stamp,
        elsewhere: Callable[[], Awaitable[Sequence[str]]],
    ) -> Loss | None:
        """Return what is gone from a file; None if nothing is.

        What a plan removes or moves, and what stands in another file, is not gone.

        now: the file's text and stamp, None if there is no file. blocks: of that text. was: its stamp when it was
        indexed. elsewhere: returns the texts of the other files that have changed.
        """
        rows = await self._recaller.in_file(scope.key, file)
        present = {block.id for block in blocks} | {block.text for block in blocks}
        items = [row for row in rows if row.entry.kind == "item"]
        lost = [row for row in items if not {row.entry.id, row.entry.text} & present]
        if not lost:
            return None
        states = await self._store.event_log.standing(
            scope.key, [row.entry.id for row in items], [row.entry.id for row in lost], self._runtime.timestamp()
        )
        lost = [row for row in lost if states.get(row.entry.id, "") in ("", "active")]
        if lost:
            others = "\n".join(await elsewhere())
            lost = [row for row in lost if f"gm:{row.entry.id}" not in others and row.entry.text not in others]
        if not lost:
            return None
        gone = [(row.entry.id, row.entry.text) for row in lost]
        vanished = Vanished(
            ours=tuple(each for each in gone if each[0] in states),
            theirs=tuple(each for each in gone if each[0] not in states),
            of=sum(state == "active" for state in states.values()),
        )
        text, older = None, False
        if now:
            text, stamp = now
            older = stamp.mtime_ns < was.mtime_ns or await self._store.ledger.was_before(scope.key, digest_of(text))
        cut = cut_line(text or "", vanished)
        return Loss(vanished=vanished, rows=rows, cut=cut, damaged=is_damage(text, vanished, older=older))
