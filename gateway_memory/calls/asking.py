"""The calls that read: searches, commands, changes, receipts and session records."""

from collections.abc import Collection
from datetime import date, datetime
from typing import Any, Unpack

from gateway_memory.calls.opened import Opened, only_our_errors
from gateway_memory.commands.command import Answer, NotDone
from gateway_memory.commands.search import as_filter, as_kinds
from gateway_memory.context.finder import Found, as_query
from gateway_memory.edge.content import Content, count_of, text_of, well_formed
from gateway_memory.errors import UsageError
from gateway_memory.identity import without_secrets
from gateway_memory.scope import Whose, is_name, named_in, resolve_scope
from gateway_memory.session import Session
from gateway_memory.store.documents import is_writable
from gateway_memory.store.plan import Receipt
from notifier import Subscription

__all__ = ["AskingCalls"]


@only_our_errors
class AskingCalls(Opened):
    """Read calls for gateways, their tools and their operators."""

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
        return the newest memories that pass the filters, each with a score of 1.

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
        limit, asked = count_of(limit, "limit"), as_query(text_of(query, "query")).text
        await opened.starter.start(session)
        if session.incognito:  # an embedding server would receive the query
            return Found()
        return await opened.finder.find(session, asked, limit, kinds=wanted, only=only, explain=explain)

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
        said = text_of(text, "text")
        return await opened.commands.answer(session, said) if session.settings.commands.enabled else None

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
