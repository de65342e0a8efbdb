"""Turns in PostgreSQL, of which one process works on a session at a time; events, and episodes in partitions."""

from collections.abc import Sequence

from gateway_memory.ground.databases import EVERY, Database
from gateway_memory.store.journal.arrivals import NewTurn, accept_all
from gateway_memory.store.journal.episodes import PAGE_TURNS, Episodes, touch_turns
from gateway_memory.store.journal.event_log import EventLog
from gateway_memory.store.journal.sql import SqlConnection
from gateway_memory.store.journal.turns import Turns, slot_name
from gateway_memory.store.journal.withheld import forget_for_good
from gateway_memory.store.postgres.transaction import SQL

_AT_ONCE = 2000


async def make_room(connection: SqlConnection) -> None:
    """Add the partitions that the next turns need. Raises StoreError."""
    query = "SELECT add_episode_partitions((SELECT coalesce(max(turn), 0) FROM replies))"
    await connection.transact(lambda database: database.execute(query).fetchall(), scopes=EVERY)


class PostgresTurns(Turns):
    """A turn goes to the process that still works on an earlier one of its session, even a dead one.

    Another process takes over all turns of a dead process at once, so that their order stays.
    """

    async def accept(self, turn: NewTurn) -> int:
        return (await self.accept_all([turn]))[0]

    async def accept_all(self, turns: Sequence[NewTurn], *, waits: bool = True) -> list[int]:
        """Accept turns in one transaction, in their order; return their numbers.

        waits: for others who hold one of their sessions; otherwise StoreBusyError is raised soon.
        """

        def work(database: Database) -> tuple[list[int], set[int]]:
            query = "SELECT slot FROM turns WHERE session_id = ? AND slot >= 0 ORDER BY id LIMIT 1"
            results = {session: database.execute(query, (session,)) for session in sessions}
            slots = {
                session: int(row[0]) if (row := result.fetchone()) else self._slot.number
                for session, result in results.items()
            }
            numbers = accept_all(database, [(turn, slots[turn.session_id]) for turn in turns])
            return numbers, set(slots.values()) - {self._slot.number}

        sessions = sorted({turn.session_id for turn in turns})
        exclusive = [f"session {session}" for session in sessions]
        numbers, elsewhere = await self._connection.transact(work, scopes=EVERY, exclusive=exclusive, waits=waits)
        for slot in elsewhere:
            self._event_log.published(slot_name(slot))
        return numbers

    async def tidy(self, *, before: float, now: float) -> None:
        await super().tidy(before=before, now=now)
        await make_room(self._connection.unhurried)


class PostgresEvents(EventLog):
    """Events whose numbers are never given a second time, also where the server steps back.

    A standby that is promoted, and a backup that is restored, may lack the last numbers. Hosts, sessions and brokers
    still know them, and would take what gets them for what they have heard. So the first event that a host makes on
    another server, or in other tables, is numbered by the microsecond, which is beyond all that were given before.
    """

    def _next_number(self, database: Database) -> tuple[int, int]:
        values = (self._slot, self._slot, self.instance, self._sends, self._sends)
        ((head, sent),) = database.execute(SQL["events.next_number"], values).fetchall()
        return int(head), int(sent)


class PostgresEpisodes(Episodes):
    """Episodes in partitions."""

    async def delete_before(self, at: float) -> int:
        """Drop the partitions that hold nothing newer, and delete from the others in small steps."""
        unhurried = self._connection.unhurried

        def drop(database: Database) -> int:
            forget_for_good(database, at)
            row = database.execute("SELECT expire_episodes(?, ?)", (at, PAGE_TURNS)).fetchone()
            return int(row[0]) if row else 0

        def delete_some(database: Database) -> int:
            query = (
                "DELETE FROM episodes WHERE turn IN (SELECT turn FROM episodes WHERE at < ? LIMIT ?) "
                "RETURNING scope, turn"
            )
            turns: dict[str, list[int]] = {}
            for scope, turn in database.execute(query, (at, _AT_ONCE)):
                turns.setdefault(str(scope), []).append(int(turn))
            for scope, deleted in sorted(turns.items()):
                touch_turns(database, scope, deleted)
            return sum(map(len, turns.values()))

        deleted = await unhurried.transact(drop, scopes=EVERY)
        while number := await unhurried.transact(delete_some, scopes=EVERY):
            deleted += number
        return deleted
