"""Turns in PostgreSQL, of which one host works on a session at a time, and episodes, in partitions by turn."""

from collections.abc import Sequence

from gateway_memory.store.journal.accepting import NewTurn, accept_all
from gateway_memory.store.journal.episodes import PAGE_TURNS, Episodes, touch_turns
from gateway_memory.store.journal.sql import EVERY, Database, SqlConnection
from gateway_memory.store.journal.turns import Turns
from gateway_memory.store.journal.withheld import forget_for_good

__all__ = ["PostgresEpisodes", "PostgresTurns", "make_room"]

_AT_ONCE = 2000


async def make_room(connection: SqlConnection) -> None:
    """Add the partitions that the next turns need. Raises StoreError."""
    query = "SELECT add_episode_partitions((SELECT coalesce(max(turn), 0) FROM replies))"
    await connection.transact(lambda database: database.execute(query).fetchall(), of=EVERY)


class PostgresTurns(Turns):
    """A turn goes to the host that still works on an earlier one of its session, even a dead one.

    Another host takes over all turns of a dead host at once, so that their order stays.
    """

    async def accept(self, turn: NewTurn) -> int:
        return (await self.accept_all([turn]))[0]

    async def accept_all(self, turns: Sequence[NewTurn], *, waits: bool = True) -> list[int]:
        """Accept turns in one transaction, in their order; return their numbers.

        waits: for others who hold one of their sessions; otherwise StoreBusyError is raised soon.
        """

        def work(database: Database) -> tuple[list[int], bool]:
            query = "SELECT slot FROM turns WHERE session_id = ? AND slot >= 0 ORDER BY id LIMIT 1"
            asked = {session: database.execute(query, (session,)) for session in sessions}
            slots = {
                session: int(row[0]) if (row := found.fetchone()) else self._slot.number
                for session, found in asked.items()
            }
            numbers = accept_all(database, [(turn, slots[turn.session_id]) for turn in turns])
            return numbers, any(slot != self._slot.number for slot in slots.values())

        sessions = sorted({turn.session_id for turn in turns})
        alone = [f"session {session}" for session in sessions]
        numbers, elsewhere = await self._connection.transact(work, of=EVERY, alone=alone, waits=waits)
        if elsewhere:
            self._event_log.published()
        return numbers

    async def tidy(self, *, before: float, now: float) -> None:
        await super().tidy(before=before, now=now)
        await make_room(self._connection.unhurried)


class PostgresEpisodes(Episodes):
    """Episodes in partitions."""

    async def delete_before(self, at: float) -> int:
        """Drop the partitions that hold nothing newer, and delete from the others in small steps."""
        unhurried = self._connection.unhurried

        def drop(database: Database) -> int:
            forget_for_good(database, at)
            found = database.execute("SELECT expire_episodes(?, ?)", (at, PAGE_TURNS)).fetchone()
            return int(found[0]) if found else 0

        def delete_some(database: Database) -> int:
            query = (
                "DELETE FROM episodes WHERE turn IN (SELECT turn FROM episodes WHERE at < ? LIMIT ?) "
                "RETURNING scope, turn"
            )
            turns: dict[str, list[int]] = {}
            for scope, turn in database.execute(query, (at, _AT_ONCE)):
                turns.setdefault(str(scope), []).append(int(turn))
            for scope, gone in sorted(turns.items()):
                touch_turns(database, scope, gone)
            return sum(map(len, turns.values()))

        gone = await unhurried.transact(drop, of=EVERY)
        while number := await unhurried.transact(delete_some, of=EVERY):
            gone += number
        return gone
