"""The calls that ask and save: whole replies, searches, commands, receipts, facts, summaries, and writes once."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import date, datetime
from typing import Any, Literal, Unpack, get_args

from gateway_memory.calls.calls import only_our_errors
from gateway_memory.calls.placing import PlacingCalls
from gateway_memory.calls.turns import speaking
from gateway_memory.capture.distiller import Distilled
from gateway_memory.commands.answers import Answer, NotDone
from gateway_memory.commands.search import as_filter, as_kinds
from gateway_memory.context.finder import Found
from gateway_memory.edge.content import Content, as_query, count_of, share_of, text_of, texts_of, well_formed
from gateway_memory.edge.session_key import without_secrets
from gateway_memory.errors import RefusedError, UsageError
from gateway_memory.ground.holds import given
from gateway_memory.ground.logs import get_logger
from gateway_memory.identity import Facts
from gateway_memory.scope import Whose, is_name, named_in, resolve_scope
from gateway_memory.sessions.session import Session
from gateway_memory.store.documents import is_writable
from gateway_memory.store.journal.requests import Request, Work
from gateway_memory.store.markdown import MemoryType
from gateway_memory.store.plan import Receipt
from notifier import Subscription

log = get_logger(__name__)

Answering = Callable[[str, Content], Awaitable[str]]
"""A model that answers: the text for the system prompt and the message to the reply."""


@only_our_errors
class MemoryCalls(PlacingCalls):
    """Calls that ask the memory, and with which an agent or a host saves and completes what is in it."""

    async def search(
        self,
        session: Session,
        query: Content | None,
        *,
        limit: int = 5,
        type: str | None = None,  # noqa: A002 - `type` is the name in the files: W, B or O
        category: str | None = None,
        since: date | str | None = None,
        until: date | str | None = None,
        session_key: str | None = None,
        kinds: Collection[str] | None = None,
        explain: bool = False,
    ) -> Found:
        """Return what matches a query, best first: memories, and what was said. An incognito session gets none.

        The result is a tuple of hits with `outcome`: "full", "empty", "partial" (a part was late or failed, and these
        hits are the rest) or "timeout" (nothing was ready in time). Ask again after the last two.

        A hit has `kind` ("memory", "note" for prose of a file, "episode" for a turn), `id` and `text`. With a score
        below `minScore` it is weak; `related` tells whether it shares anything with the query. Without a query,
        it returns the newest memories that pass the filters, each with a score of 1.

        limit: the maximum number of hits, at least 1.
        type: W, B or O. category: preference, decision, fact or instruction. Turns have neither.
        since, until: the first and the last day, inclusive: a date, "2026-10-01" or a time.
        session_key: the key of the session in which the memory was said.
        kinds: which kinds of hits to find; by default memories, notes and episodes. "record" (of a session) and
        "observation" are found only on request, by words alone; they have no type, no category and no `parts`.
        explain: fill `parts` of each hit with the components of its score.

        Raises:
            UsageError: the type, a kind or the day is invalid, or the limit is below 1.
            StoreError: the memory could not be read.
        """
        opened = self._opened(session)
        only = as_filter(
            type=type,
            category=category,
            since=since,
            until=until,
            session_key=without_secrets(session_key) if session_key else session_key,
            zone=opened.runtime.zone,
        )
        wanted = as_kinds(kinds)
        limit, text = count_of(limit, "limit"), as_query(text_of(query, "query")).text
        await opened.starter.start(session)
        if session.incognito:  # an embedding server would receive the query
            return Found()
        return await opened.finder.find(session, text, limit, kinds=wanted, only=only, explain=explain)

    async def get(self, session: Session, id: str, *, around: int = 2) -> Found:  # noqa: A002 - a hit's name for it
        """Return a hit of `search` again, with what was said around it, oldest first; () if it is gone or forgotten.

        `outcome` is as in `search`: "timeout" where it may only be late.

        A record or an observation comes alone, as a whole.

        id: the hit's id.
        around: how many turns before it and after it in its session.

        Raises:
            UsageError: `around` is negative.
            StoreError: the memory could not be read.
        """
        opened = self._opened(session)
        if type(around) is not int or around < 0:
            raise UsageError(f"around={around!r}: expected a number of turns, at least 0")
        await opened.starter.start(session)
        if session.incognito or not is_name(id):
            return Found()
        return await opened.finder.get(session, id, around)

    async def command(self, session: Session, text: Content | None) -> str | None:
        """Run a `/memory …` command and return the answer in the user's language; None if the text is not a command.

        Raises:
            StoreError: the command could not be written.
            UsageError: `text` is not text.
        """
        answer = await self.answer(session, text)
        return None if answer is None else answer.text

    async def answer(self, session: Session, text: Content | None) -> Answer | None:
        """Run a command as `command` does, and also return whether it succeeded.

        Raises:
            StoreError: the command could not be written.
            UsageError: `text` is not text.
        """
        opened = self._opened(session)
        message = text_of(text, "text")
        return await opened.commands.answer(session, message) if session.settings.commands.enabled else None

    async def may_change(self, session: Session, text: Content | None) -> bool:
        """Return whether a message is a command, or a request in plain words, that may change the memory.

        Raises:
            UsageError: `text` is not text.
        """
        return await self._opened(session).commands.may_change(text_of(text, "text"))

    async def record(self, session: Session, command: str, rest: str = "") -> dict[str, Any]:
        """Return the result of a command as a value for JSON.

        command: status, list, search, history or receipts.
        rest: the text that a person would write after the command's name.

        Raises:
            UsageError: the command or the memory does not exist.
        """
        opened = self._opened(session)
        try:
            return await opened.commands.record(session, text_of(command, "command"), text_of(rest, "rest"))
        except NotDone as answer:
            raise UsageError(str(answer)) from None

    async def read_file(self, session: Session, file: str) -> str | None:
        """Return a memory file of the session's scope; None if there is none, or for an incognito session.

        file: "MEMORY.md" or "memory/2026-11-21.md".

        Raises:
            UsageError: that is no name of a memory file.
            StoreError: the file could not be read.
        """
        opened = self._opened(session)
        if not is_name(file) or not is_writable(file):
            raise UsageError(f"file={file!r}: expected MEMORY.md or memory/YYYY-MM-DD.md")
        await opened.starter.start(session)
        read = None if session.incognito else await opened.storage.documents.read(session.scope, file)
        return None if read is None else well_formed(read[0])

    def changes(
        self,
        session: Session | None = None,
        *,
        max_waiting: int = 1000,
        **whose: Unpack[Whose],
    ) -> Subscription:
        """Subscribe to the changes of one scope: `async for change in memory.changes(session)`.

        The scope is that of the session, or of `whose` as in `start_session`, as it is linked now. A change
        has `id`, `text`, `action` ("added" or "removed"), `source` (the key of the session that caused it) and
        `replaces` (the id of the memory that it replaces). The subscription gets the same events as the sessions,
        including a session's own changes. It starts now, and ends at its `close()` or when this memory closes.

        max_waiting: the size of the queue. When it is full, the oldest change is dropped and counted in `dropped`.

        Raises:
            UsageError: not exactly one scope is named, or `max_waiting` is below 1.
        """
        opened = self._opened(*([] if session is None else [session]))
        if session is not None and named_in(whose):
            raise UsageError("changes of a session, or of a scope: expected only one of them")
        scope = session.scope if session is not None else opened.links.lately(resolve_scope(**whose))
        return opened.bus.changes(scope.key, count_of(max_waiting, "max_waiting"))

    async def receipts(self, *, limit: int, after: int = 0) -> list[Receipt]:
        """Return the results of processed turns: the receipts with a number above `after`, newest first.

        limit: the maximum number of receipts.

        Raises:
            UsageError: the limit is below 1.
            StoreError: the journal could not be read.
        """
        opened = self._opened()
        return await opened.storage.ledger.receipts(limit=count_of(limit, "limit"), after=after)

    async def session_record(self, session: Session) -> dict[str, Any] | None:
        """Return the saved record of a session, or None.

        Raises:
            StoreError: the records could not be read.
        """
        opened = self._opened(session)
        records = await opened.storage.records.read(session.scope)
        return next((each for each in reversed(records) if each["session_id"] == session.session_id), None)

    async def session_counts(self) -> dict[str, int]:
        """Return how the sessions of the workspace ended and what saved them: see `Sessions.counts`.

        Raises:
            StoreError: the journal could not be read.
        """
        opened = self._opened()
        return await opened.lifecycle.counts()

    def now(self) -> datetime:
        """Return the current time (aware), by the configured clock."""
        return self._runtime.clock()

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
        decided, open_ends = texts_of(decisions, "decisions"), texts_of(todos, "todos")
        await opened.starter.ready_to_write(session)
        return await opened.saver.save_summary(
            session, topic=topic, summary=summary, decisions=decided, todos=open_ends
        )

    async def save_fact(
        self,
        session: Session,
        *,
        content: Content | None,
        type: MemoryType = "W",  # noqa: A002 - `type` is the name in the files: W, B, O or S
        entities: Sequence[str] | None = (),
        confidence: float = 0.9,
        on: str = "",
        until: str = "",
        every: str = "",
        sender: str = "",
        sender_name: str = "",
    ) -> str:
        """Save a fact that the agent states, and return its id; that of the review if a person must approve it first.

        Nothing is saved, and "" is returned, if the whole text is private, only holds a secret, is a command to the
        assistant's machine, or is a standing instruction from a guest, or if the user has switched saving off.

        content: the text of the fact.
        type: W, B, O, or S for a stage summary.
        entities: the names that the fact is about.
        confidence: from 0 to 1.
        on, until, every: when it holds, "" for what the text tells. The line says it at its end. on: "2026-11-29",
        "2026-11-29 15:00" or "2026-11-29/2026-12-03". until: its last day, as "2026-12-01". every: "tuesday", "monday
        and thursday", "5" of each month, "03-14" of each year.
        sender, sender_name: in a room, who says it, as in `after_reply`.

        Raises:
            UsageError: the type is unknown, the confidence is out of range, a value is not text, or no such day.
            StoreError: the fact could not be written.
        """
        opened = self._opened(session)
        by = speaking(session, text_of(sender, "sender"), text_of(sender_name, "sender_name"))
        if type not in get_args(MemoryType):
            raise UsageError(f"type={type!r}: expected W, B, O or S")
        confidence = share_of(confidence, "confidence")
        text, named = text_of(content, "content"), texts_of(entities, "entities")
        try:
            holds = given(on=on, until=until, every=every) if on or until or every else None
        except ValueError as error:
            raise UsageError(str(error)) from error
        await opened.starter.ready_to_write(session)
        outcome = await opened.saver.save_fact(
            session, content=text, type=type, entities=named, confidence=confidence, holds=holds, sender=by
        )
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
        await opened.starter.ready_to_write(session)
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
        return await opened.lifecycle.stop(session, status) if session.is_open else ""

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

    async def once(
        self, request: Request, work: Work, *, unknown: Work | None = None, sure: bool = True
    ) -> dict[str, Any]:
        """Run the work of a request, and return its answer; a repeat within seven days gets the same answer.

        A repeat that comes while the first one runs waits for it.

        work: does what the request asks for; returns a JSON object.
        unknown: runs in the place of `work` if the request began before and was not answered, because the
        process was killed or its store failed in between. By default, the work runs again.
        sure: whether work that raises StoreError has changed nothing, so that a repeat may run it again.

        Raises:
            StoreError: the request could not be recorded, or its work could not be done.
        """
        opened = self._opened()
        at = opened.runtime.timestamp()
        return await opened.storage.requests.run(request, work, at=at, if_interrupted=unknown, repeatable=sure)


class ReplyingCalls(MemoryCalls):
    """The call that does a gateway's part of a reply. Its model's errors are not ours, and pass through as they are."""

    async def reply(self, facts: Facts, message: Content, model: Answering, *, turn_id: str = "") -> str:
        """Return the reply to a message: what a gateway does with the memory for each one, in one call.

        The memory answers a command itself, without the model. If the sender cannot be identified, the model answers
        without a memory, and nothing is kept.

        model: returns the reply, given the text for the system prompt and the message. It is called at most once.
        turn_id: as in `after_reply`.

        Raises:
            UsageError, StoreError: as `session_of` and `after_reply`. What the model raises passes through.
        """
        try:
            session = await self.session_of(facts)
        except RefusedError:
            log.info("reply.without_memory")
            return await model("", message)
        if (answer := await self.command(session, message)) is not None:
            return answer
        opening, context = await self.opening(session), await self.before_reply(session, message)
        reply = await model("\n\n".join(filter(None, (opening, context.text))), message)
        await self.after_reply(session, user=message, reply=reply, turn_id=turn_id)
        return reply
