"""Reads what a portrait of a person consists of."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime
from itertools import chain
from typing import Final

from gateway_memory.browsing.names.naming import says_name
from gateway_memory.browsing.sections import About, Changed, Line, Portrait, Sections, Topic, line_of, sections_of
from gateway_memory.commands.command import CommandPorts
from gateway_memory.context.blocks import told
from gateway_memory.context.digest import waiting_reviews
from gateway_memory.sessions.session import Session
from gateway_memory.store.documents import MEMORY_FILE
from gateway_memory.store.memory_record import UNWRITTEN, MemoryRecord
from gateway_memory.store.validity import Validity
from gateway_memory.sync.entries import record_of
from recall import Filter, Stored

_NEWEST: Final = 300
"""The newest memories that a portrait is made of."""
_PINNED: Final = 300
"""The newest lines of MEMORY.md, likewise."""
_AHEAD: Final = 50
_ALL: Final = 1 << 40
_RECEIPTS: Final = 60
_CHANGES: Final = 6
_NAMING: Final = 300
"""The newest memories that name one person or thing, of which its page is made."""
_OTHERS: Final = 12
_LONGEST_NAME: Final = 60
_REPLACED: Final = frozenset({"supersede", "update"})


class Portraits:
    """Reads for portraits. Every call may raise StoreError."""

    def __init__(self, ports: CommandPorts) -> None:
        self._ports = ports
        self._storage = ports.storage

    async def portrait(self, session: Session) -> Portrait:
        """Return the portrait of a session's scope."""
        scope = session.scope.key
        await self._storage.follower.refresh(session.scope)
        recaller, ledger = self._storage.recaller, self._storage.ledger
        memories = await recaller.count(scope)
        rows = await self._read(session, Filter(file=MEMORY_FILE), _PINNED) if memories else []
        rows += await self._read(session, Filter(), _NEWEST) if memories else []
        soon = await ledger.coming(scope, self._today().isoformat(), limit=_AHEAD) if memories else []
        records = await self._records(scope, rows, soon)
        return Portrait(
            sections=await self._sections(records, await self._ports.validity(session.scope)),
            since=await recaller.began(scope) if memories else 0.0,
            memories=memories,
            exchanges=await self._storage.episodes.count(scope),
            reviews=await waiting_reviews(self._storage.reviews, session.scope),
            changed=await self._changed(scope),
        )

    async def about(self, session: Session, name: str) -> About | None:
        """Return what memories say of a name, None where they do not have it as one."""
        if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
            return None
        scope = session.scope.key
        await self._storage.follower.refresh(session.scope)
        records = await self._records(scope, await self._read(session, Filter(text=name), _NAMING), ())
        validity = await self._ports.validity(session.scope)
        sections = await self._sections([each for each in records if says_name(each.text, name)], validity)
        topic = next((each for each in _topics(sections) if each.name == name), None)
        if topic is None:
            return None
        if topic.relation and topic.relation != name:  # "my sister" is said of her, too, where there is no other one
            related = await self._read(session, Filter(text=topic.relation), _NAMING)
            merged = {each.id: each for each in [*records, *await self._records(scope, related, ())]}
            sections = await self._sections(sorted(merged.values(), key=lambda each: -each.at), validity)
            topic = next((each for each in _topics(sections) if each.name == name), topic)
        own = {line.id for line in topic.lines}
        others = [
            each for each in _topics(sections) if each.name != name and any(line.id in own for line in each.lines)
        ]
        return About(topic=topic, others=others[:_OTHERS])

    async def everything(self, session: Session, *, shown: Callable[[str], str]) -> tuple[Sections, list[Line]]:
        """Return all memories of a scope: in sections, and as lines, the newest first.

        shown: what may be shown of a text, "" for nothing.
        """
        await self._storage.follower.refresh(session.scope)
        records = await self._records(session.scope.key, await self._read(session, Filter(), _ALL), ())
        records = [replace(each, text=text) for each in records if (text := shown(each.text))]
        known = [each for each in records if each.type != "S" and each.category not in UNWRITTEN]
        validity = await self._ports.validity(session.scope)
        lines = [line_of(each) for each, _ in told(known, validity, past=True)]
        return await self._sections(known, validity), lines

    async def _read(self, session: Session, only: Filter, limit: int) -> list[Stored]:
        return list(await self._storage.recaller.listed(session.scope.key, only, limit))

    async def _records(self, scope: str, rows: Sequence[Stored], ids: Sequence[str]) -> list[MemoryRecord]:
        """Return rows and memories of the journal as records, the newest first."""
        ledger = self._storage.ledger
        stored = {row.entry.id: row for row in rows}
        known = await ledger.memories(scope, sorted({*stored, *ids}))
        records = [
            record_of(stored[identity], known.get(identity)) if identity in stored else known[identity]
            for identity in {**dict.fromkeys(stored), **dict.fromkeys(each for each in ids if each in known)}
        ]
        return sorted(records, key=lambda record: -record.at)

    async def _sections(self, records: Sequence[MemoryRecord], validity: Validity) -> Sections:
        states = told(records, validity, past=True)
        over = {memory.id for memory, state in states if state == "over"}
        memories = [memory for memory, _ in states]
        return await asyncio.to_thread(sections_of, memories, today=self._today(), day_of=self._day, over=over)

    async def _changed(self, scope: str) -> list[Changed]:
        """Return the newest memories that took the place of others, and what these said."""
        ledger = self._storage.ledger
        receipts = await ledger.receipts(limit=_RECEIPTS, scope=scope, imports=False)
        times = {
            outcome.id: receipt.at
            for receipt in reversed(receipts)
            for outcome in receipt.outcomes
            if outcome.action in _REPLACED and outcome.id
        }
        replaced = await ledger.replaced(scope, list(times))
        known = await ledger.without_forgotten(scope, sorted({*replaced, *replaced.values()}))
        states = await ledger.states(scope, sorted(replaced))
        changed = [
            Changed(line=line_of(known[new]), old=line_of(known[old]), at=times[new])
            for new, old in replaced.items()
            if {new, old} <= known.keys() and states[new][0] == "active"
        ]
        told = [each for each in changed if each.line.text and each.old.text not in ("", each.line.text)]
        return sorted(told, key=lambda each: -each.at)[:_CHANGES]

    def _today(self) -> date:
        return self._ports.memory.now().astimezone(self._ports.memory.zone).date()

    def _day(self, at: float) -> date:
        return datetime.fromtimestamp(at, self._ports.memory.zone).date()


def _topics(sections: Sections) -> Iterable[Topic]:
    return chain(sections.people, sections.projects, sections.topics)
