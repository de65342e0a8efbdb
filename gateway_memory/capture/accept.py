"""What happens in sessions is kept: their turns, which are processed behind, and what else was observed."""

import asyncio
import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from extractor import Cleaned, clean
from gateway_memory.capture.observations import clip, observed, tags_of
from gateway_memory.capture.worker import Worker
from gateway_memory.compute import compute
from gateway_memory.errors import StoreError
from gateway_memory.observability.metrics import Metrics
from gateway_memory.session import Session
from gateway_memory.store.journal.journal import Journal
from gateway_memory.store.journal.retention import Retention
from gateway_memory.store.journal.session_state import Observation

__all__ = ["Accepting"]

_CLEANED_AT_ONCE: Final = 8000
"""Characters: a longer text, which takes milliseconds, is cleaned beside the event loop."""


class Accepting:
    """Keeps what happens in the sessions of one memory. Call it within the session's `accepting`: its order is kept."""

    def __init__(
        self,
        *,
        journal: Journal,
        worker: Worker,
        retention: Retention,
        workspace: Path,
        metrics: Metrics,
        clock: Callable[[], datetime],
        fail: Callable[[str, BaseException], None],
    ) -> None:
        self._journal = journal
        self._worker = worker
        self._retention = retention
        self._workspace = workspace
        self._metrics = metrics
        self._clock = clock
        self._fail = fail

    async def turn(self, session: Session, user: str, reply: str, at: float | None) -> int:
        """Return the number of a turn that is on disk now, 0 where the session's turns are not kept.

        Raises:
            StoreError: the turn could not be written; nothing of it was kept.
        """
        if not session.on("autoExtract"):
            return 0
        self._metrics.count("turns.seen")
        if set(session.types) & set(session.settings.auto_extract.exclude_session_types):
            self._metrics.count("extraction.accept.skipped.session_type")
            self._metrics.reply_seen(self._clock(), 0)
            return 0
        now, session_id, recalled = self._clock(), session.session_id, session.recalled
        try:
            said, answered = await _cleaned(user), await _cleaned(reply)
            with self._metrics.timed("after_reply"):
                kept = asyncio.ensure_future(
                    self._journal.accept(
                        scope=session.scope.key,
                        session_key=session.key,
                        session_id=session_id,
                        user=said.text,
                        reply=answered.text,
                        at=now.timestamp() if at is None else at,
                        now=now.timestamp(),
                        recalled=recalled,
                        seen=_seen_of_turn(session, said.text, answered.text),
                    )
                )
                kept.add_done_callback(self._kept)
                turn = await asyncio.shield(kept)
        except (OSError, sqlite3.Error) as error:
            self._fail("journal", error)
            message = f"{self._workspace}: the turn could not be kept ({error}); free some space and send it again"
            raise StoreError(message) from error
        self._retention.look()
        self._metrics.reply_seen(now, turn)
        return turn

    def _kept(self, turn: asyncio.Future[int]) -> None:
        """Have a turn processed once it is on disk, also where whoever said it waits no longer."""
        if not turn.cancelled() and turn.exception() is None:
            self._metrics.count("turns.accepted")
            self._worker.wake()

    async def observation(self, session: Session, kind: str, content: str, tool: str, *, private: bool) -> None:
        """Keep what was observed, clipped by what it is; a private observation has no content."""
        now, session_id = self._clock().timestamp(), session.session_id
        if len(content) <= _CLEANED_AT_ONCE:
            seen = observed(kind, content, tool, private=private)
        else:
            seen = await compute(observed, kind, content, tool, private=private)
        await self._journal.observe(scope=session.scope.key, session_id=session_id, seen=[seen], at=now)
        self._metrics.count("observations.kept")
        self._retention.look()


def _seen_of_turn(session: Session, said: str, answered: str) -> list[Observation]:
    if not session.on("observations"):
        return []
    return [
        Observation(kind=kind, content=clip(kind, "", text), tags=tags_of(text))
        for kind, text in (("user", said), ("assistant", answered))
        if text
    ]


async def _cleaned(text: str) -> Cleaned:
    return clean(text) if len(text) <= _CLEANED_AT_ONCE else await compute(clean, text)
