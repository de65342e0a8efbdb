"""Links: which scopes belong to one person, and what each of them brought."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from gateway_memory.ground.databases import EVERY, Database
from gateway_memory.store.journal.episodes import touch_turns
from gateway_memory.store.journal.memories import MEMORY_COLUMNS
from gateway_memory.store.journal.sql import AMONG, AMONG_NUMBERS, SQL, Table, upsert
from gateway_memory.store.journal.unlinking import delete_brought
from gateway_memory.store.memory_record import EXCHANGE

LinkedKind = Literal["memory", "record", "turn", "review"]
_GONE: Final = "('forgotten', 'undone', 'deleted')"
_HAS_OWN: Final = SQL["links.has_own"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A scope's link into another one. at: epoch seconds."""

    target: str
    at: float


def root_of(links: Mapping[str, Link], scope: str) -> str:
    """Return the scope in which a scope's memory is, after all links."""
    path = {scope}
    while scope in links and links[scope].target not in path:
        scope = links[scope].target
        path.add(scope)
    return scope


def below(links: Mapping[str, Link], scope: str) -> list[str]:
    """Return the scopes that are linked into a scope, directly or through others, the farthest first."""
    direct = [name for name, link in links.items() if link.target == scope]
    return [name for each in direct for name in (*below(links, each), each)]


def linked_with(database: Database, scope: str) -> list[str]:
    """Return the other scopes of the person to whom a scope belongs. Within a transaction."""
    links = links_of(database, scope)
    return sorted({*links, *(link.target for link in links.values())} - {scope})


def links_of(database: Database, scope: str) -> dict[str, Link]:
    """See `Links.of`. Within a transaction."""
    root, above = scope, {scope}
    while link := database.execute("SELECT target FROM links WHERE scope = ?", (root,)).fetchone():
        if link[0] in above:
            break
        root = str(link[0])
        above.add(root)
    links: dict[str, Link] = {}
    names = [root]
    query = "SELECT scope, target, at FROM links WHERE target = ?"
    while names:  # a level at a time: all of its queries are sent before the first result is read
        results = [database.execute(query, (name,)) for name in names]
        rows = [row for result in results for row in result.fetchall()]
        names = [str(row[0]) for row in rows if row[0] not in links]
        links |= {str(name): Link(target=str(target), at=at) for name, target, at in rows}
    return dict(sorted(links.items(), key=lambda item: item[1].at))


class Links(Table):
    """Which scopes belong to one person, what each of them brought, and the codes that join them.

    Every call may raise StoreError, and has then changed nothing. Times are epoch seconds.
    """

    async def all(self) -> Mapping[str, Link]:
        """Return all links by the linked scope."""
        rows = await self._rows(EVERY, "SELECT scope, target, at FROM links ORDER BY at")
        return {scope: Link(target=target, at=at) for scope, target, at in rows}

    async def of(self, scope: str) -> Mapping[str, Link]:
        """Return the links of the person to whom a scope belongs, by the linked scope."""
        return await self._read(EVERY, links_of, scope)

    # Codes

    async def offer(self, scope: str, digest: str, *, until: float) -> None:
        """Store the digest of a scope's code, in the place of its earlier one."""
        await self._change(scope, upsert("link_codes", "scope, digest, until", "scope"), scope, digest, until)

    async def take(self, digest: str, *, now: float, but: str) -> str | None:
        """Take a valid code, and return its scope; None if there is none. A code of the scope `but` is not taken."""

        def work(database: Database) -> str | None:
            database.execute("DELETE FROM link_codes WHERE until <= ?", (now,))
            row = database.execute("SELECT scope FROM link_codes WHERE digest = ?", (digest,)).fetchone()
            if row and row[0] != but:
                database.execute("DELETE FROM link_codes WHERE digest = ?", (digest,))
            return str(row[0]) if row else None

        return await self._write(EVERY, work)

    async def wrong(self, scope: str, at: float) -> None:
        """Record that a scope's identity has typed a wrong code."""
        await self._change(scope, "INSERT INTO link_tries VALUES (?, ?)", scope, at)

    async def wrongs(self, scope: str, since: float) -> int:
        """Return how many wrong codes were typed since a time."""

        def work(database: Database) -> int:
            database.execute("DELETE FROM link_tries WHERE scope = ? AND at < ?", (scope, since))
            query = "SELECT count(*) FROM link_tries WHERE scope = ?"
            return int(database.execute(query, (scope,)).fetchone()[0])

        return await self._write(scope, work)

    # Links

    async def link(self, scope: str, target: str, at: float) -> None:
        """Link a scope into another one."""
        query = "INSERT INTO links VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        await self._change((scope, target), query, scope, target, at)

    async def has_own(self, scopes: Sequence[str]) -> bool:
        """Return whether one of these linked scopes still has memories, turns or reviews of its own."""

        def work(database: Database) -> bool:
            results = [database.execute(_HAS_OWN, (scope,) * 4) for scope in scopes]
            return any(result.fetchone()[0] for result in results)

        return await self._read(scopes, work)

    async def add_items(self, scope: str, kind: LinkedKind, items: Mapping[str, str]) -> None:
        """Record what a linked scope brings, by id, each with a text; known items stay as they are."""
        rows = [(scope, kind, item, body) for item, body in items.items()]
        query = "INSERT INTO link_items VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        await self._change_many(scope, query, rows)

    async def items(self, scope: str, kind: LinkedKind) -> Mapping[str, str]:
        """Return what a linked scope has brought, by id."""
        query = "SELECT item, body FROM link_items WHERE scope = ? AND kind = ?"
        return dict(await self._rows(scope, query, scope, kind))

    async def move_turns(self, scope: str, target: str) -> Sequence[int]:
        """Move episodes, waiting turns and reviews to the target of a link, and record them as linked.

        Returns the numbers of the turns.
        """

        def work(database: Database) -> list[int]:
            query = "SELECT turn FROM episodes WHERE scope = ? UNION SELECT id FROM turns WHERE scope = ? ORDER BY 1"
            turns = [int(row[0]) for row in database.execute(query, (scope, scope))]
            rows = [(scope, "turn", str(turn), "") for turn in turns]
            rows_of_reviews = database.execute("SELECT id FROM reviews WHERE scope = ?", (scope,)).fetchall()
            reviews = [str(row[0]) for row in rows_of_reviews]
            rows += [(scope, "review", identity, "") for identity in reviews]
            database.executemany("INSERT INTO link_items VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", rows)
            _move(database, turns, scope, target)
            _move_reviews(database, reviews, scope, target)
            return turns

        return await self._connection.unhurried.transact(work, scopes=(scope, target))

    async def unlink(self, scope: str, source: str) -> Sequence[int]:
        """End a link: return a scope's turns and reviews from the scope where they are, and forget its items.

        Returns the numbers of the turns.
        """

        def work(database: Database) -> list[int]:
            query = "SELECT item FROM link_items WHERE scope = ? AND kind = 'turn'"
            turns = sorted(int(row[0]) for row in database.execute(query, (scope,)))
            _move(database, turns, source, scope)
            query = "SELECT item FROM link_items WHERE scope = ? AND kind = 'review'"
            _move_reviews(database, [str(row[0]) for row in database.execute(query, (scope,))], source, scope)
            delete_brought(database, scope, source)
            database.execute("DELETE FROM link_items WHERE scope = ?", (scope,))
            database.execute("DELETE FROM links WHERE scope = ?", (scope,))
            return turns

        return await self._connection.unhurried.transact(work, scopes=(scope, source))

    async def share_forgotten(self, source: str, target: str, *, since: float) -> None:
        """Withhold in one scope what was forgotten in another one since a time."""

        def work(database: Database) -> None:
            listed = ", ".join(MEMORY_COLUMNS)
            # The exchange itself is not there, so its words go with it.
            quote = (
                f"CASE WHEN category = '{EXCHANGE}' AND quote = '' THEN coalesce((SELECT e.\"user\" || ? || e.reply "
                "FROM episodes e WHERE e.scope = s.scope AND e.turn = s.turn), '') ELSE quote END"
            )
            values = ", ".join(quote if name == "quote" else name for name in MEMORY_COLUMNS)
            changes = ", ".join(f"{name} = excluded.{name}" for name in MEMORY_COLUMNS if name != "id")
            query = (
                f"INSERT INTO memories (scope, {listed}) SELECT ?, {values} FROM memories s WHERE scope = ? "
                f"AND state IN {_GONE} AND changed_at >= ? AND NOT EXISTS (SELECT 1 FROM memories t WHERE "
                f"t.scope = ? AND t.id = s.id AND t.state = 'active') ON CONFLICT (scope, id) DO UPDATE SET {changes}"
            )
            database.execute(query, (target, "\n", source, since, target))

        await self._connection.unhurried.transact(work, scopes=(source, target))


def _move_reviews(database: Database, reviews: Sequence[str], source: str, target: str) -> None:
    where = f"scope = ? AND id IN {AMONG}"
    others = "SELECT 1 FROM reviews o WHERE o.scope = ? AND o.id = reviews.id"
    query = f"UPDATE reviews SET scope = ? WHERE {where} AND NOT EXISTS ({others})"
    database.execute(query, (target, source, json.dumps(reviews), target))
    database.execute(f"DELETE FROM reviews WHERE {where}", (source, json.dumps(reviews)))


def _move(database: Database, turns: Sequence[int], source: str, target: str) -> None:
    among = json.dumps(turns)
    for table, number, same in (
        ("episodes", "turn", "FALSE"),
        ("turns", "id", "FALSE"),
        ("replies", "turn", "o.session_key = replies.session_key AND o.turn_id = replies.turn_id AND o.turn_id <> ''"),
        ("feedback", "turn", "o.turn = feedback.turn AND o.memory = feedback.memory"),
    ):
        where = f"scope = ? AND {number} IN {AMONG_NUMBERS}"
        others = f"SELECT 1 FROM {table} o WHERE o.scope = ? AND {same}"  # what the target has already stays there
        query = f"UPDATE {table} SET scope = ? WHERE {where} AND NOT EXISTS ({others})"
        database.execute(query, (target, source, among, target))
    touch_turns(database, source, turns)
    touch_turns(database, target, turns)
