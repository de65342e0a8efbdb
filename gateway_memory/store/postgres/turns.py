"""Turns in PostgreSQL: those of one session are worked by one host at a time, wherever they arrive."""

from collections.abc import Sequence

from gateway_memory.store.journal.accepting import NewTurn, accept_all
from gateway_memory.store.journal.sql import EVERY, Database
from gateway_memory.store.journal.turns import Turns
from gateway_memory.store.postgres.episodes import make_room

__all__ = ["PostgresTurns"]


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
