"""Turns in PostgreSQL: those of one session are worked by one host at a time, wherever they arrive."""

from gateway_memory.store.journal.accepting import accept
from gateway_memory.store.journal.sql import EVERY, Database
from gateway_memory.store.journal.turns import SqlTurns
from gateway_memory.store.ports.turns import NewTurn

__all__ = ["PostgresTurns"]


class PostgresTurns(SqlTurns):
    """The port `Turns`. A turn goes to the host that still works on an earlier one of its session, even a dead one.

    Another host takes over all turns of a dead host at once, so that their order stays.
    """

    async def accept(self, turn: NewTurn) -> int:
        return (await self.accept_all([turn]))[0]

    async def accept_all(self, turns: list[NewTurn]) -> list[int]:
        """Accept turns in one transaction, in their order; return their numbers."""

        def work(database: Database) -> tuple[list[int], bool]:
            numbers, elsewhere = [], False
            for turn in turns:
                query = "SELECT slot FROM turns WHERE session_id = ? AND slot >= 0 ORDER BY id LIMIT 1"
                found = database.execute(query, (turn.session_id,)).fetchone()
                slot = int(found[0]) if found else self._slot.number
                elsewhere = elsewhere or slot != self._slot.number
                numbers.append(accept(database, turn, slot))
            return numbers, elsewhere

        sessions = sorted({f"session {turn.session_id}" for turn in turns})
        numbers, elsewhere = await self._connection.transact(work, of=EVERY, alone=sessions)
        if elsewhere:
            self._event_log.published()
        return numbers
