"""Accepted turns, and the plans by which they are processed."""

import json
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from gateway_memory.errors import LeaseLostError
from gateway_memory.ground.databases import EVERY, Database
from gateway_memory.store.journal.arrivals import NewTurn, accept
from gateway_memory.store.journal.episodes import Episode, Unread, keep_episodes, take_unread, wait_for_model
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.journal.memories import save_memories
from gateway_memory.store.journal.opened import remember
from gateway_memory.store.journal.reviews import save_reviews
from gateway_memory.store.journal.speakers import Sender, rename
from gateway_memory.store.journal.sql import (
    AMONG,
    AMONG_NUMBERS,
    SQL,
    UNDECODABLE,
    ProcessSlot,
    SqlConnection,
    Table,
    columns_of,
    made,
    upsert,
)
from gateway_memory.store.journal.tidier import FAILED, Tidier
from gateway_memory.store.patches import Patch
from gateway_memory.store.plan import Plan
from gateway_memory.store.report import ReplyReport
from notifier import Event

TurnState = Literal["accepted", "ruled"]
"""The next stage of a turn: the rules, or the batch that a model reads."""
UNNUMBERED: Final = -1
"""Stands for the number of a turn that is stored on this machine and that the database has not numbered yet."""
_ACCEPTED: Final = 0
_RULED: Final = 1
_STAGES: Final[dict[TurnState, int]] = {"accepted": _ACCEPTED, "ruled": _RULED}
"""The values of the column `stage`. A parked turn has the value of its stage minus `_PARKED`."""
_PARKED: Final = 100
_UNREAD: Final[dict[Unread, int]] = {"rules": _ACCEPTED, "model": _RULED}
"""The stage at which an unread episode is taken up, by who has still to read it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTurn:
    """An accepted turn that is not yet processed. `id` is its number; times are epoch seconds.

    extract, joined, speaker, speaker_prefix: see NewTurn. imported: it is an episode that another program recorded.
    """

    id: int
    scope: str
    session_key: str
    session_id: str
    user: str
    reply: str
    at: float
    accepted_at: float
    extract: bool = True
    imported: bool = False
    joined: str = ""
    speaker: str = ""
    speaker_prefix: str = ""

    @property
    def sender(self) -> Sender:
        """Who has said it."""
        return Sender(self.speaker, self.speaker_prefix.rstrip(":： "))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A reply: its turn, the ids of the memories that were recalled for it, and what was considered, if it is known.

    session_key: the key of its session.
    """

    turn: int
    at: float
    recalled: tuple[str, ...]
    session_key: str = ""
    report: ReplyReport | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The waiting work of all processes. Times are epoch seconds, 0 if nothing waits.

    rules, batch, parked, failed: turns. rules_at, batch_at: when the oldest was accepted.
    outbox: events to send.
    quarantined: rows that can't be decoded.
    """

    rules: int = 0
    batch: int = 0
    parked: int = 0
    failed: int = 0
    rules_at: float = 0.0
    batch_at: float = 0.0
    outbox: int = 0
    outbox_at: float = 0.0
    quarantined: int = 0


class Turns(Table):
    """Accepted turns and the work on them. Every call may raise StoreError, and has then changed nothing.

    A process holds its turns by a lease: its slot together with a random token. Once another process has taken over the
    lease, `finish` raises LeaseLostError.
    """

    def __init__(self, connection: SqlConnection, slot: ProcessSlot, event_log: EventLog) -> None:
        super().__init__(connection)
        self._slot = slot
        self._event_log = event_log
        self._token = secrets.token_hex(8)
        self._tidier = Tidier(connection)

    async def open(self) -> None:
        """Take over the lease of the slot. The previous holder loses it."""
        query = upsert("leases", "slot, token, state", "slot")
        await self._change(EVERY, query, self._slot.number, self._token, "")

    async def accept(self, turn: NewTurn) -> int:
        """Store a turn until it is processed, and return its number. It is durable when this returns.

        Returns UNNUMBERED if the database has still to number it, and 0 if the database refuses it.
        """
        return await self._write(turn.scope, accept, turn, self._slot.number)

    async def waiting(
        self, state: TurnState, *, session_id: str | None = None, limit: int = 256, besides: Sequence[str] = ()
    ) -> list[PendingTurn]:
        """Return turns of this process's lease that wait for a stage, oldest first.

        besides: scopes, by key, whose turns are left out.
        """
        query = (
            f"SELECT {columns_of(PendingTurn)} FROM turns WHERE slot = ? AND stage = ? AND (CAST(? AS TEXT) IS NULL OR "
            f"session_id = ?) AND scope NOT IN {AMONG} ORDER BY id LIMIT ?"
        )
        values = (self._slot.number, _STAGES[state], session_id, session_id, json.dumps(list(besides)), limit)
        turns = made(PendingTurn, await self._rows(EVERY, query, *values))
        return [replace(each, extract=bool(each.extract), imported=bool(each.imported)) for each in turns]

    async def take_up(self, episodes: Sequence[Episode], at: float) -> int:
        """Queue imported episodes that the rules or the model have still to read, as turns of this process.

        Return their number.

        Each is marked as read in the same transaction. Left out are those that another process took up meanwhile, and
        those without a text.

        episodes: with the text that may be quoted. at: the current time, in epoch seconds.
        """
        query = SQL["turns.add_unread"]

        def work(database: Database) -> int:
            unread = [each for each in episodes if take_unread(database, each) and (each.user or each.reply)]
            rows = [
                (
                    each.turn, each.scope, each.session_key, each.session_id, each.user, each.reply, each.at, at,
                    _UNREAD[each.unread], self._slot.number, True,
                )
                for each in unread
            ]  # fmt: skip
            database.executemany(query, rows)
            return len(unread)

        scopes = sorted({each.scope for each in episodes})
        return await self._connection.transact(work, scopes=scopes, exclusive=[f"unread {scope}" for scope in scopes])

    async def park(self, turn: int) -> None:
        """Set a turn aside on which processing failed. It waits for `unpark`."""
        await self._change(EVERY, f"UPDATE turns SET stage = stage - {_PARKED} WHERE id = ? AND stage >= 0", turn)

    async def unpark(self) -> None:
        """Return this process's parked turns to their stage."""
        query = f"UPDATE turns SET stage = stage + {_PARKED} WHERE slot = ? AND stage < 0"
        await self._change(EVERY, query, self._slot.number)

    async def adopt(self, left: Callable[[], object] = lambda: None) -> int:
        """Take over the turns and plans of dead processes and of hooks, and return the number of those processes.

        left: called where accepted turns of this process wait: another one may have left them to it.
        """
        adopted = 0
        query = f"SELECT slot, stage = {_ACCEPTED} FROM turns UNION SELECT slot, FALSE FROM plans"
        slots = [(int(slot), bool(accepted)) for slot, accepted in await self._rows(EVERY, query)]
        if (self._slot.number, True) in slots:
            left()
        for number in {slot for slot, _ in slots}:
            if (lock := self._slot.orphan(number)) is None:
                continue

            def work(database: Database, dead: int = number) -> None:
                for table in ("turns", "plans"):
                    database.execute(f"UPDATE {table} SET slot = ? WHERE slot = ?", (self._slot.number, dead))

            with lock:
                await self._connection.transact(work, scopes=EVERY, exclusive=[slot_name(number)])
            adopted += 1
        return adopted

    async def failed(self) -> int:
        """Return the number of turns, of all processes, whose model failed and that wait for `retry`."""
        (number,) = await self._column(EVERY, f"SELECT count(*) FROM turns WHERE stage = {FAILED}")
        return int(number)

    async def leave_unsaid(self, turns: Sequence[int]) -> None:
        """Do not keep these waiting turns as episodes."""
        rows = [(False, turn) for turn in turns]
        await self._change_many(EVERY, "UPDATE turns SET episode = ? WHERE id = ?", rows)

    async def number_of(self, scope: str, session_key: str, turn_id: str) -> int:
        """Return the number of the turn that its host has named so; 0 if there is none."""
        query = "SELECT turn FROM replies WHERE scope = ? AND session_key = ? AND turn_id = ?"
        return next(iter(await self._column(scope, query, scope, session_key, turn_id)), 0)

    async def drop(self, turn: int) -> None:
        """Let nothing more be learnt from a waiting turn. One that the rules have still to read is passed over."""

        def work(database: Database) -> None:
            query = f"UPDATE turns SET extract = FALSE, episode = FALSE WHERE id = ? AND stage = {_ACCEPTED}"
            if not database.execute(query, (turn,)).rowcount:
                database.execute("DELETE FROM turns WHERE id = ?", (turn,))

        await self._write(EVERY, work)

    async def retry(self) -> list[str]:
        """Return failed turns to the batch stage in this process; return the ids of their sessions."""

        def work(database: Database) -> list[str]:
            sessions = database.execute(f"SELECT DISTINCT session_id FROM turns WHERE stage = {FAILED}").fetchall()
            query = f"UPDATE turns SET stage = {_RULED}, slot = ? WHERE stage = {FAILED}"
            database.execute(query, (self._slot.number,))
            return [str(row[0]) for row in sessions]

        return await self._write(EVERY, work)

    async def last_reply(self, scope: str, session_id: str) -> Reply | None:
        """Return the last reply of a session, or None before the first reply."""
        which = "scope = ? AND session_id = ? ORDER BY turn DESC LIMIT 1"
        return next(iter(await self._replies(scope, which, session_id)), None)

    async def replies(self, scope: str, *, before: int, limit: int) -> list[Reply]:
        """Return the newest replies of a scope whose turns have a number below `before`, newest first."""
        return await self._replies(scope, "scope = ? AND turn < ? ORDER BY turn DESC LIMIT ?", before, limit)

    async def outcomes(self, scope: str, *, since: float, limit: int) -> list[tuple[float, str]]:
        """Return when the newest replies since a time were made (epoch seconds), and how recall went, newest first."""
        rows = await self._rows(scope, SQL["turns.outcomes"], scope, since, limit)
        return [(float(at), str(outcome)) for at, outcome in rows if outcome is not None]

    async def _replies(self, scope: str, which: str, *values: object) -> list[Reply]:
        query = f"SELECT turn, scope, recalled, at, report, session_key FROM replies WHERE {which}"
        rows = await self._rows(scope, query, scope, *values)
        return await self._decoded("replies", "turn", rows, _reply)

    async def queue(self) -> Queue:
        """Return the waiting work of all processes."""
        stages = (_ACCEPTED, _RULED, FAILED, _RULED, _RULED)
        (queue,) = made(Queue, await self._rows(EVERY, SQL["turns.queue"], *stages))
        outbox, outbox_at = await self._event_log.waiting()
        return replace(queue, outbox=outbox, outbox_at=outbox_at)

    async def tidy(self, *, before: float, now: float) -> None:
        """Delete what is no longer needed: of each scope all but the newest receipts, replies and changes for undo.

        A reply of the last week stays. before: turns whose model failed and observations go, if they are older.
        now: the current time. Both in epoch seconds.

        Raises:
            StoreBusyError: another process is tidying.
        """
        await self._tidier.tidy(before=before, now=now)
        await self._connection.shed()

    # Plans

    async def save_plan(self, plan: Plan, events: Sequence[Event] = ()) -> tuple[int, list[Event]]:
        """Write a plan ahead, with its events; return its number, and the events with their numbers."""

        def work(database: Database) -> tuple[int, list[Event]]:
            # Otherwise the process that took the turns over would save the same memories.
            if plan.stage in ("rules", "batch"):
                self._check_lease(database, plan.turns, all_there=True)
            save_memories(database, plan)
            query = "INSERT INTO plans (scope, slot, body) VALUES (?, ?, ?) RETURNING id"
            number = int(database.execute(query, (plan.scope, self._slot.number, plan.to_json())).fetchone()[0])
            return number, self._event_log.add(database, events, plan=number, now=plan.at)

        return await self._connection.transact(
            work, scopes=EVERY, exclusive=[plan.scope], shared=[slot_name(self._slot.number)]
        )

    async def plans(self) -> list[tuple[int, Plan]]:
        """Return the plans of this process's lease that are not recorded as completed, oldest first."""
        query = "SELECT id, scope, body FROM plans WHERE slot = ? ORDER BY id"
        rows = await self._rows(EVERY, query, self._slot.number)
        plans = await self._decoded("plans", "id", rows, lambda row: (int(row[0]), Plan.from_json(row[2])))
        # An undecodable plan is gone. Its turns are processed again.
        if lost := {int(row[0]) for row in rows} - {number for number, _ in plans}:

            def work(database: Database) -> None:
                for number in lost:
                    self._event_log.discard(database, number)

            await self._write(EVERY, work)
        return plans

    async def finish(self, plan: Plan, number: int | None, patches: Sequence[Patch] = ()) -> None:
        """Record in one transaction that a plan is completed, with its turns, receipt, history, reviews and events.

        After the rules, a turn that is to be kept becomes an episode. An imported one that the model could not read
        waits as an unread episode again.

        number: the number of a plan that was written ahead.
        patches: the edits of the plan's documents.

        Raises:
            LeaseLostError: another process has taken over the turns; nothing was recorded.
        """
        fails = plan.failed and not plan.imported
        advance = {
            "rules": f"UPDATE turns SET stage = {_RULED} WHERE id = ? AND extract",
            "batch": f"UPDATE turns SET stage = {FAILED} WHERE id = ?" if fails else "",
        }.get(plan.stage) or "DELETE FROM turns WHERE id = ?"
        keys = {record.session_key for record in plan.records()}
        outcomes = [[item.turn, item.action, item.reason, item.id] for item in plan.outcomes]
        receipt = (
            plan.scope, ",".join(sorted(keys)), plan.stage, json.dumps(plan.turns), json.dumps(outcomes), plan.at,
        )  # fmt: skip

        def work(database: Database) -> None:
            self._check_lease(database, plan.turns)
            if number is not None:
                done = "DELETE FROM plans WHERE scope = ? AND id = ?"
                if not database.execute(done, (plan.scope, number)).rowcount:
                    return  # it was committed, but the commit's answer was lost
                self._event_log.mark_ready(database, number)
            if plan.stage == "rules":
                keep_episodes(database, plan.turns)
                only_said = "DELETE FROM turns WHERE id = ? AND NOT extract"
                database.executemany(only_said, [(turn,) for turn in plan.turns])
            if plan.failed and plan.imported:
                wait_for_model(database, plan.turns)
            database.executemany(advance, [(turn,) for turn in plan.turns])
            receipt_number = database.execute(SQL["turns.add_receipt"], receipt).fetchone()[0]
            if plan.writes:
                query = "INSERT INTO history (scope, memory, at, event, other) VALUES (?, ?, ?, ?, ?)"
                database.executemany(query, _history(plan))
                remember(database, plan)
            save_reviews(database, plan)
            query = upsert("feedback", "scope, turn, memory, verdict, at", "scope, turn, memory")
            rated = [(plan.scope, each.turn, each.memory, each.verdict, plan.at) for each in plan.rated]
            database.executemany(query, rated)
            for renamed in plan.renamed:
                rename(database, plan.scope, renamed)
            if (plan.writes or plan.settled) and plan.stage not in ("undo", "summary", "link", "rename"):
                change = (receipt_number, plan.scope, plan.to_json(), json.dumps([asdict(patch) for patch in patches]))
                database.execute("INSERT INTO changes VALUES (?, ?, ?, ?)", change)

        await self._connection.transact(
            work, scopes=EVERY, exclusive=[plan.scope], shared=[slot_name(self._slot.number)]
        )
        if number is not None:
            self._event_log.published(plan.scope)

    def _check_lease(self, database: Database, turns: Sequence[int], *, all_there: bool = False) -> None:
        """Raise LeaseLostError if another process has taken over the lease of these turns.

        all_there: raise also if a turn is gone: another process has completed it.
        """
        ours = database.execute("SELECT token FROM leases WHERE slot = ?", (self._slot.number,)).fetchone()
        if ours != (self._token,):
            raise LeaseLostError(f"slot {self._slot.number} was taken over by another process")
        query = f"SELECT count(*) FILTER (WHERE slot = ?), count(*) FROM turns WHERE id IN {AMONG_NUMBERS}"
        ((ours_now, all_now),) = database.execute(query, (self._slot.number, json.dumps(turns))).fetchall()
        if others := (len(set(turns)) if all_there else all_now) - ours_now:
            raise LeaseLostError(f"{others} turns were taken over by another process")


def _reply(row: Sequence[Any]) -> Reply:
    turn, _, recalled, at, report, session_key = row
    ids = tuple(str(each) for each in json.loads(recalled))
    return Reply(turn=turn, at=at, recalled=ids, report=_report(report), session_key=str(session_key))


def _report(body: str) -> ReplyReport | None:
    """Decode a report; None without one, or for one that can't be decoded: the reply matters more."""
    try:
        return ReplyReport.from_json(json.loads(body)) if body else None
    except UNDECODABLE:
        return None


def slot_name(number: int) -> str:
    """Return the name by which a slot's turns are locked while some are recorded, and its process is woken."""
    return f"slot {number}"


def _history(plan: Plan) -> Iterable[tuple[str, str, float, str, str]]:
    replaced = {item.replaced_by: item.memory.id for item in plan.retired if item.replaced_by}
    added = {"undo": "restored", "link": "linked"}.get(plan.stage, "added")
    for item in plan.retired:
        yield plan.scope, item.memory.id, plan.at, item.state, item.replaced_by
    for memory in plan.added:
        yield plan.scope, memory.id, plan.at, added, replaced.get(memory.id, "")
    for moved in plan.moved:
        yield plan.scope, moved.memory.id, plan.at, "restored" if plan.stage == "undo" else plan.stage, ""
