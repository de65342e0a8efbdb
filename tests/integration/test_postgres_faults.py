"""Whatever dies, hangs or is full: four hosts on one memory in PostgreSQL keep each turn once, and tell it once.

What is asserted is what docs/postgres.md promises, no more:

- A turn that was accepted is there once. One that was refused is not there; one that the database refuses for what it
  says is set aside on its host, and nothing waits for it. One whose host died before it answered is
  there at most once, and once if it was sent again under the same id, wherever that was.
- The turns of a session are in their order, unless one waited on its host while the next one went to another.
- A memory that was said is there once: one active row, one line in the documents.
- A session hears of each memory of its scope that others said, in its first opening or in an update, and once, also
  where another process goes on with it. It hears of nothing else. Its next process may repeat what its host told it but
  could not note; and what was in an answer that never arrived may not come again.
"""

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from faults import seeded
from patience import seconds
from postgres import POSTGRES, Postgres, app_of, migrated
from postgres_host import MEMORY
from postgres_round import BARRED, HostProcess, Talk, Turn
from postgres_troubles import Troubles
from postgres_way import Way
from thorough import amount

from gateway_memory import UNNUMBERED

ROUNDS = amount(2, 40)
HOSTS = 4
USERS = 10
SESSIONS = 5
"""Of each user."""
TURNS = 10
"""Of each session."""
AHEAD_SECONDS = 120
"""How much later than the others every other host thinks it is."""
REFUSES = f"""
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = 'program_limit_exceeded'; END $$;
CREATE TRIGGER refuses BEFORE INSERT ON turns
FOR EACH ROW WHEN (NEW."user" LIKE '%{BARRED}%') EXECUTE FUNCTION refuse();
"""

pytestmark = [
    pytest.mark.of_postgres,
    pytest.mark.slow,
    pytest.mark.skipif(not POSTGRES, reason="there is no PostgreSQL"),
    pytest.mark.xdist_group("alone"),  # not beside another test of servers or deadlines
]


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Postgres]]:
    started: dict[str, Postgres] = {}
    yield started
    for server in started.values():
        server.remove()


class Round:
    """What one round needs: a server, the way to it, hosts, and the sessions that talk with them."""

    def __init__(self, server: Postgres, way: Way, schema: str, folder: Path, seed: int) -> None:
        self.server = server
        self.schema = schema
        self.seed = seed
        self.random = seeded(seed)
        self.hosts = [
            HostProcess(folder, name, schema, looks=seed % 4 < 2, ahead_seconds=AHEAD_SECONDS * (number % 2))
            for number, name in enumerate("abcd"[:HOSTS])
        ]
        self.talks: list[Talk] = []
        self.said: defaultdict[str, set[str]] = defaultdict(set)
        self.heard: set[str] = set()
        self.troubles = Troubles(server, schema, way, self.hosts, self.random)

    # What the sessions do

    async def talk(self, talk: Talk, generator: random.Random) -> None:
        """Say the turns of a session, now here and now there."""
        for number in range(TURNS):
            await asyncio.sleep(generator.uniform(0, 1))
            others = [host for host in self.hosts if talk.may_move_to(host)]
            if others and generator.random() < 0.15:
                talk.move_to(generator.choice(others))
            while not await talk.hear(self.said[talk.user]):
                await asyncio.sleep(0.2)
                self._maybe_move(talk, generator)
            kind = generator.random()
            turn = Turn(
                name=f"{talk.key}t{number}",
                memory=kind < 0.4,
                barred=kind > 0.95,
                identified=generator.random() < 0.7,
            )
            talk.turns.append(turn)
            if turn.memory:
                self.said[talk.user].add(turn.name)
            while not await talk.say(turn):
                await asyncio.sleep(0.2)
                self._maybe_move(talk, generator)

    def _maybe_move(self, talk: Talk, generator: random.Random) -> None:
        """Choose whether a session waits for its host, or goes on at another one."""
        others = [host for host in self.hosts if talk.may_move_to(host)]
        if others and generator.random() < 0.3:
            talk.move_to(generator.choice(others))

    async def run(self) -> None:
        """Open the sessions, let them talk while things go wrong, and wait until all is well again and worked off."""
        for user in range(USERS):
            for number in range(SESSIONS):
                home = self.hosts[self.random.randrange(HOSTS)]
                self.talks.append(Talk(f"u{user}s{number}", f"u{user}", home, self.heard))
        async with asyncio.timeout(seconds(180)), asyncio.TaskGroup() as group:
            for talk in self.talks:
                group.create_task(self.talk(talk, random.Random(self.random.random())))  # noqa: S311 - no secrets
            group.create_task(self.troubles.of_hosts())
            group.create_task(self.troubles.of_server())
            group.create_task(self.troubles.of_way())
        await self._drained()
        await self._told()

    async def _drained(self) -> None:
        """Wait until nothing is left to do."""
        until = time.monotonic() + seconds(45)
        while await self._waiting():
            answers = await asyncio.gather(*(host.ask("drain") for host in self.hosts))
            await asyncio.sleep(0.1)
            assert time.monotonic() < until, f"seed {self.seed}: {answers}, {self._left()}, {self._errors()}"

    def _left(self) -> dict[str, object]:
        """Return what is not worked off."""
        return {
            "turns by slot and stage": self.rows("SELECT slot, stage, count(*) FROM turns GROUP BY slot, stage"),
            "plans by slot": self.rows("SELECT slot, count(*) FROM plans GROUP BY slot"),
            "hosts": self.rows("SELECT slot, until > now() FROM hosts ORDER BY slot"),
            "on hosts": [host.waiting() for host in self.hosts],
        }

    def _errors(self) -> str:
        """Return what the hosts last complained of."""
        return "\n".join(f"{host.name} {line}" for host in self.hosts for line in list(host.errors)[-8:])

    async def _waiting(self) -> int:
        query = "SELECT (SELECT count(*) FROM turns WHERE stage <> 2) + (SELECT count(*) FROM plans)"
        ((number,),) = await asyncio.to_thread(self.rows, query)
        return int(number) + sum(host.waiting() for host in self.hosts)

    async def _told(self) -> None:
        """Let each session begin replies until it was told all, and once more, for what comes twice."""
        until = time.monotonic() + seconds(15)
        missing = True
        while missing and time.monotonic() < until:
            for host in self.hosts:
                here = [talk for talk in self.talks if talk.home is host]
                await asyncio.gather(*(talk.hear(set()) for talk in here))
            missing = any(talk.missing(self.of_others(talk)) for talk in self.talks)
            await asyncio.sleep(0.2)
        await asyncio.gather(*(talk.hear(set()) for talk in self.talks))

    # What came of it

    def rows(self, query: LiteralString) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with psycopg.connect(self.server.dsn, options=f"-csearch_path={self.schema}") as connection:
            return connection.execute(query).fetchall()

    def of_others(self, talk: Talk) -> set[str]:
        """Return the memories that are there and that other sessions of the same user said."""
        own = {turn.name for turn in talk.turns}
        return {name for name in self.said[talk.user] if name in self.there} - own

    @cached_property
    def there(self) -> Counter[str]:
        """How often each turn is there."""
        return Counter({name: len(numbers) for name, numbers in self.numbers.items()})

    @cached_property
    def numbers(self) -> dict[str, list[int]]:
        """The numbers of each turn: one, if all is well."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for turn, user in self.rows('SELECT turn, "user" FROM episodes'):
            found[str(user)].append(int(turn))
        turns = (turn for talk in self.talks for turn in talk.turns)
        return {turn.name: found[turn.text] for turn in turns if turn.text in found}

    @cached_property
    def set_aside(self) -> set[str]:
        """What was said in the turns that the database refused."""
        return {text for host in self.hosts for text in host.set_aside()}

    def wrong(self) -> Iterator[str]:
        """Yield what is not as it should be."""
        there = self.there
        for talk in self.talks:
            yield from self._wrong_turns(talk, there)
            if missing := talk.missing(self.of_others(talk)):
                yield f"{talk.key} was never told of {sorted(missing)}, {talk.lives} lives, {sorted(talk.been)}"
            of_user = {turn.name for other in self.talks if other.user == talk.user for turn in other.turns}
            yield from talk.wrong(of_user - {turn.name for turn in talk.turns})
        rows = Counter(
            name
            for (text,) in self.rows("SELECT text FROM memories WHERE state = 'active'")
            for name in MEMORY.findall(str(text))
        )
        lines = Counter(
            name
            for (text,) in self.rows("SELECT convert_from(content, 'UTF8') FROM documents")
            for name in MEMORY.findall(str(text))
        )
        expected = Counter({name: 1 for names in self.said.values() for name in names if there[name]})
        for what, found in (("rows", rows), ("lines", lines)):
            for name in sorted(found.keys() | expected.keys()):
                if found[name] != expected[name]:
                    yield f"memory {name} has {found[name]} {what} in place of {expected[name]}"
        ((unreadable,),) = self.rows("SELECT count(*) FROM unreadable")
        if unreadable:
            yield f"{unreadable} rows are unreadable"

    def _wrong_turns(self, talk: Talk, there: Counter[str]) -> Iterator[str]:
        before: list[Turn] = []
        for turn in talk.turns:
            least = 1 if turn.number is not None and not turn.barred else 0
            most = 0 if turn.refused or turn.barred else 1
            if not least <= there[turn.name] <= most:
                yield f"turn {turn.name} is there {there[turn.name]} times, answered {turn.number}"
                continue
            if turn.barred and turn.number is not None and turn.text not in self.set_aside:
                yield f"turn {turn.name}, which the database refuses, is set aside nowhere"
            if not there[turn.name]:
                continue
            (number,) = self.numbers[turn.name]
            if turn.number not in (None, UNNUMBERED, number):
                yield f"turn {turn.name} is number {number}, and was answered {turn.number}"
            for earlier in before:
                ordered = earlier.number not in (None, UNNUMBERED) or set(turn.hosts) == {earlier.hosts[-1]}
                if ordered and self.numbers[earlier.name] > [number]:
                    yield f"turn {turn.name} is before {earlier.name}: {number}, {self.numbers[earlier.name]}"
            before.append(turn)


@asynccontextmanager
async def running(hosts: list[HostProcess]) -> AsyncIterator[None]:
    """Let hosts run; at the end, let those that still do close their memories."""
    try:
        await asyncio.gather(*(host.start() for host in hosts))
        yield
        await asyncio.gather(*(host.stop() for host in hosts))
    finally:
        await asyncio.gather(*(host.kill() for host in hosts))


@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_each_turn_is_there_once_and_each_memory_told_once(
    seed: int, servers: dict[str, Postgres], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = list(POSTGRES)[seed % len(POSTGRES)]
    server = servers.get(kind) or servers.setdefault(kind, Postgres(POSTGRES[kind]))
    with migrated(server.dsn) as schema:
        with psycopg.connect(server.dsn, options=f"-csearch_path={schema}") as connection:
            connection.execute(REFUSES)
        async with Way.to(app_of(server.dsn)) as way:
            monkeypatch.setenv("GATEWAY_MEMORY_DSN", way.dsn)
            this = Round(server, way, schema, tmp_path, seed)
            try:
                async with running(this.hosts):
                    await this.run()
                wrong = list(this.wrong())
            finally:
                server.stop()
                server.start()
        turns = sum(len(talk.turns) for talk in this.talks)
        moves = sum(talk.moves for talk in this.talks)
        barred, cut = len(this.set_aside), way.cut
        told = f"{turns} turns, {barred} set aside, {moves} moves, {cut} commits cut, {dict(this.troubles.count)}"
        print(f"seed {seed} on {kind}: {told}")  # noqa: T201 - shown by -rP
        assert not wrong, f"seed {seed} on {kind}: {len(wrong)} wrong\n" + "\n".join(
            [*wrong[:20], *this.troubles.happened]
        )
