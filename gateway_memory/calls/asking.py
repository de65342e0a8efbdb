"""The calls that ask: searches, commands, and what became of turns and memories."""

from datetime import date, datetime
from typing import Any

from gateway_memory.calls.opened import Opened
from gateway_memory.calls.translation import only_our_errors
from gateway_memory.commands.answers import Answer, NotDone
from gateway_memory.commands.search import as_filter
from gateway_memory.context.builder import as_query
from gateway_memory.edge.content import Content, count_of, text_of
from gateway_memory.errors import UsageError
from gateway_memory.scope import Owner, resolve_scope
from gateway_memory.session import Session, without_secrets
from gateway_memory.store.plan import Receipt
from notifier import Subscription
from recall import Hit

__all__ = ["AskingCalls"]


@only_our_errors
class AskingCalls(Opened):
    """What a gateway, its tools and its operators ask."""

    async def search(
        self,
        session: Session,
        query: Content | None,
        *,
        limit: int = 5,
        type: str | None = None,  # noqa: A002 - W, B or O, as the files call it
        category: str | None = None,
        since: date | str | None = None,
        until: date | str | None = None,
        session_key: str | None = None,
        explain: bool = False,
    ) -> tuple[Hit, ...]:
        """Return the memories that have to do with a query, best first: for a model's tool; none where it is incognito.

        A hit whose score is below `minScore` is weak; a memory that has nothing in common with the query is none.
        Without a query, the newest that the filters let through, with a score of 1.

        category: preference, decision, fact or instruction. since, until: the first and the last day (a date,
        "2026-10-01", or a time).
        session_key: of the session that it was said in. explain: `parts` of the hits tell what makes their rank.

        Raises:
            UsageError: there is no such type or day, or the limit is below 1.
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
        limit, asked = count_of(limit, "limit"), as_query(text_of(query, "query")).text
        await opened.starter.start(session)
        if session.incognito:  # a query may go to a server that makes its vector
            return ()
        return await opened.context.find(session, asked, limit, opened.runtime.clock(), only=only, explain=explain)

    async def command(self, session: Session, text: Content | None) -> str | None:
        """Answer a `/memory …` command in the user's language; None where the text is none.

        Raises:
            StoreError: what is commanded could not be written.
            UsageError: the text is none at all.
        """
        answer = await self.answer(session, text)
        return None if answer is None else answer.text

    async def answer(self, session: Session, text: Content | None) -> Answer | None:
        """Answer as `command` does, and say whether what was asked is done."""
        opened = self._opened(session)
        said = text_of(text, "text")
        return await opened.commands.answer(session, said) if session.settings.commands.enabled else None

    async def record(self, session: Session, command: str, rest: str = "") -> dict[str, Any]:
        """Return what `status`, `list`, `search`, `history` or `receipts` tells as what JSON can hold.

        rest: what a person would write behind the command's name.

        Raises:
            UsageError: there is no such command or memory.
        """
        opened = self._opened(session)
        try:
            return await opened.commands.record(session, text_of(command, "command"), text_of(rest, "rest"))
        except NotDone as answer:
            raise UsageError(str(answer)) from None

    def changes(
        self,
        session: Session | None = None,
        *,
        user: Owner | str | None = None,
        room: str | None = None,
        max_waiting: int = 1000,
    ) -> Subscription:
        """Return the changes of one scope from now on: `async for change in memory.changes(session)`.

        The scope is that of the session, or of `user` or `room` as for `start_session`. A change has `id`, `text`,
        `action` ("added" or "removed"), `source` (the key of the session that caused it) and what it `replaces`; what
        the sessions hear is told, their own words too. At most `max_waiting` wait to be taken: past them the oldest is
        dropped, and counted in `dropped`. It ends when this memory closes, or by its `close()`.

        Raises:
            UsageError: not exactly one scope is named.
        """
        opened = self._opened(*([] if session is None else [session]))
        if session is not None and (user is not None or room is not None):
            raise UsageError("changes of a session, or of user=… or room=…: expected only one of them")
        scope = session.scope if session is not None else resolve_scope(user=user, room=room)
        return opened.bus.changes(scope.key, count_of(max_waiting, "max_waiting"))

    async def receipts(self, *, limit: int, after: int = 0) -> list[Receipt]:
        """Return what became of turns: the newest receipts with a number above `after`, newest first."""
        opened = self._opened()
        return await opened.storage.ledger.receipts(limit=count_of(limit, "limit"), after=after)

    async def session_record(self, session: Session) -> dict[str, Any] | None:
        """Return the record that a session was saved as, None where it has none."""
        opened = self._opened(session)
        records = await opened.storage.records.read(session.scope)
        return next((each for each in reversed(records) if each["session_id"] == session.session_id), None)

    async def session_counts(self) -> dict[str, int]:
        """Return how the workspace's sessions ended and which layer saved them: see `session_state.counts`."""
        opened = self._opened()
        return await opened.lifecycle.counts()

    def now(self) -> datetime:
        """Return what time it is, by the clock that was given."""
        return self._runtime.clock()
