"""The calls that save: an agent's own facts and summaries, and work that is done now and not behind."""

import asyncio
from collections.abc import Sequence
from typing import Final, get_args

from gateway_memory.calls.opened import Opened
from gateway_memory.calls.translation import only_our_errors
from gateway_memory.capture.distiller import Distilled
from gateway_memory.edge.content import Content, share_of, text_of, texts_of
from gateway_memory.errors import UsageError
from gateway_memory.observability.logger import get_logger
from gateway_memory.session import Session
from gateway_memory.store.markdown import MemoryType
from recall import RecallError

__all__ = ["SavingCalls"]

log = get_logger(__name__)

_EMBED_SECONDS: Final = 60.0


@only_our_errors
class SavingCalls(Opened):
    """What an agent saves by its own will, and what a host wants done now."""

    async def save_summary(
        self,
        session: Session,
        *,
        topic: Content | None,
        summary: Content | None,
        decisions: Sequence[str] | None = (),
        todos: Sequence[str] | None = (),
    ) -> bool:
        """Save the session's one record in the agent's own words.

        False where it has one already, and where nothing of it may be kept: after the user's `/memory off`.
        """
        opened = self._opened(session)
        topic, summary = text_of(topic, "topic"), text_of(summary, "summary")
        decided, left = texts_of(decisions, "decisions"), texts_of(todos, "todos")
        await opened.starter.start_to_keep(session)
        return await opened.saver.save_summary(session, topic=topic, summary=summary, decisions=decided, todos=left)

    async def save_fact(
        self,
        session: Session,
        *,
        content: Content | None,
        type: MemoryType = "W",  # noqa: A002 - W, B, O, S, as the files call it
        entities: Sequence[str] | None = (),
        confidence: float = 0.9,
    ) -> str:
        """Keep a fact that the agent names (S: a stage summary); return its id.

        "" where nothing of it may be kept: it is private as a whole, or addresses the machine, or gives a guest's
        standing instruction, or the user has said `/memory off`.

        Raises:
            UsageError: there is no such type, the confidence is not from 0 to 1, or something is no text.
        """
        opened = self._opened(session)
        if type not in get_args(MemoryType):
            raise UsageError(f"type={type!r}: expected W, B, O or S")
        confidence = share_of(confidence, "confidence")
        text, named = text_of(content, "content"), texts_of(entities, "entities")
        await opened.starter.start_to_keep(session)
        outcome = await opened.saver.save_fact(session, content=text, type=type, entities=named, confidence=confidence)
        return outcome.id if outcome else ""

    async def before_compaction(self, session: Session, *, usage: float, messages: int) -> str:
        """Keep a stage summary before a context is compacted; return the prompt for an agent that can save, or "".

        usage: percent of the context; messages: how many it holds. Within some seconds. What the session was shown may
        be injected again from now on; a host that compacts later, after further replies, says so when it has:
        `session.compacted()`.
        """
        opened = self._opened(session)
        await opened.starter.start_to_keep(session)
        session.compacted()
        return await opened.lifecycle.before_compaction(session, usage=usage, messages=messages)

    async def stop(self, session: Session, status: str) -> str:
        """Return what to ask the agent when it stops, or "": once a session, and only where nothing of it is saved.

        status: "completed" or "aborted"; with any other nothing is asked.
        """
        opened = self._opened(session)
        return "" if session.ended else await opened.lifecycle.stop(session, status)

    async def distill(self, session: Session, *, dry_run: bool = False) -> list[Distilled]:
        """Move the facts of the session's scope that have earned it up to MEMORY.md now; return them, with why.

        dry_run: only return them. Session ends do this by themselves while `distill.enabled`.
        """
        opened = self._opened(session)
        await opened.starter.start(session)
        return await opened.distiller.run(session.scope, session.settings.distill, dry_run=dry_run)

    async def flush(self) -> None:
        """Process everything that waits, now, and wait until it can be found by meaning too.

        Raises:
            StoreError: something could not be written; it waits on in the journal.
        """
        opened = self._opened()
        await opened.processor.flush()
        await opened.retention.keep()
        try:
            async with asyncio.timeout(_EMBED_SECONDS):
                await opened.storage.recaller.embedded()
        except (TimeoutError, RecallError) as error:
            log.warning("memory.flush_without_vectors", error=type(error).__name__)

    async def retry(self) -> tuple[int, int]:
        """Have the turns read again on which the model failed, and wait for it.

        Returns how many they were, and on how many it failed again.
        """
        opened = self._opened()
        waiting = await opened.storage.turns.failed()
        if waiting:
            await opened.storage.turns.retry()
            await self.flush()
        return waiting, await opened.storage.turns.failed()
