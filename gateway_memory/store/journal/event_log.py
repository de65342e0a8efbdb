"""Events in the journal, by origin and number, with the last numbers received by processes and shown to sessions.

An origin "<journal>.<slot>" is one process slot of one journal. It outlives restarts: the next process that holds the
slot's lock continues its numbers.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import takewhile
from typing import Any, Final

from gateway_memory.ground.databases import EVERY, Database
from gateway_memory.scope import Scope
from gateway_memory.store.journal.memories import find_memories
from gateway_memory.store.journal.sql import AMONG, SQL, ProcessSlot, SqlConnection, Table, quarantine
from gateway_memory.store.markdown import content_id, one_line
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.plan import Plan, ReceiptLine, Retired
from notifier import Event, MemoryChange, NotifierError, decode, encode, journal_of, split

_MOST_UNDELIVERED: Final = 1000
"""The maximum number of events of a scope that are returned to a session: the newest ones."""
_MOVED_SECONDS: Final = 5.0
_LEAP: Final = 1_000_000
"""Where a server steps back, numbers leap by far more. What lies before the leap stays until it expires."""
_FORGET: Final = "DELETE FROM events WHERE origin = ? AND number BETWEEN ? AND ?"
_EMPTY: Final = encode(Event(scope="", at=0.0, changes=()))


class EventLog(Table):
    """Events by origin and number. An origin is a process, whose numbers grow. Calls may raise StoreError.

    They have no gaps, but for one where the server of a shared store has stepped back.

    reader: a second connection from which the sender reads, so that commits do not delay it.
    slot: the process's lease.
    published: called after a commit that made events of a scope ready, with its key.
    sends: whether events leave this process.
    history: how many sent events of each origin are stored for retransmission.
    """

    def __init__(
        self,
        connection: SqlConnection,
        reader: SqlConnection,
        *,
        slot: ProcessSlot,
        sends: bool,
        history: int,
        published: Callable[[str], None] = lambda _: None,
    ) -> None:
        super().__init__(connection)
        self._reader = reader
        self._lease = slot
        self._slot = slot.number
        self._sends = sends
        self._history = history
        self.published = published
        self.journal = ""
        """The id of the store, which all of its processes share."""

    @property
    def instance(self) -> str:
        """The origin of this process."""
        return f"{self.journal}.{self._slot}"

    async def open(self) -> None:
        """Read the journal's id. A new slot begins after the events that the slots have sent or received."""

        def work(database: Database) -> str:
            journal = str(database.execute("SELECT journal FROM identity").fetchone()[0])
            database.execute(
                "INSERT INTO sources VALUES (?, 0, 0) ON CONFLICT DO NOTHING", (f"{journal}.{self._slot}",)
            )
            if not database.execute("SELECT 1 FROM heard WHERE slot = ?", (self._slot,)).fetchone():
                database.execute(SQL["event_log.begin_slot"], (self._slot,))
            return journal

        self.journal = await self._write((), work)

    def acquire_origin(self, origin: str) -> AbstractContextManager[object] | None:
        """Return a context in which this process may send an origin's events; None if another process does."""
        if origin == self.instance:
            return nullcontext()
        return self._lease.orphan(int(origin.partition(".")[2])) if journal_of(origin) == self.journal else None

    async def _sender_rows(self, query: str, *values: object) -> list[Any]:
        return await self._reader.rows(query, values, scopes=EVERY)

    # Events of this process

    def add(self, database: Database, events: Sequence[Event], *, plan: int | None, now: float) -> list[Event]:
        """Number and store events, in the caller's transaction. Events of a plan wait for `mark_ready`."""
        numbered: list[Event] = []
        for event in events:
            head, sent = self._next_number(database)
            body = encode(event)
            database.execute(
                "INSERT INTO events (origin, number, scope, kept_at, body, plan) VALUES (?, ?, ?, ?, ?, ?)",
                (self.instance, head, event.scope, now, body, plan),
            )
            upto = min(sent, head - self._history)  # never delete an unsent event
            database.execute(_FORGET, (self.instance, upto - _LEAP, upto))
            numbered.append(decode(body, origin=self.instance, number=head))
        return numbered

    def _next_number(self, database: Database) -> tuple[int, int]:
        """Return the next number of this process, and up to which one its events have been sent."""
        ((head, sent),) = database.execute(SQL["event_log.next_number"], (self._sends, self.instance)).fetchall()
        return int(head), int(sent)

    @staticmethod
    def mark_ready(database: Database, plan: int) -> None:
        """Make the events of a completed plan ready to send, in the caller's transaction."""
        database.execute("UPDATE events SET plan = NULL WHERE plan = ?", (plan,))

    @staticmethod
    def discard(database: Database, plan: int) -> None:
        """Empty the events of a plan that will never be completed, in the caller's transaction."""
        database.execute("UPDATE events SET body = ?, plan = NULL WHERE plan = ?", (_EMPTY, plan))

    async def planned(self, plan: int) -> list[Event]:
        """Return the events of a plan that is not completed, in order."""
        query = "SELECT origin, number, body FROM events WHERE plan = ? ORDER BY number"
        return await self._events(await self._rows(EVERY, query, plan))

    async def _events(self, rows: Sequence[Sequence[Any]]) -> list[Event]:
        """Return the events of rows (origin, number, body).

        An event that can't be decoded is quarantined and replaced with an empty one, since a gap would block later
        events.
        """
        events: list[Event] = []
        bad: list[Sequence[Any]] = []
        for origin, number, body in rows:
            try:
                events.append(decode(body, origin=origin, number=number))
            except NotifierError:
                bad.append((origin, number, body))
                events.append(Event(scope="", at=0.0, changes=(), origin=origin, number=number))

        def work(database: Database) -> None:
            for origin, number, body in bad:
                query = "UPDATE events SET body = ? WHERE origin = ? AND number = ? AND body = ? RETURNING scope"
                for (scope,) in database.execute(query, (_EMPTY, origin, number, body)).fetchall():
                    quarantine(database, "events", scope, body)

        if bad:
            await self._write(EVERY, work)
        return events

    async def add_edits(
        self, scope: str, changes: Sequence[MemoryChange], now: float, files: Mapping[str, str] | None = None
    ) -> list[Event]:
        """Store events about manual edits, and return them with their numbers. An undo takes deletions back.

        Changes that our own plans made, and changes that any process has stored before, are left out.

        now: epoch seconds. files: in which file each memory was, where it may be another than the journal has.
        """

        def work(database: Database) -> list[Event]:
            removed = [change.id for change in changes if change.action == "removed"]
            standing = find_memories(database, scope, removed, state="active") if removed else {}
            new = tuple(change for change in changes if _is_new_edit(database, scope, change, now))
            _make_undoable(database, scope, [standing[each.id] for each in new if each.id in standing], files, now)
            return self.add(database, list(split(Event(scope=scope, at=now, changes=new))), plan=None, now=now)

        events = await self._write(EVERY, work)  # `add` also deletes old events of other scopes
        if events:
            self.published(scope)
        return events

    async def missing(self, scope: str, ids: Sequence[str]) -> set[str]:
        """Return those of these memories that, by the journal, are in no document."""
        query = f"SELECT id FROM memories WHERE scope = ? AND state <> 'active' AND id IN {AMONG}"
        return set(await self._column(scope, query, scope, json.dumps(list(ids))))

    async def standing(self, scope: str, ids: Sequence[str], gone: Sequence[str], now: float) -> dict[str, str]:
        """Return the state of those of these memories that the journal knows.

        gone: those that are in no document; one of them that a plan moves or removes is "moving". now: epoch seconds.
        """

        def work(database: Database) -> dict[str, str]:
            query = f"SELECT id, state FROM memories WHERE scope = ? AND id IN {AMONG}"
            states = {str(row[0]): str(row[1]) for row in database.execute(query, (scope, json.dumps(list(ids))))}
            moving = [each for each in gone if states.get(each) == "active" and _is_moving(database, scope, each, now)]
            return states | dict.fromkeys(moving, "moving")

        return await self._connection.read(work, scopes=EVERY)

    async def edited_since(self, scope: str, at: float) -> bool:
        """Return whether a stored event reports an edit by hand after a time (epoch seconds)."""
        query = "SELECT origin, number, body FROM events WHERE scope = ? AND kept_at > ?"
        events = await self._events(await self._rows(scope, query, scope, at))
        return any(change.by_hand for event in events for change in event.changes)

    # For the notifier

    async def sent(self) -> dict[str, int]:
        """Return the last number that was sent, by origin of this journal."""
        return dict(await self._sender_rows("SELECT origin, sent FROM sources"))

    async def completed(self) -> dict[str, int]:
        """Return the number before the first event whose plan is not completed, else the last one, by origin."""
        return dict(await self._sender_rows(SQL["event_log.completed"]))

    async def mark_sent(self, origin: str, upto: int) -> None:
        """Record that an origin's events up to a number have been sent."""
        await self._change((), "UPDATE sources SET sent = max(sent, ?) WHERE origin = ?", upto, origin)

    async def ready(self, origin: str, after: int, limit: int, scopes: Collection[str] | None = None) -> list[Event]:
        """Return an origin's ready events after a number, in order, at most `limit`.

        scopes: events of others come without their changes.
        """
        body, values = "body", [origin, after, limit]
        if scopes is not None:
            body, values = f"CASE WHEN scope IN {AMONG} THEN body ELSE ? END", [json.dumps([*scopes]), _EMPTY, *values]
        query = (
            f"SELECT origin, number, {body}, plan FROM events WHERE origin = ? AND number > ? ORDER BY number LIMIT ?"
        )
        rows = await self._sender_rows(query, *values)
        events = await self._events([row[:3] for row in takewhile(lambda row: row[3] is None, rows)])
        if not any(event.changes for event in events):
            return events
        return await self._reader.read(lambda database: _without_removed(database, events), scopes=EVERY)

    async def oldest(self, origin: str) -> int:
        """Return the lowest stored number of an origin; the last number plus one if none is stored."""
        ((lowest,),) = await self._sender_rows(SQL["event_log.oldest"], origin, origin)
        return int(lowest)

    async def received_upto(self) -> dict[str, int]:
        """Return the last number that this process has received, by origin."""
        return dict(await self._rows((), "SELECT origin, number FROM heard WHERE slot = ?", self._slot))

    async def commit_received(self, events: Sequence[Event], received_upto: Mapping[str, int], now: float) -> None:
        """Store events of other journals, and the last received numbers, in one transaction. now: epoch seconds."""
        rows = [(event.origin, event.number, event.scope, now, encode(event)) for event in events]

        def work(database: Database) -> None:
            database.executemany(  # another process of this workspace may have stored them already
                SQL["event_log.add_received"],
                rows,
            )
            for origin, number in received_upto.items():
                database.execute(SQL["event_log.mark_received"], (self._slot, origin, number))
                if not origin.startswith(self.journal):
                    upto = number - self._history
                    database.execute(_FORGET, (origin, upto - _LEAP, upto))

        await self._write(EVERY, work)

    # Delivery to sessions

    async def mark_delivered(self, scope: str, session_id: str, upto: Mapping[str, int]) -> None:
        """Record that a session of a scope was shown all events up to these numbers, by origin."""
        query = SQL["event_log.mark_delivered"]
        await self._change_many((), query, [(scope, session_id, origin, number) for origin, number in upto.items()])

    async def delivered(self, scope: str, session_id: str) -> dict[str, int]:
        """Return up to which number a session of a scope was shown all events, by origin."""
        query = "SELECT origin, number FROM told WHERE scope = ? AND session_id = ?"
        return dict(await self._rows((), query, scope, session_id))

    async def undelivered(self, scope: str, session_id: str, *, since: float) -> list[Event]:
        """Return the events of a scope that were not delivered to its open session, oldest first.

        Events from before the session was opened are left out.

        since: epoch seconds; older events have expired.
        """
        rows = await self._rows(scope, SQL["event_log.undelivered"], scope, session_id, since, _MOST_UNDELIVERED)
        events = await self._events(rows[::-1])
        return await self._read(scope, _without_removed, events)

    async def waiting(self) -> tuple[int, float]:
        """Return the number of unsent events of this journal, and the oldest one's epoch seconds (or 0)."""

        def work(database: Database) -> list[tuple[int, float | None]]:
            query = "SELECT count(*), min(kept_at) FROM events WHERE origin = ? AND number > ?"
            behind = database.execute("SELECT origin, sent FROM sources WHERE sent < head").fetchall()
            counts = [database.execute(query, row) for row in behind]
            return [count.fetchone() for count in counts]

        unsent = await self._read(EVERY, work)
        return sum(number for number, _ in unsent), min((at for _, at in unsent if at is not None), default=0.0)

    async def tidy(self, *, before: float) -> None:
        """Delete events from before a time (epoch seconds), and the delivery state of ended sessions."""

        def work(database: Database) -> None:
            database.execute("DELETE FROM events WHERE kept_at < ? AND plan IS NULL", (before,))
            database.execute(SQL["event_log.skip_deleted"])
            database.execute(SQL["event_log.forget_delivered"])

        await self._connection.unhurried.transact(work, scopes=EVERY)


def _without_removed(database: Database, events: Sequence[Event]) -> list[Event]:
    """Return events in which what was removed since is told as removed, without its text.

    Each keeps its changes: receivers wait for every number, and take no event without changes.
    """
    gone: set[tuple[str, str]] = set()
    for scope in {event.scope for event in events}:
        ids = [change.id for event in events if event.scope == scope for change in event.changes]
        states = "('forgotten', 'deleted', 'undone', 'retracted')"
        query = f"SELECT id FROM memories WHERE scope = ? AND state IN {states} AND id IN {AMONG}"
        gone |= {(scope, row[0]) for row in database.execute(query, (scope, json.dumps(ids))).fetchall()}

    def told(scope: str, change: MemoryChange) -> MemoryChange:
        removed = change.action == "removed" or (scope, change.id) in gone
        return replace(change, action="removed", text="") if removed else change

    return [replace(event, changes=tuple(told(event.scope, change) for change in event.changes)) for event in events]


def _is_new_edit(database: Database, scope: str, change: MemoryChange, now: float) -> bool:
    """Record a change if it is a manual edit that no process has recorded; return whether it was."""
    row = database.execute("SELECT state, text FROM memories WHERE scope = ? AND id = ?", (scope, change.id)).fetchone()
    (state, text), removed = row or ("", ""), change.action == "removed"
    if removed and (state not in ("", "active") or _is_moving(database, scope, change.id, now)):
        return False
    digest = "" if removed else hashlib.blake2b(change.text.encode(), digest_size=8).hexdigest()
    noted = database.execute(SQL["event_log.note_edit"], (scope, change.id, digest)).rowcount
    if not noted and not (removed and state):  # one that an undo has put back may be deleted again
        return False
    if state:
        becomes = "deleted" if removed else "active"
        query = "UPDATE memories SET state = ?, changed_at = ? WHERE scope = ? AND id = ?"
        database.execute(query, (becomes, now, scope, change.id))
        event = "deleted by hand" if removed else "edited by hand" if state == "active" else "put back by hand"
        query = "INSERT INTO history (scope, memory, at, event, other) VALUES (?, ?, ?, ?, '')"
        database.execute(query, (scope, change.id, now, event))
        if not removed and one_line(text) != change.text:
            _replace_words(database, scope, change, text, now)
    return True


def _make_undoable(
    database: Database, scope: str, deleted: Sequence[MemoryRecord], files: Mapping[str, str] | None, now: float
) -> None:
    """Record memories that a person has deleted from their files as one change."""
    if not deleted:
        return
    memories = [replace(memory, file=(files or {}).get(memory.id, memory.file)) for memory in deleted]
    plan = Plan(
        scope=scope,
        folder=Scope.parse(scope).folder,
        stage="by_hand",
        at=now,
        retired=tuple(Retired(memory=memory, state="deleted") for memory in memories),
        outcomes=tuple(ReceiptLine(turn=0, action="deleted", reason="by_hand", id=each.id) for each in memories),
    )
    outcomes = json.dumps([[each.turn, each.action, each.reason, each.id] for each in plan.outcomes])
    keys = ",".join(sorted({memory.session_key for memory in memories}))
    receipt = (scope, keys, plan.stage, "[]", outcomes, now)
    number = database.execute(SQL["turns.add_receipt"], receipt).fetchone()[0]
    database.execute("INSERT INTO changes VALUES (?, ?, ?, ?)", (number, scope, plan.to_json(), "[]"))


def _replace_words(database: Database, scope: str, change: MemoryChange, text: str, now: float) -> None:
    """Let the words of a line that was edited count as replaced by the new ones, wherever they were said before."""
    former = content_id(change.id, text)
    database.execute(SQL["event_log.keep_former"], (former, now, scope, change.id))
    query = "INSERT INTO history (scope, memory, at, event, other) VALUES (?, ?, ?, 'edited by hand', ?)"
    database.execute(query, (scope, former, now, change.id))
    query = "UPDATE memories SET text = ?, expires = '' WHERE scope = ? AND id = ?"
    database.execute(query, (change.text, scope, change.id))


def _is_moving(database: Database, scope: str, identity: str, now: float) -> bool:
    """Return whether a plan is moving a memory, which is then briefly in neither file."""
    query = "SELECT 1 FROM plans WHERE scope = ? AND instr(body, ?)"
    if database.execute(query, (scope, f'"id": "{identity}"')).fetchone():
        return True
    query = "SELECT 1 FROM history WHERE scope = ? AND memory = ? AND event IN ('distill', 'restored') AND at > ?"
    return database.execute(query, (scope, identity, now - _MOVED_SECONDS)).fetchone() is not None
