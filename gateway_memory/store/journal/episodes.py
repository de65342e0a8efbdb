"""Episodes: what was said in processed turns."""

import json
import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from gateway_memory.ground.databases import EVERY, Database
from gateway_memory.store.journal.sql import AMONG_NUMBERS, SQL, Table, columns_of, distinct, made, upsert
from gateway_memory.store.journal.withheld import forget_for_good, validity
from gateway_memory.store.memory_record import EXCHANGE, TALK
from gateway_memory.store.validity import Telling, Today, Validity

PAGE_TURNS: Final = 64
"""A page is the turns n * PAGE_TURNS … (n + 1) * PAGE_TURNS - 1 of one scope. The index follows page by page."""
Unread = Literal["", "rules", "model", "no"]
"""Who has still to read an episode that another program recorded: first the rules, then the model; "no" for nobody.

"": it was said here.
"""
_COLUMNS: Final = 'turn, scope, session_key, session_id, "user", reply, at, speaker'
_UNREAD: Final = "unread IN ('rules', 'model')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A turn as it was said, without private spans, secrets and injected blocks. at: epoch seconds.

    speaker: in a room, the key of the scope of whoever spoke to the assistant; the user's words begin with their name.
    """

    turn: int
    scope: str
    session_key: str
    session_id: str
    user: str
    reply: str
    at: float
    unread: Unread = ""
    speaker: str = ""


_SELECT: Final = f"SELECT {columns_of(Episode)} FROM episodes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotable:
    """Episodes as they were said, and what of them may not be quoted.

    validity: what holds on the day on which they are quoted.
    sources: those of their turns from which a forgotten memory was extracted.
    gone: those that were forgotten as a whole.
    """

    episodes: Mapping[int, Episode]
    validity: Validity
    sources: frozenset[int]
    gone: frozenset[int]

    def sides(self, turn: int, how: Telling = "said") -> tuple[str, str] | None:
        """Return what may be told of the user's words and of the reply; None if nothing may."""
        episode = self.episodes.get(turn)
        if episode is None or turn in self.gone:
            return None
        sides = (episode.user, episode.reply)
        if turn in self.sources and not self.validity.hides(sides, at=episode.at):
            return None  # it says in other words what was forgotten
        user, reply = self.validity.cut(*sides, at=episode.at, how=how)
        return (user, reply) if user or reply else None


def keep_episodes(database: Database, turns: Sequence[int]) -> None:
    """Store those of these turns as episodes that are to be kept. Within a transaction."""
    kept = database.execute(SQL["episodes.keep"], (json.dumps(turns),)).fetchall()
    _touch(database, ((str(scope), int(turn) // PAGE_TURNS) for scope, turn in kept))


def touch_turns(database: Database, scope: str, turns: Iterable[int]) -> None:
    """Give the pages of these turns new tokens. Within a transaction."""
    _touch(database, ((scope, turn // PAGE_TURNS) for turn in turns))


def take_unread(database: Database, episode: Episode) -> bool:
    """Mark an episode as read; return False if it is no longer as unread as is said here. Within a transaction."""
    query = "UPDATE episodes SET unread = 'no' WHERE scope = ? AND turn = ? AND unread = ?"
    return bool(database.execute(query, (episode.scope, episode.turn, episode.unread)).rowcount)


def wait_for_model(database: Database, turns: Sequence[int]) -> None:
    """Let episodes wait until a model can read them. Within a transaction."""
    query = f"UPDATE episodes SET unread = 'model' WHERE turn IN {AMONG_NUMBERS}"
    database.execute(query, (json.dumps(turns),))


def _touch(database: Database, pages: Iterable[tuple[str, int]]) -> None:
    rows = [(scope, page, secrets.token_hex(6), True) for scope, page in sorted(set(pages))]
    database.executemany(upsert("episode_pages", "scope, page, token, behind", "scope, page"), rows)


def quotable_of(database: Database, scope: str, turns: Sequence[int], today: Today | None = None) -> Quotable:
    """See `Episodes.quotable`."""
    values = (scope, json.dumps(turns))
    if not turns:
        return Quotable(episodes={}, validity=validity(database, scope, today), sources=frozenset(), gone=frozenset())
    # All statements are sent before the first result is waited for; those of `validity` too.
    said = database.execute(f"{_SELECT} WHERE scope = ? AND turn IN {AMONG_NUMBERS}", values)
    results = database.execute(SQL["episodes.sources"], values)
    holds = validity(database, scope, today)
    episodes, sources = made(Episode, said.fetchall()), results.fetchall()
    return Quotable(
        episodes={episode.turn: episode for episode in episodes},
        validity=holds,
        sources=frozenset(turn for turn, category in sources if category != EXCHANGE),
        gone=frozenset(turn for turn, category in sources if category == EXCHANGE),
    )


def latest_of(database: Database, scope: str, besides: str, limit: int) -> list[Episode]:
    """See `Episodes.latest`."""
    last = database.execute(SQL["episodes.latest_session"], (scope, besides)).fetchone()
    if last is None:
        return []
    query = f"{_SELECT} WHERE scope = ? AND session_id = ? ORDER BY at, turn LIMIT ?"
    return made(Episode, database.execute(query, (scope, str(last[0]), limit)).fetchall())


class Episodes(Table):
    """What was said in processed turns. `Turns.finish` stores episodes.

    Every call may raise StoreError, and has then changed nothing.
    """

    async def pages(self, scope: str, among: Sequence[int] | None = None) -> Mapping[int, str]:
        """Return the pages of a scope, or which of some there are, each with a token that changes with its episodes."""
        query, values = "SELECT page, token FROM episode_pages WHERE scope = ?", [scope]
        if among is not None:
            query, values = f"{query} AND page IN {AMONG_NUMBERS}", [scope, json.dumps(among)]
        return dict(await self._rows(scope, query, *values))

    async def unindexed_scopes(self) -> list[str]:
        """Return the scopes with pages that changed since they were indexed."""
        return await self._column(EVERY, "SELECT DISTINCT scope FROM episode_pages WHERE behind")

    async def unindexed(self, scope: str) -> list[int]:
        """Return the pages of a scope that changed since they were indexed."""
        return await self._column(scope, "SELECT page FROM episode_pages WHERE scope = ? AND behind", scope)

    async def indexed(self, scope: str, pages: Mapping[int, str]) -> list[int]:
        """Record that pages are indexed as of their tokens; return those that have another token by now."""

        def work(database: Database) -> list[int]:
            query = "UPDATE episode_pages SET behind = FALSE WHERE scope = ? AND page = ? AND token = ? AND behind"
            for page, token in pages.items():
                database.execute(query, (scope, page, token))
            query = f"SELECT page, token FROM episode_pages WHERE scope = ? AND page IN {AMONG_NUMBERS}"
            tokens = dict(database.execute(query, (scope, json.dumps(list(pages)))).fetchall())
            return [page for page, token in pages.items() if tokens.get(page, "") != token]

        return await self._connection.transact(work, scopes=scope, exclusive=[f"pages {scope}"])

    async def read(self, scope: str, pages: Sequence[int]) -> Mapping[int, tuple[str, Sequence[Episode]]]:
        """Return the token of each of these pages ("" if it does not exist), and its episodes, oldest first."""

        def work(database: Database) -> Mapping[int, tuple[str, Sequence[Episode]]]:
            query = f"SELECT page, token FROM episode_pages WHERE scope = ? AND page IN {AMONG_NUMBERS}"
            tokens = database.execute(query, (scope, json.dumps(pages)))
            query = f"{_SELECT} WHERE scope = ? AND turn >= ? AND turn < ? ORDER BY turn"
            ranges = {page: (page * PAGE_TURNS, (page + 1) * PAGE_TURNS) for page in pages}
            # All are sent before the first result is read, so that a server answers them together.
            rows = {page: database.execute(query, (scope, *turns)) for page, turns in ranges.items()}
            known = dict(tokens.fetchall())
            return {page: (known.get(page, ""), made(Episode, result.fetchall())) for page, result in rows.items()}

        return await self._read(scope, work)

    async def quotable(self, scope: str, turns: Sequence[int], today: Today | None = None) -> Quotable:
        """Return the episodes of these turns. today: None where a person looks at them, see `Validity`."""
        return await self._read(scope, quotable_of, scope, turns, today)

    async def around(self, scope: str, turn: int, number: int) -> list[int]:
        """Return a turn, with up to `number` turns before it and after it in its session, oldest first."""
        where = (
            "SELECT turn FROM episodes WHERE scope = ? AND session_id = "
            "(SELECT session_id FROM episodes WHERE scope = ? AND turn = ?) AND turn"
        )
        values = (scope, scope, turn, turn, number)
        before = await self._column(scope, f"{where} < ? ORDER BY turn DESC LIMIT ?", *values)
        after = await self._column(scope, f"{where} > ? ORDER BY turn LIMIT ?", *values)
        return [*reversed(before), turn, *after]

    async def between(self, scope: str, since: float, until: float, limit: int) -> list[int]:
        """Return the turns of a time, since <= at < until in epoch seconds, oldest first."""
        query = "SELECT turn FROM episodes WHERE scope = ? AND at >= ? AND at < ? ORDER BY at, turn LIMIT ?"
        return await self._column(scope, query, scope, since, until, limit)

    async def latest(self, scope: str, besides: str, limit: int) -> list[Episode]:
        """Return the first exchanges of the session that took place last here. besides: the id of one to pass over."""
        return await self._read(scope, latest_of, scope, besides, limit)

    async def of_session(self, scope: str, session_id: str) -> list[int]:
        """Return the turns of a session, oldest first."""
        query = "SELECT turn FROM episodes WHERE scope = ? AND session_id = ? ORDER BY at, turn"
        return await self._column(scope, query, scope, session_id)

    async def session_of(self, scope: str, name: str) -> str:
        """Return the id of the newest session that a name means, its id or its key; "" if nothing was said in any."""
        return next(iter(await self._column(scope, SQL["episodes.session_of"], scope, name, name)), "")

    async def newest(
        self,
        scope: str,
        limit: int,
        *,
        before: tuple[float, int] = (math.inf, 2**62),
        since: float | None = None,
        until: float | None = None,
        session_key: str = "",
    ) -> list[tuple[int, float]]:
        """Return the newest turns of a scope with their times, newest first.

        before: a time and a turn, before which they are. since, until: their times, since <= at < until.
        session_key: only those of this session.
        """
        which, values = "", list[object]()
        for condition, value in (("at >= ?", since), ("at < ?", until), ("session_key = ?", session_key or None)):
            if value is not None:
                which, values = f"{which} AND {condition}", [*values, value]
        query = f"SELECT turn, at FROM episodes WHERE scope = ? AND (at, turn) < (?, ?){which}"
        query = f"{query} ORDER BY at DESC, turn DESC LIMIT ?"
        return [(int(turn), float(at)) for turn, at in await self._rows(scope, query, scope, *before, *values, limit)]

    async def latest_times(self) -> Mapping[str, float]:
        """Return when something was said last in each scope, in epoch seconds."""
        scopes = distinct("episodes", "scope")
        query = f"SELECT value, (SELECT max(at) FROM episodes WHERE scope = value) FROM ({scopes}) AS scopes"
        return dict(await self._rows(EVERY, query))

    async def times(self, scope: str) -> list[float]:
        """Return the times of all episodes of a scope, oldest first, in epoch seconds."""
        return await self._column(scope, "SELECT at FROM episodes WHERE scope = ? ORDER BY at", scope)

    async def all_of(self, scope: str, after: int, limit: int) -> list[Episode]:
        """Return the first episodes of a scope behind a turn, by turn."""
        query = f"{_SELECT} WHERE scope = ? AND turn > ? ORDER BY turn LIMIT ?"
        return made(Episode, await self._rows(scope, query, scope, after, limit))

    async def add(self, episodes: Sequence[Episode]) -> list[int]:
        """Store episodes under new turn numbers, and return the numbers of those that are new.

        An episode is known if one of the same time and session key has the user's words or the reply, and if it was
        forgotten as a whole, or with its session.
        """

        def work(database: Database) -> list[int]:
            added = [(each.scope, turn) for each in episodes if (turn := _add(database, each)) is not None]
            _touch(database, ((scope, turn // PAGE_TURNS) for scope, turn in added))
            return [turn for _, turn in added]

        return await self._write(_scopes(episodes), work)

    async def known(self, episodes: Sequence[Episode]) -> int:
        """Return how many of these episodes are known, as `add` finds it."""
        return await self._read(_scopes(episodes), lambda database: sum(_is_known(database, each) for each in episodes))

    async def unread(self, scope: str, after: tuple[float, int], limit: int) -> list[Episode]:
        """Return the first unread episodes of a scope behind a time and a turn, by time."""
        query = f"{_SELECT} WHERE scope = ? AND {_UNREAD} AND (at, turn) > (?, ?) ORDER BY at, turn LIMIT ?"
        return made(Episode, await self._rows(scope, query, scope, *after, limit))

    async def count_unread(self, since: float) -> Mapping[str, int]:
        """Return how many episodes since a time (epoch seconds) are unread, by scope."""
        query = f"SELECT scope, count(*) FROM episodes WHERE {_UNREAD} AND at >= ? GROUP BY scope ORDER BY scope"
        return dict(await self._rows(EVERY, query, since))

    async def count(self, scope: str) -> int:
        """Return how many episodes a scope has."""
        (number,) = await self._column(scope, "SELECT count(*) FROM episodes WHERE scope = ?", scope)
        return int(number)

    async def delete_before(self, at: float) -> int:
        """Delete the episodes of all scopes that were said before a time, in epoch seconds; return their number.

        What is withheld for those that were forgotten is then gone for good.
        """

        def work(database: Database) -> int:
            forget_for_good(database, at)
            query = "DELETE FROM episodes WHERE at < ? RETURNING scope, turn"
            deleted = database.execute(query, (at,)).fetchall()
            _touch(database, ((scope, turn // PAGE_TURNS) for scope, turn in deleted))
            return len(deleted)

        number = await self._write(EVERY, work)
        await self._connection.shed()
        return number


def _scopes(episodes: Sequence[Episode]) -> list[str]:
    return sorted({each.scope for each in episodes})


def _add(database: Database, each: Episode) -> int | None:
    """Store an episode under a number that no turn has, and return it; None if it is known."""
    if _is_known(database, each):
        return None
    turn = int(database.execute(SQL["episodes.new_turn"], (each.scope, each.session_key)).fetchone()[0])
    database.execute("DELETE FROM turns WHERE id = ?", (turn,))
    said = (turn, each.scope, each.session_key, each.session_id, each.user, each.reply, each.at, each.speaker)
    query = f"INSERT INTO episodes ({_COLUMNS}, unread) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    database.execute(query, (*said, each.unread))
    return turn


def _is_known(database: Database, each: Episode) -> bool:
    values = (each.scope, each.at, each.session_key, each.user, each.reply)
    if database.execute(SQL["episodes.known"], values).fetchone() is not None:
        return True
    forgotten = (each.scope, EXCHANGE, each.session_key, each.at, TALK, each.session_id, each.at)
    return database.execute(SQL["episodes.forgotten"], forgotten).fetchone() is not None
