"""What has changed in a session's files since it last received it; a disk that hangs delays no reply for long."""

import asyncio
from collections.abc import Mapping
from typing import Final, NamedTuple

from gateway_memory.context.deadline import DeadlineRunner
from gateway_memory.scope import Scope
from gateway_memory.sessions.session import Position, Session
from gateway_memory.sync.entries import is_announced
from gateway_memory.sync.storage import Storage
from recall import Stored

_HANGING_SECONDS: Final = 0.02
"""How long a message waits for a refresh that an earlier message has begun."""


class FileChanges(NamedTuple):
    """What a refresh found: the new rows, and the positions that the session has with them, by scope.

    grown: whether the index has changed meanwhile, so that a search that began with the refresh may have missed rows.
    """

    positions: Mapping[str, Position]
    rows: tuple[Stored, ...]
    grown: bool


class ChangeDetector:
    """Refreshes the index of a session's files, once at a time for each session."""

    def __init__(self, storage: Storage, runner: DeadlineRunner) -> None:
        self._storage = storage
        self._runner = runner
        self._refreshing: dict[str, asyncio.Future[FileChanges | None]] = {}

    async def first(self, session: Session, seconds: float) -> Mapping[str, Position]:
        """Index a session's files and load its scopes; return its positions by scope, {} when that takes longer."""
        generation, scopes = self._storage.recaller.generation, session.who.scopes
        revisions = await self._runner.run("open", seconds, asyncio.gather(*map(self._first, scopes)))
        known = zip(scopes, revisions or (), strict=False)
        return {scope.key: Position(generation, revision) for scope, revision in known}

    async def _first(self, scope: Scope) -> int:
        await self._storage.follower.refresh(scope)
        await self._storage.recaller.warm(scope.key)
        return await self._storage.recaller.revision(scope.key)

    async def since_last(self, session: Session, seconds: float) -> FileChanges | None:
        """Return what is new in a session's files; None where nothing is, or the disk takes longer.

        What comes later is returned to a later call.
        """
        key = session.session_id
        refreshing = self._refreshing.get(key)
        if refreshing is not None:
            seconds = min(seconds, _HANGING_SECONDS)
        else:
            refreshing = self._refreshing[key] = asyncio.ensure_future(self._refresh(session))
            refreshing.add_done_callback(lambda _: self._refreshing.pop(key, None))
        return await self._runner.run("sync", seconds, refreshing)

    async def _refresh(self, session: Session) -> FileChanges | None:
        refreshed = await asyncio.gather(*(self._refresh_scope(session, scope) for scope in session.who.scopes))
        changes = [each for each in refreshed if each]
        positions = {key: position for each in changes for key, position in each.positions.items()}
        rows = tuple(row for each in changes for row in each.rows)
        return FileChanges(positions, rows, any(each.grown for each in changes)) if changes else None

    async def _refresh_scope(self, session: Session, scope: Scope) -> FileChanges | None:
        known, before = session.positions.get(scope.key, Position()), self._storage.follower.last_change(scope)
        change = await self._storage.follower.refresh(scope)
        generation = self._storage.recaller.generation
        if known.revision is None or known.generation != generation:
            # The files were still being read when the session started, or the index was replaced.
            return FileChanges({scope.key: Position(generation, await self._first(scope), change)}, (), grown=True)
        if known.last_change == change:
            return None
        revision, rows = await self._storage.recaller.added_since(scope.key, known.revision)
        news = await self._of_others(session, scope, tuple(filter(is_announced, rows)))
        return FileChanges({scope.key: Position(generation, revision, change)}, news, grown=change != before)

    async def _of_others(self, session: Session, scope: Scope, rows: tuple[Stored, ...]) -> tuple[Stored, ...]:
        """Leave out what this session has said itself; another process may have written it to the file."""
        own = {row.entry.id for row in rows if row.entry.session == session.key}
        own -= {identity for identity in own if identity in session.in_context.removed}  # back: it is news
        said = await self._storage.ledger.memories(scope.key, sorted(own)) if own else {}
        return tuple(row for row in rows if row.entry.id not in said or said[row.entry.id].text != row.entry.text)
