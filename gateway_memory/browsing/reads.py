"""Reads for the page: memories with their sources, days, conversations and replies of one scope."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from itertools import groupby
from typing import Final

from gateway_memory.browsing.people import People
from gateway_memory.browsing.trial import Trial, Trials
from gateway_memory.capture.changes import UNDONE_WITHIN
from gateway_memory.commands.command import CommandPorts
from gateway_memory.context.blocks import told
from gateway_memory.scope import Scope
from gateway_memory.sessions.session import Session
from gateway_memory.store.documents import MEMORY_FILE, is_writable
from gateway_memory.store.journal.episodes import Episode
from gateway_memory.store.journal.ledger import HistoryLine, Spent
from gateway_memory.store.journal.turns import Reply
from gateway_memory.store.journal.uses import Uses
from gateway_memory.store.memory_record import EXCHANGE, TALK, MemoryRecord
from gateway_memory.store.patches import digest_of
from gateway_memory.store.plan import Receipt
from gateway_memory.store.unmarked import with_marks
from gateway_memory.store.validity import State
from gateway_memory.sync.entries import record_of
from gateway_memory.sync.episodes import SPEAKERS, turn_of
from recall import Stored

_RECEIPTS: Final = 200
_MOST_OF_A_DAY: Final = 2000
"""Exchanges of one day that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An exchange as it may be shown, and the memories that were learnt from it. at: epoch seconds."""

    turn: int
    at: float
    user: str
    reply: str
    learnt: Sequence[MemoryRecord] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """The exchanges of one session, oldest first. name: what a person or the host calls it, "" for nothing."""

    session_id: str
    session_key: str
    name: str
    said: Sequence[Said]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDetails:
    """A memory, with what it was learnt from (None if that is gone), its history, and how often it was of use.

    stored: its row; None if it is not active any more. state: whether it holds today.
    others: the memories that its history names.
    """

    record: MemoryRecord
    stored: Stored | None
    said: Said | None
    history: Sequence[HistoryLine]
    others: Mapping[str, MemoryRecord]
    uses: Uses
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyDetails:
    """A reply, what was said in its turn (None if that is gone), and the memories that it was given.

    recalled: each with its id and its text, "" if the text is gone. texts: of all that was considered, by id.
    verdicts: what a person said of a memory, by its id; "" is the reply as a whole.
    """

    reply: Reply
    said: Said | None
    recalled: Sequence[tuple[str, str]]
    texts: Mapping[str, str]
    verdicts: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What a fresh session would be given for a message. texts: of all that was considered, by id, "" if it is gone.

    files: of memories that can be corrected and moved, by id.
    """

    trial: Trial
    texts: Mapping[str, str]
    files: Mapping[str, str]


class Browsing:
    """Reads for pages. Every call may raise StoreError."""

    def __init__(self, ports: CommandPorts, trials: Trials) -> None:
        self._ports = ports
        self._trials = trials
        self._storage = ports.storage
        self.people: Final = People(ports)

    async def failed_at(self, *, since: float) -> float:
        """Return when a process failed last since a time, in epoch seconds; 0 where none has."""
        return max((each.at for each in await self._storage.health.failures(since=since)), default=0.0)

    async def mark(self) -> str:
        """Return a text that changes when another process has failed or learnt something: see `Health.mark`."""
        return await self._storage.health.mark()

    async def holds(self, scope: Scope) -> bool:
        """Return whether a scope holds anything."""
        return await self._storage.sessions.knows(scope.key) or bool(await self._storage.documents.scan(scope))

    async def details(self, session: Session, identity: str) -> MemoryDetails | None:
        """Return what is known of a memory; None for an unknown id."""
        scope = session.scope.key
        await self._storage.follower.refresh(session.scope)
        stored = await self._storage.recaller.get(scope, identity)
        record = (await self._storage.ledger.without_forgotten(scope, [identity])).get(identity)
        if record is None and stored is not None and stored.entry.kind == "item":
            record = record_of(stored, None)
        if record is None:
            return None
        history = await self._storage.ledger.history(scope, identity)
        others = sorted({line.other for line in history if line.other})
        exchanges = await self._exchanges(scope, [record.turn] if record.turn else [])
        states = told([record], await self._ports.validity(session.scope), past=True)
        return MemoryDetails(
            record=record,
            stored=stored,
            said=exchanges[0][1] if exchanges else None,
            history=history,
            others=await self._storage.ledger.without_forgotten(scope, others),
            uses=await self._storage.ledger.uses_of(scope, identity, zone=self._ports.memory.zone),
            state=states[0][1] if stored else "",
        )

    async def document(self, session: Session) -> str:
        """Return MEMORY.md of a scope as it is, "" if there is none. Undecodable bytes are surrogate escapes."""
        read = await self._storage.documents.read(session.scope, MEMORY_FILE)
        return read[0] if read else ""

    async def save_document(self, session: Session, text: str, *, digest: str) -> bool:
        """Put a person's text in the place of MEMORY.md, as an edit by hand; return False if it has changed since.

        text: without the marks of memories, which are put back. digest: `digest_of` the file from which it began.
        """
        async with self._storage.documents.writing(session.scope):
            was = await self.document(session)
            if digest_of(was) != digest or not await self._storage.documents.save(
                session.scope, MEMORY_FILE, await asyncio.to_thread(with_marks, text, was), was=was
            ):
                return False
        await self._storage.follower.refresh(session.scope, file=MEMORY_FILE, source=session.key)
        return True

    async def days(self, session: Session) -> Mapping[date, int]:
        """Return how many exchanges each day has, in the configured zone."""
        zone = self._ports.memory.zone
        times = await self._storage.episodes.times(session.scope.key)
        return Counter(datetime.fromtimestamp(at, zone).date() for at in times)

    async def talks(self, session: Session, day: date) -> Sequence[Talk]:
        """Return the talks of a day, each with the exchanges of that day."""
        zone = self._ports.memory.zone
        start, end = (datetime.combine(each, time(), zone).astimezone(zone) for each in (day, day + timedelta(days=1)))
        turns = await self._storage.episodes.between(
            session.scope.key, start.timestamp(), end.timestamp(), _MOST_OF_A_DAY
        )
        return await self._talks(session.scope.key, turns)

    async def talk(self, session: Session, turn: int, *, around: int) -> Talk | None:
        """Return the exchange of a turn with those around it in its session; None if there is no such turn."""
        turns = await self._storage.episodes.around(session.scope.key, turn, around)
        return next(iter(await self._talks(session.scope.key, turns)), None)

    async def replies(self, session: Session, *, before: int, limit: int) -> Sequence[ReplyDetails]:
        """Return the newest replies whose turns have a number below `before`, newest first."""
        scope = session.scope.key
        replies = await self._storage.turns.replies(scope, before=before, limit=limit)
        exchanges = {each.turn: each for _, each in await self._exchanges(scope, [reply.turn for reply in replies])}
        considered = {reply.turn: [row.id for row in reply.report.rows] if reply.report else [] for reply in replies}
        texts = await self._texts(
            scope, sorted({each for reply in replies for each in (*reply.recalled, *considered[reply.turn])})
        )
        verdicts: dict[int, dict[str, str]] = {}
        for each in await self._storage.ledger.rated(scope, turns=[reply.turn for reply in replies]) if replies else ():
            verdicts.setdefault(each.turn, {})[each.memory] = each.verdict
        return [
            ReplyDetails(
                reply=reply,
                said=exchanges.get(reply.turn),
                recalled=[(identity, texts[identity]) for identity in reply.recalled],
                texts={identity: texts[identity] for identity in considered[reply.turn]},
                verdicts=verdicts.get(reply.turn, {}),
            )
            for reply in replies
        ]

    async def exchanges(self, session: Session, turns: Sequence[int]) -> Sequence[tuple[Episode, Said]]:
        """Return what may be shown of turns, in their order."""
        return await self._exchanges(session.scope.key, turns)

    async def trial(
        self, session: Session, message: str, *, min_score: float | None = None, quoted_from: float | None = None
    ) -> Tried:
        """Return what a fresh session of a scope would be given for a message; nothing of it is recorded.

        min_score, quoted_from: as in `Trials.run`.
        """
        trial = await self._trials.run(session.who, message, min_score=min_score, quoted_from=quoted_from)
        rows = trial.context.report.rows if trial.context.report else ()
        scope, ids = session.scope.key, [row.id for row in rows]
        texts, files = dict(await self._texts(scope, ids)), {}
        for identity in ids:
            stored = None if turn_of(identity) else await self._storage.recaller.get(scope, identity)
            if stored:
                texts[identity] = stored.entry.text
                if is_writable(stored.file):
                    files[identity] = stored.file
        return Tried(trial=trial, texts=texts, files=files)

    async def outcomes(self, session: Session, *, since: float, limit: int) -> Sequence[tuple[float, str]]:
        """Return when the newest replies since a time were made (epoch seconds), each with how its recall went."""
        return await self._storage.turns.outcomes(session.scope.key, since=since, limit=limit)

    async def changed(self, session: Session, *, since: float, limit: int) -> Sequence[Receipt]:
        """Return the newest receipts since a time (epoch seconds), newest first, without those of imports."""
        return await self._storage.ledger.receipts(limit=limit, scope=session.scope.key, since=since, imports=False)

    async def undoable(self, session: Session) -> frozenset[int]:
        """Return the numbers of the receipts whose changes an undo reaches."""
        return await self._storage.ledger.reachable(session.scope.key, UNDONE_WITHIN)

    async def replaced(self, session: Session, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the text of the memory that each of these replaced, "" if it is gone, for those that replaced one."""
        scope, ledger = session.scope.key, self._storage.ledger
        replaced = await ledger.replaced(scope, ids) if ids else {}
        known = await ledger.without_forgotten(scope, sorted(replaced.values())) if replaced else {}
        return {new: known[old].text if old in known else "" for new, old in replaced.items()}

    async def unsaid(self, session: Session, ids: Sequence[str]) -> Mapping[str, MemoryRecord]:
        """Return, of some ids in receipts, those that stand for an exchange or a session that was forgotten whole."""
        known = await self._storage.ledger.memories(session.scope.key, ids) if ids else {}
        return {identity: each for identity, each in known.items() if each.category in (EXCHANGE, TALK)}

    async def spent(self, since: date) -> Mapping[str, Spent]:
        """Return what models used on each day since a day that had any, by YYYY-MM-DD: of all scopes together."""
        return await self._storage.ledger.spent_since(since.isoformat())

    async def lives(self, session: Session, *, limit: int) -> Sequence[tuple[MemoryRecord, str, str, float]]:
        """Return the memories that the newest receipts name, and those that they replaced. limit: of the former.

        Each with its state, the id of the memory that replaced it or "", and when it ended (epoch seconds, 0: it
        stands).
        """
        scope, ledger = session.scope.key, self._storage.ledger
        receipts = await ledger.receipts(limit=_RECEIPTS, scope=scope, imports=False)
        named = dict.fromkeys(outcome.id for receipt in receipts for outcome in receipt.outcomes if outcome.id)
        ids = set(list(named)[:limit])
        past = await ledger.histories(scope, sorted(ids))
        older = {line.other for lines in past.values() for line in lines if line.other} - ids
        past |= await ledger.histories(scope, sorted(older))
        known = await ledger.without_forgotten(scope, sorted(past))
        states = await ledger.states(scope, sorted(past))
        return [
            (_begun(record, past[identity]), *states[identity], _ended(states[identity][0], past[identity]))
            for identity, record in known.items()
            if identity in states
        ]

    async def _talks(self, scope: str, turns: Sequence[int]) -> Sequence[Talk]:
        episodes = await self._exchanges(scope, turns)
        episodes.sort(key=lambda each: (each[0].session_id, each[1].turn))
        keys = sorted({episode.session_key for episode, _ in episodes})
        names = await self._storage.names.within(scope, keys)
        talks = []
        for session_id, group in groupby(episodes, key=lambda each: each[0].session_id):
            exchanges = list(group)
            key = exchanges[0][0].session_key
            said = [each for _, each in exchanges]
            talks.append(Talk(session_id=session_id, session_key=key, name=names.get(key, ""), said=said))
        return sorted(talks, key=lambda talk: talk.said[0].at)

    async def _texts(self, scope: str, ids: Sequence[str]) -> Mapping[str, str]:
        """Return the texts of memories, and of sides of exchanges, by their ids; "" for one that is gone."""
        known = await self._storage.ledger.without_forgotten(scope, ids)
        turns = [turn for turn in map(turn_of, ids) if turn]
        quoted = {each.turn: each for _, each in await self._exchanges(scope, turns)}

        def text_of(identity: str) -> str:
            exchange = quoted.get(turn_of(identity))
            if exchange:
                by_user = identity.startswith(f"e{exchange.turn}{SPEAKERS[0][0]}")
                return (exchange.user or exchange.reply) if by_user else (exchange.reply or exchange.user)
            return known[identity].text if identity in known else ""

        return {identity: text_of(identity) for identity in ids}

    async def _exchanges(self, scope: str, turns: Sequence[int]) -> list[tuple[Episode, Said]]:
        """Return what may be shown of turns, in their order, with what was learnt from each."""
        quotable = await self._storage.episodes.quotable(scope, turns)
        learnt: dict[int, list[MemoryRecord]] = {}
        for memory in await self._storage.ledger.of_turns(scope, turns):
            learnt.setdefault(memory.turn, []).append(memory)
        exchanges = []
        for turn in turns:
            sides = quotable.sides(turn)
            if sides is not None:
                episode = quotable.episodes[turn]
                exchange = Said(turn=turn, at=episode.at, user=sides[0], reply=sides[1], learnt=learnt.get(turn, ()))
                exchanges.append((episode, exchange))
        return exchanges


def _begun(record: MemoryRecord, history: Sequence[HistoryLine]) -> MemoryRecord:
    """Return a memory with the time from which it stands: one that replaced another stands since then."""
    replaced = next((line.at for line in history if line.event == "added" and line.other), record.at)
    return replace(record, at=max(record.at, replaced))


def _ended(state: str, history: Sequence[HistoryLine]) -> float:
    """Return when a memory ended: its last event, or 0 if it stands."""
    return history[-1].at if history and state != "active" else 0.0
