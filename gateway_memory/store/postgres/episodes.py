"""Exchanges in PostgreSQL: in partitions, of which the expired ones are dropped as a whole."""

from gateway_memory.store.journal.episodes import PAGE_TURNS, Episodes, touch_turns
from gateway_memory.store.journal.sql import EVERY, Database, SqlConnection
from gateway_memory.store.journal.withheld import forget_for_good

__all__ = ["PostgresEpisodes", "make_room"]

_AT_ONCE = 2000


async def make_room(connection: SqlConnection) -> None:
    """Add the partitions that the next turns need. Raises StoreError."""
    query = "SELECT add_episode_partitions((SELECT coalesce(max(turn), 0) FROM replies))"
    await connection.transact(lambda database: database.execute(query).fetchall(), of=EVERY)


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
