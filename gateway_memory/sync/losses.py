"""What is gone from a file, by the index and the journal."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gateway_memory.ground.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.store.journal.store import Store
from gateway_memory.store.markdown import Block
from gateway_memory.store.patches import digest_of
from gateway_memory.sync.vanishing import Vanished, cut_line, is_damage
from recall import Recaller, Stamp, Stored


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
