"""`/memory …` in the chat: answered in the language that the user writes."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

from gateway_memory.clock import day_of, local_time
from gateway_memory.context import as_query
from gateway_memory.errors import UsageError
from gateway_memory.follow import Follower
from gateway_memory.forgetting import asked_to_forget, named
from gateway_memory.ingest import Ingest
from gateway_memory.phrases import say
from gateway_memory.receipts import Receipts, as_id, shown
from gateway_memory.searching import parse_search, search_answer
from gateway_memory.session import FEATURES, Feature, Session
from gateway_memory.store.files import is_writable
from gateway_memory.store.journal import Journal
from gateway_memory.store.ledger import Ledger
from gateway_memory.store.session_state import switch
from notifier import NotifierStatus
from recall import Recaller

if TYPE_CHECKING:
    from gateway_memory.memory import GatewayMemory

__all__ = ["Commands"]

_COMMAND: Final = "/memory"
_LONGEST: Final = 8000
"""Characters of what follows a command; no memory is longer."""
_LISTED: Final = 20
_CATCH_UP_SECONDS: Final = 2.0
_CANDIDATES: Final = 5
_NEAR: Final = 8
_PERHAPS: Final = 0.2
_MILLION: Final = 1_000_000


class Commands:
    """The commands of one memory. Each answers with the text to show."""

    def __init__(
        self,
        memory: "GatewayMemory",
        *,
        ingest: Ingest,
        journal: Journal,
        ledger: Ledger,
        recaller: Recaller,
        follower: Follower,
        caught_up: Callable[[str, float], Awaitable[None]],
        switched: Callable[[Session], None],
        waiting: Callable[[], tuple[int, int]],
        notifier: Callable[[], NotifierStatus | None],
    ) -> None:
        self._memory = memory
        self._ingest = ingest
        self._journal = journal
        self._ledger = ledger
        self._recaller = recaller
        self._follower = follower
        self._caught_up = caught_up
        self._switched = switched
        self._waiting = waiting
        self._notifier = notifier
        self._receipts = Receipts(memory, ingest=ingest, journal=journal, ledger=ledger, recaller=recaller)

    async def answer(self, session: Session, text: str) -> str | None:  # noqa: C901, PLR0911 - a return a command
        """Return the answer to a command, or None where the text is none."""
        words = text.split(maxsplit=2)
        if not words or words[0].lower() != _COMMAND:
            what = asked_to_forget(text)
            if what:
                await self._caught_up(session.session_id, _CATCH_UP_SECONDS)
            return await self._forget_named(session, what) if what else None
        name = words[1][:_LONGEST].lower() if len(words) > 1 else "status"
        rest = words[2][:_LONGEST].rstrip() if len(words) > 2 else ""  # noqa: PLR2004 - /memory, the name, the rest
        if name not in ("on", "off"):
            await self._caught_up(session.session_id, _CATCH_UP_SECONDS)  # what was just said counts
        if any("\u4e00" <= character <= "\u9fff" for character in rest):
            session.language = "zh"
        if name == "status":
            return await self._status(session)
        if name == "list":
            return await self._list(session)
        if name == "search":
            return await self._search(session, rest)
        if name == "forget":
            return await self._forget(session, rest)
        if name == "why":
            return await self._receipts.why(session)
        if name == "history":
            return await self._receipts.history(session, rest)
        if name == "undo":
            return await self._receipts.undo(session, rest)
        if name in ("on", "off"):
            return await self._switch(session, rest, on=name == "on")
        return say(session.language, "help" if name == "help" else "unknown_command", name=shown(name))

    async def _status(self, session: Session) -> str:
        memory, language = self._memory, session.language
        settings = session.settings
        now = memory.now()
        queue = await self._journal.queue()
        metrics = memory.metrics
        on = say(language, "comma").join(feature for feature in FEATURES if session.on(feature)) or say(
            language, "none"
        )
        off = say(language, "comma").join(feature for feature in FEATURES if not session.on(feature)) or say(
            language, "none"
        )
        last, failure = await self._ledger.last_extraction(), metrics.last_failure
        spent, failed = await self._ledger.spent(day_of(now.timestamp(), memory.zone)), await self._ledger.failed()
        prices = settings.auto_extract
        cost = (spent.input_tokens * prices.input_price + spent.output_tokens * prices.output_price) / _MILLION
        waiting = int(queue["rules"] + queue["batch"])
        age = max(0, round(now.timestamp() - queue["oldest_at"])) if waiting else 0
        lines = [
            say(language, "status_title", scope=session.scope.key, session=session.session_id),
            say(language, "status_on", on=on),
            say(language, "status_off", off=off),
            say(language, "status_count", count=await self._recaller.count(session.scope.key)),
            await self._vectors(session),
            say(
                language,
                "status_queue",
                rules=int(queue["rules"]),
                batch=int(queue["batch"]),
                age=age,
                outbox=int(queue["outbox"]),
            ),
            self._pending(session),
            *self._connection(session, int(queue["outbox"]), queue["outbox_at"]),
            say(
                language,
                "status_last",
                at=f"{local_time(last, memory.zone):%Y-%m-%d %H:%M:%S}" if last else say(language, "never"),
            ),
            *self._alarm(session),
            say(
                language,
                "status_failure",
                failure=f"{failure[0].astimezone(memory.zone):%Y-%m-%d %H:%M:%S} {failure[1]}: {failure[2]}"
                if failure
                else say(language, "none"),
            ),
            say(
                language,
                "status_budget",
                used=spent.calls,
                limit=settings.auto_extract.max_daily_extractions,
                model=settings.auto_extract.model,
            ),
            say(
                language,
                "status_tokens",
                input=spent.input_tokens,
                output=spent.output_tokens,
                reserved=spent.reserved,
                limit=settings.auto_extract.max_daily_tokens,
                cost=f"{cost:.4f}",
            ),
            *([say(language, "status_failed", failed=failed)] if failed else []),
        ]
        return "\n".join(lines)

    async def _vectors(self, session: Session) -> str:
        """Return how far memories can be found by meaning."""
        language = session.language
        if self._memory.settings.auto_recall.embedder.provider == "none":
            return say(language, "status_words")
        found = await self._recaller.vectors()
        line = say(
            language,
            "status_vectors",
            done=found.rows - found.missing,
            rows=found.rows,
            encoder=found.encoder or say(language, "encoder_loading"),
        )
        return line + (say(language, "status_words_meanwhile", problem=found.problem) if found.problem else "")

    def _alarm(self, session: Session) -> list[str]:
        alarm = self._memory.metrics.capture_alarm(self._memory.now())
        return [say(session.language, f"status_{alarm}")] if alarm else []

    def _pending(self, session: Session) -> str:
        updates, sessions = self._waiting()
        return say(
            session.language,
            "status_pending",
            pending=len(session.inbox),
            dropped=session.inbox.dropped,
            updates=updates,
            sessions=sessions,
        )

    def _connection(self, session: Session, outbox: int, outbox_at: float) -> list[str]:
        """Return how it stands with the broker; nothing where there is none."""
        status, language, memory = self._notifier(), session.language, self._memory
        if status is None:
            return []
        age = max(0, round(memory.now().timestamp() - outbox_at)) if outbox else 0
        dropped = say(language, "comma").join(f"{reason} {number}" for reason, number in sorted(status.dropped.items()))
        return [
            say(
                language,
                "status_mqtt",
                state=say(language, f"mqtt_{status.state}"),
                since=f"{local_time(status.since, memory.zone):%Y-%m-%d %H:%M:%S}",
                reason=f" ({status.reason})" if status.reason else "",
            ),
            say(
                language,
                "status_mqtt_counts",
                outbox=outbox,
                age=age,
                sent=status.sent,
                received=status.received,
                dropped=dropped or say(language, "none"),
            ),
        ]

    async def _list(self, session: Session) -> str:
        await self._follower.refresh(session.scope)
        rows = await self._recaller.newest(session.scope.key, _LISTED)
        total = await self._recaller.count(session.scope.key)
        if not rows:
            return say(session.language, "list_empty")
        zone = self._memory.zone
        lines = [f"- {row.entry.id} · {day_of(row.entry.at, zone)} · {row.entry.text}" for row in rows]
        return "\n".join([say(session.language, "list_title", shown=len(rows), total=total), *lines])

    async def _search(self, session: Session, query: str) -> str:
        language, asked = session.language, parse_search(query)
        usage = say(language, "search_usage")
        if asked.problem:
            return f"{say(language, 'search_option', problem=shown(asked.problem))} {usage}"
        if not asked.query and not asked.given:
            return usage
        if session.incognito:
            return say(language, "incognito")
        given = {"session_key" if name == "session" else name: value for name, value in asked.given.items()}
        try:
            hits = await self._memory.search(session, asked.query, limit=asked.limit, explain=asked.explain, **given)
        except UsageError as error:
            return f"{say(language, 'search_option', problem=error)} {usage}"
        return search_answer(
            hits,
            min_score=session.settings.auto_recall.min_score,
            explain=asked.explain,
            language=language,
            zone=self._memory.zone,
        )

    async def _forget(self, session: Session, identity: str) -> str:
        what, identity = identity.strip(), as_id(identity)
        if not identity:
            return say(session.language, "forget_usage")
        await self._follower.refresh(session.scope)
        stored = await self._recaller.get(session.scope.key, identity)
        if stored is None:  # words may look like an id
            answer = await self._forget_named(session, what) or await self._perhaps(session, what)
            return answer or say(session.language, "forget_unknown", id=shown(what))
        if stored.entry.kind != "item" or not is_writable(stored.file):
            return say(session.language, "forget_not_ours", id=identity, file=stored.file)
        await self._ingest.forget(session.scope, stored)
        return say(session.language, "forgotten", id=identity, text=stored.entry.text)

    async def _forget_named(self, session: Session, what: str) -> str | None:
        """Forget what is named, where it is certain which memory that is; else show the ones that it may be."""
        await self._follower.refresh(session.scope)
        near = await self._recaller.nearest(session.scope.key, as_query(what), _NEAR)
        found = named(what, near)
        if found.certain:
            await self._ingest.forget(session.scope, found.certain, reason="asked")
            return say(session.language, "forgotten", id=found.certain.entry.id, text=found.certain.entry.text)
        if not found.possible:
            return None
        lines = [f"- {stored.entry.id} · {stored.entry.text}" for stored in found.possible]
        return "\n".join([say(session.language, "forget_which"), *lines])

    async def _perhaps(self, session: Session, what: str) -> str | None:
        """Show what a search finds for words that name no memory for certain."""
        hits = await self._memory.search(session, what, limit=_CANDIDATES)
        lines = [f"- {hit.id} · {hit.text}" for hit in hits if hit.score >= _PERHAPS]
        return "\n".join([say(session.language, "forget_which"), *lines]) if lines else None

    async def _switch(self, session: Session, name: str, *, on: bool) -> str:
        wanted = name.strip().lower()
        names: Mapping[str, Feature] = {feature.lower(): feature for feature in FEATURES}
        if wanted not in names and wanted not in ("", "all", "全部"):
            return say(session.language, "switch_unknown", name=shown(name), known=", ".join(FEATURES))
        features = [names[wanted]] if wanted in names else FEATURES
        for feature in features:
            session.switched[feature] = on
        self._switched(session)
        said = {str(feature): value for feature, value in session.switched.items()}
        await self._journal.transact(lambda database: switch(database, session.session_id, said))
        if session.incognito:
            return say(session.language, "incognito")
        listed = say(session.language, "comma").join(features)
        return say(session.language, "switched_on" if on else "switched_off", features=listed)
