"""Whether a session's files have lines that are new to it; one look at a time, and none that holds a reply up."""

import asyncio
import time
from concurrent.futures import Future
from typing import Final, NamedTuple

from gateway_memory.context.bounded import Within
from gateway_memory.observability.logger import get_logger
from gateway_memory.session import Session
from gateway_memory.store.files import Stamps
from gateway_memory.sync.follower import Follower
from recall import Recaller, Stored

__all__ = ["Looked", "Looks"]

log = get_logger(__name__)

_HANGING_SECONDS: Final = 0.02


class Looked(NamedTuple):
    """What a look found: the index's generation, its changes, its newest line, and the lines that are new."""

    generation: int
    changes: int
    sequence: int
    rows: tuple[Stored, ...]


class Looks:
    """Looks for what has changed since a session was last told; see `Follower`."""

    def __init__(self, follower: Follower, recaller: Recaller, within: Within) -> None:
        self._follower = follower
        self._recaller = recaller
        self._within = within
        self._glancing: set[str] = set()
        self._looking: dict[str, asyncio.Future[Looked]] = {}

    async def first(self, session: Session, seconds: float) -> int | None:
        """Let the index follow a session's files and warm it; return the newest line, None when that takes longer."""
        return await self._within.get("open", seconds, self._first(session))

    async def _first(self, session: Session) -> int:
        await self._follower.refresh(session.scope)
        await self._recaller.warm(session.scope.key)
        newest = await self._recaller.newest(session.scope.key, 1)
        return newest[0].sequence if newest else 0

    def begin(self, session: Session) -> Future[Stamps]:
        """Ask the disk how the files are; `news` looks at what it says."""
        return self._follower.look_out(session.scope)

    async def news(self, session: Session, seconds: float, scanning: Future[Stamps]) -> Looked | None:
        """Look for new lines; return None where there are none, or it takes longer.

        One look at a time: while the disk hangs, only the first message waits for it long.
        """
        key = session.session_id
        looking = self._looking.get(key)
        if looking is not None:
            return await self._within.get("sync", min(seconds, _HANGING_SECONDS), looking)
        began = time.perf_counter()
        patience = min(seconds, _HANGING_SECONDS) if key in self._glancing else seconds
        if await self._is_unchanged(session, patience, scanning):
            return None
        looking = self._looking.get(key)  # another message may have begun one
        if looking is None:
            looking = self._looking[key] = asyncio.ensure_future(self._look(session))
            looking.add_done_callback(lambda _: self._looking.pop(key, None))
        return await self._within.get("sync", max(0.0, seconds - (time.perf_counter() - began)), looking)

    async def _is_unchanged(self, session: Session, seconds: float, scanning: Future[Stamps]) -> bool:
        """Return whether a glance finds the files as they were when the session was last told of them."""
        self._glancing.add(session.session_id)
        try:
            return await self._follower.glance(session.scope, scanning, seconds) == session.changes
        except Exception as error:  # noqa: BLE001 - the look itself will say what is wrong
            log.debug("context.glance_failed", error=type(error).__name__)
            return False
        finally:
            self._glancing.discard(session.session_id)

    async def _look(self, session: Session) -> Looked:
        changes = await self._follower.refresh(session.scope)
        generation = self._recaller.generation
        if session.sequence is None or session.generation != generation:
            # The files were still being read when the session started, or the index is another one: a first look.
            return Looked(generation, changes, await self._first(session), ())
        if session.changes == changes:
            return Looked(generation, changes, session.sequence, ())
        sequence, rows = await self._recaller.added_since(session.scope.key, session.sequence)
        return Looked(generation, changes, sequence, tuple(row for row in rows if row.entry.type != "S"))
