"""The calls that save: an agent's own facts and summaries, work that must finish now, and writes that are repeated."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Literal, get_args

from gateway_memory.calls.opened import Opened, only_our_errors
from gateway_memory.capture.upkeep import Distilled
from gateway_memory.edge.content import Content, share_of, text_of, texts_of
from gateway_memory.edge.repeats import Work
from gateway_memory.errors import UsageError
from gateway_memory.runtime.ground import get_logger
from gateway_memory.session import Session
from gateway_memory.store.journal.requests import Request
from gateway_memory.store.markdown import MemoryType
from recall import RecallError

__all__ = ["RepeatingCalls", "SavingCalls"]

log = get_logger(__name__)

_EMBED_SECONDS: Final = 60.0


@only_our_errors
class SavingCalls(Opened):
    """Calls with which an agent saves memories, and a host completes background work."""

    async def save_summary(
        self,
        session: Session,
        *,
        topic: Content | None,
        summary: Content | None,
        decisions: Sequence[str] | None = (),
        todos: Sequence[str] | None = (),
    ) -> bool:
        """Save the session's only record in the agent's own words.

        topic, summary: the texts of the record.
        decisions, todos: one text each.

        Returns False if the session already has a record, or if nothing may be saved, e.g. after `/memory off`.

        Raises:
            UsageError: a value is not text.
            StoreError: the record could not be written.
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
        type: MemoryType = "W",  # noqa: A002 - `type` is the name in the files: W, B, O or S
        entities: Sequence[str] | None = (),
        confidence: float = 0.9,
    ) -> str:
        """Save a fact that the agent states, and return its id; that of the review if a person must approve it first.

        Nothing is saved, and "" is returned, if the whole text is private, only holds a secret, is a command to the
        assistant's machine, or is a standing instruction from a guest, or if the user has switched saving off.

        content: the text of the fact.
        type: W, B, O, or S for a stage summary.
        entities: the names that the fact is about.
        confidence: from 0 to 1.

        Raises:
            UsageError: the type is unknown, the confidence is out of range, or a value is not text.
            StoreError: the fact could not be written.
        """
        opened = self._opened(session)
        if type not in get_args(MemoryType):
            raise UsageError(f"type={type!r}: expected W, B, O or S")
        confidence = share_of(confidence, "confidence")
        text, named = text_of(content, "content"), texts_of(entities, "entities")
        await opened.starter.start_to_keep(session)
        outcome = await opened.saver.save_fact(session, content=text, type=type, entities=named, confidence=confidence)
        return outcome.id if outcome else ""

    async def before_compaction(
        self, session: Session, *, usage: float, messages: int, wants: Literal["prompt", "text"] = "prompt"
    ) -> str:
        """Save a stage summary before a context is compacted, and return the prompt for an agent that can save, or "".

        The call takes some seconds at most. Memories that the session was shown may be injected again afterwards. A
        host that compacts only after further replies calls `session.compacted()` when it has done so.

        usage: the used part of the context, in percent.
        messages: the number of messages in the context.
        wants: "text" to return, instead of the prompt, what the host's own summary should hold: the facts and the stage
        summaries of the session.

        Raises:
            StoreError: the journal could not be read or written.
            UsageError: `wants` is neither "prompt" nor "text".
        """
        opened = self._opened(session)
        if wants not in ("prompt", "text"):
            raise UsageError(f'wants={wants!r}: expected "prompt" or "text"')
        await opened.starter.start_to_keep(session)
        session.compacted()
        if wants == "text":
            return await opened.lifecycle.text_for_compaction(session)
        return await opened.lifecycle.before_compaction(session, usage=usage, messages=messages)

    async def stop(self, session: Session, status: str) -> str:
        """Return a follow-up prompt for an agent that stops, or "".

        The prompt is given once a session, and only if nothing of the session is saved.

        status: "completed" or "aborted". With any other status there is no prompt.

        Raises:
            StoreError: the journal could not be read or written.
        """
        opened = self._opened(session)
        return "" if session.ended else await opened.lifecycle.stop(session, status)

    async def distill(self, session: Session, *, dry_run: bool = False) -> list[Distilled]:
        """Move the facts of the session's scope that qualify to MEMORY.md now; return them with the reasons.

        The end of a session does the same while `distill.enabled`.

        dry_run: only return the facts.

        Raises:
            StoreError: the facts could not be read or written.
        """
        opened = self._opened(session)
        await opened.starter.start(session)
        return await opened.distiller.run(session.scope, session.settings.distill, dry_run=dry_run)

    async def flush(self) -> None:
        """Process all waiting turns now, complete the ends of sessions, and wait until search by meaning finds them.

        Raises:
            StoreError: something could not be written. It stays in the journal and is retried.
        """
        opened = self._opened()
        await opened.lifecycle.completed()
        await opened.processor.flush()
        await opened.retention.keep()
        try:
            async with asyncio.timeout(_EMBED_SECONDS):
                await opened.storage.episode_follower.finish()
                await opened.storage.recaller.embedded()
        except (TimeoutError, RecallError) as error:
            log.warning("memory.flush_without_vectors", error=type(error).__name__)

    async def retry(self) -> tuple[int, int]:
        """Process the turns again on which the model failed, and wait for the result.

        Returns the number of those turns, and the number on which the model failed again.

        Raises:
            StoreError: something could not be written.
        """
        opened = self._opened()
        waiting = await opened.storage.turns.failed()
        if waiting:
            await opened.storage.turns.retry()
            await self.flush()
        return waiting, await opened.storage.turns.failed()


# The call of a host whose own callers repeat a write when its answer was lost.


@only_our_errors
class RepeatingCalls(Opened):
    """Calls that make other calls safe to repeat. `after_reply` and `observe` are, by ids of their own."""

    async def once(
        self, request: Request, work: Work, *, unknown: Work | None = None, sure: bool = True
    ) -> dict[str, Any]:
        """Run the work of a request, and return its answer; a repeat within seven days gets the same answer.

        A repeat that comes while the first one runs waits for it.

        work: does what the request asks for; returns a JSON object.
        unknown: runs instead if the request began before and was not answered, because the process was killed or its
        store failed in between. By default, the work runs again.
        sure: whether work that raises StoreError has done nothing, so that a repeat is as good as new.

        Raises:
            StoreError: the request could not be recorded, or its work could not be done.
        """
        return await self._opened().repeats.run(request, work, unknown=unknown, sure=sure)
