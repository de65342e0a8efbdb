"""Candidates that wait for a review, and what a plan does to them."""

import json
from collections.abc import Sequence
from typing import Any, Final

from gateway_memory.ground.databases import EVERY, Database
from gateway_memory.ground.texts import decoded
from gateway_memory.store.journal.sql import AMONG, SQL, UNDECODABLE, Scopes, Table
from gateway_memory.store.journal.withheld import withheld
from gateway_memory.store.plan import Plan
from gateway_memory.store.reviewed import Review, ReviewState

_OF_OWNER: Final = 1000
_DECLINED: Final = 2000
"""The number of newest refusals that are compared with what is new."""
_COLUMNS: Final = "scope, state, reason, at, body"


class Reviews(Table):
    """Candidates that wait for a person's review. Plans add and settle them, in their transaction.

    Every call may raise StoreError. What was forgotten in the meantime is never returned.
    """

    async def waiting(self, scope: str, *, limit: int = 1000) -> list[Review]:
        """Return the reviews of a scope that wait, oldest first."""
        return await self._select(scope, "scope = ? AND state = 'waiting' ORDER BY at, rowid LIMIT ?", scope, limit)

    async def turns(self, scope: str) -> frozenset[int]:
        """Return the turns of a scope whose candidates wait."""
        query = "SELECT DISTINCT turn FROM reviews WHERE scope = ? AND state = 'waiting' AND turn > 0"
        return frozenset(await self._column(scope, query, scope))

    async def of_owner(self) -> list[Review]:
        """Return the reviews that wait in the scopes of guests and rooms and are about the owner, oldest first."""
        which = "reason = 'about_owner' AND scope <> 'owner' AND state = 'waiting' ORDER BY at, rowid LIMIT ?"
        return await self._select(EVERY, which, _OF_OWNER)

    async def find(self, scope: str, identity: str) -> Review | None:
        """Return a review in any state."""
        return next(iter(await self._select(scope, "scope = ? AND id = ?", scope, identity)), None)

    async def declined(self, scope: str) -> Sequence[Review]:
        """Return the newest reviews of a scope that are never to be asked about again."""
        return await self._select(scope, "scope = ? AND state = 'never' ORDER BY at DESC LIMIT ?", scope, _DECLINED)

    async def count(self, scope: str = "") -> int:
        """Return how many reviews wait in a scope, or in all of them."""
        return len(await self._select(scope or EVERY, "(? = '' OR scope = ?) AND state = 'waiting'", scope, scope))

    async def states(self, scope: str, ids: Sequence[str]) -> dict[str, ReviewState]:
        """Return the state of each of these reviews that is known."""
        query = f"SELECT id, state FROM reviews WHERE scope = ? AND id IN {AMONG}"
        return dict(await self._rows(scope, query, scope, json.dumps(list(ids))))

    async def due(self, scope: str, *, before: float, day: str) -> list[str]:
        """Return the ids of the reviews that have waited since before a time, or whose last day is past.

        before: epoch seconds, 0 for no such time. day: the current day, YYYY-MM-DD.
        """
        return await self._column(scope, SQL["reviews.due"], scope, before, day)

    async def _select(self, scopes: Scopes, which: str, *values: object) -> list[Review]:
        def work(database: Database) -> list[Review]:
            rows = database.execute(f"SELECT {_COLUMNS} FROM reviews WHERE {which}", values).fetchall()
            hidden = {scope: withheld(database, scope) for scope in {str(row[0]) for row in rows}}

            def is_hidden(review: Review) -> bool:
                texts = filter(None, (review.memory.text, review.memory.quote))
                return any(hidden[review.scope].says(text, since=review.at) for text in texts)

            reviews = (review for row in rows if (review := _review(row)))
            return [review for review in reviews if not is_hidden(review)]

        return await self._read(scopes, work)


def save_reviews(database: Database, plan: Plan) -> None:
    """Store the reviews that a plan adds, and the states of those that it settles. Within the plan's transaction."""
    rows = [
        (
            plan.scope, review.memory.id, review.state, review.reason, review.at, review.memory.text,
            review.memory.turn, review.memory.expires, json.dumps(review.stored(), ensure_ascii=False),
        )
        for review in plan.reviews
    ]  # fmt: skip
    database.executemany(SQL["reviews.add"], rows)
    query = "UPDATE reviews SET state = ? WHERE scope = ? AND id = ? AND state = ?"
    database.executemany(query, [(each.state, plan.scope, each.id, each.was) for each in plan.settled])


def _review(row: Sequence[Any]) -> Review | None:
    """Decode a row; None for one that can't be decoded, which stays as it is for a repair by hand."""
    scope, state, reason, at, body = row
    try:
        stored = {"scope": scope, "state": state, "reason": reason, "at": at}
        return decoded(Review, {**json.loads(body), **stored})
    except UNDECODABLE:
        return None
