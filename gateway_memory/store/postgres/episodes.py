"""Exchanges in PostgreSQL: in partitions, of which the expired ones are dropped as a whole."""

from gateway_memory.runtime.tasks import compute
from gateway_memory.store.journal.episodes import SqlEpisodes, touch_turns
from gateway_memory.store.journal.sql import EVERY, Database, SqlConnection
from gateway_memory.store.journal.withheld import forget_for_good
from gateway_memory.store.ports.episodes import PAGE_TURNS
from gateway_memory.store.postgres.connection import connected

__all__ = ["PostgresEpisodes", "make_room"]

_AT_ONCE = 2000
_PATIENCE_SECONDS = 600.0


async def make_room(connection: SqlConnection) -> None:
    """Add the partitions that the next turns need. Raises StoreError."""
    query = "SELECT add_episode_partitions((SELECT coalesce(max(turn), 0) FROM replies))"
    await connection.transact(lambda database: database.execute(query).fetchall(), of=EVERY)


class PostgresEpisodes(SqlEpisodes):
    """The port `Episodes`. dsn, schema: for a connection that waits for what takes long."""

    def __init__(self, connection: SqlConnection, dsn: str, schema: str) -> None:
        super().__init__(connection)
        self._dsn = dsn
        self._schema = schema

    async def delete_before(self, at: float) -> int:
        """Drop the partitions that hold nothing newer, and delete from the others in small steps."""
        await self._connection.transact(lambda database: forget_for_good(database, at), of=EVERY)
        gone = await compute(self._drop_before, at)
        while number := await self._delete_some(at):
            gone += number
        return gone

    def _drop_before(self, at: float) -> int:
        with connected(self._dsn, self._schema, patience_seconds=_PATIENCE_SECONDS) as connection:
            found = connection.execute("SELECT expire_episodes(%s, %s)", (at, PAGE_TURNS)).fetchone()
            return int(found[0]) if found else 0

    async def _delete_some(self, at: float) -> int:
        def work(database: Database) -> int:
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

        return await self._connection.transact(work, of=EVERY)
