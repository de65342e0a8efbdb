"""`/memory …` in the chat, and the same in a shell: answered in the language that the user writes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from extractor import has_han
from gateway_memory.capture.forgetting import asked_to_forget, named
from gateway_memory.capture.ingest import Ingest
from gateway_memory.clock import day_of, local_time
from gateway_memory.commands.answers import Answer, NotDone, phrase
from gateway_memory.commands.ports import Commanded
from gateway_memory.commands.receipts import Receipts, as_id, shown
from gateway_memory.commands.search import Asked, parse_search, search_answer
from gateway_memory.commands.status import Status
from gateway_memory.context.builder import as_query
from gateway_memory.errors import UsageError
from gateway_memory.phrases import CHAT
from gateway_memory.session import FEATURES, Feature, Session
from gateway_memory.store.files import is_writable
from gateway_memory.store.journal.journal import Journal
from gateway_memory.store.journal.ledger import Ledger
from gateway_memory.sync.follower import Follower
from notifier import NotifierStatus
from recall import Entry, Hit, Recaller, Stored

__all__ = ["Commands"]

_LONGEST: Final = 8000
"""Characters of what follows a command; no memory is longer."""
_LISTED: Final = 20
_CATCH_UP_SECONDS: Final = 2.0
_CANDIDATES: Final = 5
_NEAR: Final = 8
_PERHAPS: Final = 0.2


class Commands:
    """The commands of one memory. Each answers with the text to show."""

    def __init__(
        self,
        memory: Commanded,
        *,
        ingest: Ingest,
        journal: Journal,
        ledger: Ledger,
        recaller: Recaller,
        follower: Follower,
        caught_up: Callable[[str, float], Awaitable[None]],
        switched: Callable[[Session], Awaitable[None]],
        waiting: Callable[[], tuple[int, int]],
        notifier: Callable[[], NotifierStatus | None],
    ) -> None:
        self._memory = memory
        self._ingest = ingest
        self._recaller = recaller
        self._follower = follower
        self._caught_up = caught_up
        self._switched = switched
        self._status = Status(
            memory, journal=journal, ledger=ledger, recaller=recaller, waiting=waiting, notifier=notifier
        )
        self._receipts = Receipts(memory, ingest=ingest, journal=journal, ledger=ledger, recaller=recaller)

    async def answer(self, session: Session, text: str) -> Answer | None:
        """Return the answer to a command, or None where the text is none."""
        words = text.split(maxsplit=2)
        try:
            if not words or words[0].lower() != CHAT:
                said = await self._asked_to_forget(session, text)
            else:
                name = words[1][:_LONGEST].lower() if len(words) > 1 else "status"
                rest = words[2][:_LONGEST].rstrip() if len(words) > 2 else ""  # noqa: PLR2004 - what is behind the name
                said = await self._carried_out(session, name, rest)
        except NotDone as answer:
            return Answer(text=str(answer), done=False)
        return None if said is None else Answer(text=said)

    async def record(self, session: Session, name: str, rest: str) -> dict[str, Any]:
        """Return what a command tells as what JSON can hold: of status, list, search, history or receipts.

        Raises:
            NotDone: with the text that says why there is nothing to tell.
        """
        await self._caught_up(session.session_id, _CATCH_UP_SECONDS)
        match name:
            case "status":
                return await self._status.facts(session)
            case "list":
                rows, total = await self._newest(session)
                return {"memories": [self._row(row.entry, row.file) for row in rows], "total": total}
            case "search":
                hits, asked = await self._found(session, rest)
                parts = [{"parts": dict(hit.parts)} if asked.explain else {} for hit in hits]
                found = zip(hits, parts, strict=True)
                return {"results": [self._row(hit, hit.file) | {"score": hit.score} | each for hit, each in found]}
            case "history":
                return await self._receipts.past(session, rest)
            case "receipts":
                return {"receipts": await self._receipts.newest(session, rest)}
        raise NotDone(phrase(session, "unknown_command", name=shown(name)))

    async def _asked_to_forget(self, session: Session, text: str) -> str | None:
        what = asked_to_forget(text)
        if not what:
            return None
        await self._caught_up(session.session_id, _CATCH_UP_SECONDS)
        return await self._forget_named(session, what)

    async def _carried_out(self, session: Session, name: str, rest: str) -> str:  # noqa: C901, PLR0911 - a return a command
        if name not in ("on", "off"):
            await self._caught_up(session.session_id, _CATCH_UP_SECONDS)  # what was just said counts
        if has_han(rest):
            session.language = "zh"
        match name:
            case "status":
                return await self._status.text(session)
            case "list":
                return await self._list(session)
            case "search":
                return await self._search(session, rest)
            case "forget":
                return await self._forget(session, rest)
            case "why":
                return await self._receipts.why(session)
            case "history":
                return await self._receipts.history(session, rest)
            case "receipts":
                return await self._receipts.recent(session, rest)
            case "undo":
                return await self._receipts.undo(session, rest)
            case "on" | "off":
                return await self._switch(session, rest, on=name == "on")
            case "help":
                return phrase(session, "help")
        raise NotDone(phrase(session, "unknown_command", name=shown(name)))

    async def _newest(self, session: Session) -> tuple[Sequence[Stored], int]:
        await self._follower.refresh(session.scope)
        rows = await self._recaller.newest(session.scope.key, _LISTED)
        return rows, await self._recaller.count(session.scope.key)

    async def _list(self, session: Session) -> str:
        rows, total = await self._newest(session)
        if not rows:
            return phrase(session, "list_empty")
        zone = self._memory.zone
        lines = [f"- {row.entry.id} · {day_of(row.entry.at, zone)} · {row.entry.text}" for row in rows]
        return "\n".join([phrase(session, "list_title", shown=len(rows), total=total), *lines])

    async def _found(self, session: Session, query: str) -> tuple[Sequence[Hit], Asked]:
        asked, usage = parse_search(query), phrase(session, "search_usage")
        if asked.problem:
            raise NotDone(f"{phrase(session, 'search_option', problem=shown(asked.problem))} {usage}")
        if not asked.query and not asked.given:
            raise NotDone(usage)
        if session.incognito:
            raise NotDone(phrase(session, "incognito"))
        given = {"session_key" if name == "session" else name: value for name, value in asked.given.items()}
        try:
            hits = await self._memory.search(session, asked.query, limit=asked.limit, explain=asked.explain, **given)
        except UsageError as error:
            raise NotDone(f"{phrase(session, 'search_option', problem=error)} {usage}") from None
        return hits, asked

    async def _search(self, session: Session, query: str) -> str:
        hits, asked = await self._found(session, query)
        return search_answer(
            hits,
            min_score=session.settings.auto_recall.min_score,
            explain=asked.explain,
            language=session.language,
            zone=self._memory.zone,
        )

    async def _forget(self, session: Session, identity: str) -> str:
        what, identity = identity.strip(), as_id(identity)
        if not identity:
            raise NotDone(phrase(session, "forget_usage"))
        await self._follower.refresh(session.scope)
        stored = await self._recaller.get(session.scope.key, identity)
        if stored is None:  # words may look like an id
            answer = await self._forget_named(session, what)
            if answer is None:
                raise NotDone(await self._perhaps(session, what) or phrase(session, "forget_unknown", id=shown(what)))
            return answer
        if stored.entry.kind != "item" or not is_writable(stored.file):
            raise NotDone(phrase(session, "forget_not_ours", id=identity, file=stored.file))
        await self._ingest.forget(session.scope, stored)
        return phrase(session, "forgotten", id=identity, text=stored.entry.text)

    async def _forget_named(self, session: Session, what: str) -> str | None:
        """Forget what is named, where it is certain which memory that is; else show the ones that it may be."""
        await self._follower.refresh(session.scope)
        near = await self._recaller.nearest(session.scope.key, as_query(what).text, _NEAR)
        found = named(what, near)
        if found.certain:
            await self._ingest.forget(session.scope, found.certain, reason="asked")
            return phrase(session, "forgotten", id=found.certain.entry.id, text=found.certain.entry.text)
        if not found.possible:
            return None
        lines = [f"- {stored.entry.id} · {stored.entry.text}" for stored in found.possible]
        raise NotDone("\n".join([phrase(session, "forget_which"), *lines]))

    async def _perhaps(self, session: Session, what: str) -> str | None:
        """Show what a search finds for words that name no memory for certain."""
        hits = await self._memory.search(session, what, limit=_CANDIDATES)
        lines = [f"- {hit.id} · {hit.text}" for hit in hits if hit.score >= _PERHAPS]
        return "\n".join([phrase(session, "forget_which"), *lines]) if lines else None

    async def _switch(self, session: Session, name: str, *, on: bool) -> str:
        wanted = name.strip().lower()
        names: Mapping[str, Feature] = {feature.lower(): feature for feature in FEATURES}
        if wanted not in names and wanted not in ("", "all", "全部"):
            raise NotDone(phrase(session, "switch_unknown", name=shown(name), known=", ".join(FEATURES)))
        features = [names[wanted]] if wanted in names else FEATURES
        session.switched |= dict.fromkeys(features, on)
        session.said += 1
        await self._switched(session)
        if session.incognito:
            return phrase(session, "incognito")
        listed = phrase(session, "comma").join(features)
        return phrase(session, "switched_on" if on else "switched_off", features=listed)

    def _row(self, memory: Entry | Hit, file: str) -> dict[str, Any]:
        """Return a memory as what JSON can hold."""
        at = local_time(memory.at, self._memory.zone).isoformat(timespec="seconds")
        return {
            "id": memory.id,
            "text": memory.text,
            "at": at,
            "type": memory.type,
            "category": memory.category,
            "file": file,
        }
