"""A server that steps back under running hosts: a standby is promoted, or a backup restored. They notice."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from patience import seconds, until
from postgres import POSTGRES, Postgres, app_of, config_of, migrated
from psycopg import sql

from gateway_memory import OWNER, GatewayMemory, Session

INSTALL = POSTGRES.get("installed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(INSTALL is None, reason="there is no PostgreSQL with pg_basebackup and pg_dump"),
    pytest.mark.xdist_group("alone"),
]


class Talk:
    """Two hosts, on each of them a session of the owner: one speaks, and the other one listens."""

    def __init__(self, here: GatewayMemory, there: GatewayMemory, speaker: Session, listener: Session) -> None:
        self.here = here
        self.there = there
        self.speaker = speaker
        self.listener = listener
        self.told = ""
        """All that the listener was told."""

    @classmethod
    @asynccontextmanager
    async def of(cls, schema: str, folder: Path) -> AsyncIterator["Talk"]:
        async with AsyncExitStack() as stack:
            here, there = [
                await stack.enter_async_context(GatewayMemory(config_of(schema), folder / name))
                for name in ("one", "two")
            ]
            speaker = await here.start_session("speaker", user=OWNER)
            yield cls(here, there, speaker, await there.start_session("listener", user=OWNER))

    async def tell(self, what: str) -> None:
        """Let the one be told something, and wait until it is a memory."""
        said = f"Remember that the {what} is broken."
        assert await self.here.after_reply(self.speaker, user=said, reply="OK") is not None
        await self.filed(what)

    async def filed(self, what: str) -> None:
        """Wait until the first host has a memory: the server may just be coming back."""
        async with asyncio.timeout(seconds(30)):
            while not any(
                what in hit.text for hit in await self.here.search(self.speaker, what) if hit.kind == "memory"
            ):
                await asyncio.sleep(0.1)

    async def heard(self, what: str) -> None:
        """Wait until the other one has heard of something."""
        self.told += (await self.there.before_reply(self.listener, "hello")).text
        async with asyncio.timeout(seconds(30)):
            while what not in self.told:
                await asyncio.sleep(0.1)
                self.told += (await self.there.before_reply(self.listener, "hello")).text

    async def found(self) -> list[set[str]]:
        """Return which of the things each host finds."""
        things = ("bell", "lamp", "roof", "door", "wall", "fence", "desk")
        hits = [
            await self.here.search(self.speaker, " ".join(things), limit=50),
            await self.there.search(self.listener, " ".join(things), limit=50),
        ]
        return [{thing for thing in things for hit in some if thing in hit.text} for some in hits]

    async def both_find(self, *things: str) -> None:
        """Wait until both hosts find these things alone."""
        found: list[set[str]] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds(30)):
                while (found := await self.found()) != [set(things)] * 2:
                    await asyncio.sleep(0.1)
        assert found == [set(things)] * 2


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Postgres, Postgres, str]]:
    """A primary, a standby, and a schema. Hosts know both servers, and take the one that may be written."""
    assert INSTALL
    primary = Postgres(INSTALL)
    standby = Postgres(INSTALL, standby_of=primary)
    dsn = f"{app_of(primary.dsn)} host=127.0.0.1,127.0.0.1 port={primary.port},{standby.port}"
    monkeypatch.setenv("GATEWAY_MEMORY_DSN", f"{dsn} target_session_attrs=read-write")
    try:
        with migrated(primary.dsn) as schema:
            yield primary, standby, schema
            primary.start() if primary.process is None else None
    finally:
        standby.remove()
        primary.remove()


async def replayed(primary: Postgres, standby: Postgres) -> None:
    """Wait until the standby has all that the primary has."""
    with psycopg.connect(primary.dsn) as one, psycopg.connect(standby.dsn, autocommit=True) as other:
        upto = one.execute("SELECT pg_current_wal_lsn()").fetchone()
        await until(lambda: other.execute("SELECT pg_last_wal_replay_lsn() >= %s", upto).fetchone() == (True,))


async def test_hosts_find_what_a_standby_that_lagged_has(pair: tuple[Postgres, Postgres, str], tmp_path: Path) -> None:
    primary, standby, schema = pair
    async with Talk.of(schema, tmp_path) as talk:
        await talk.tell("bell")
        await talk.heard("bell")
        await replayed(primary, standby)
        standby.stop()
        for lost in ("lamp", "roof"):
            await talk.tell(lost)
            await talk.heard(lost)
        await talk.both_find("bell", "lamp", "roof")
        primary.stop()
        standby.start()
        standby.promote()
        for new in ("door", "wall", "fence", "desk"):  # the numbers of what was lost are given a second time
            await talk.tell(new)
        await talk.both_find("bell", "door", "wall", "fence", "desk")
        for new in ("door", "wall", "fence", "desk"):
            await talk.heard(new)


async def test_a_standby_that_has_everything_goes_on_with_it(
    pair: tuple[Postgres, Postgres, str], tmp_path: Path
) -> None:
    primary, standby, schema = pair
    async with Talk.of(schema, tmp_path) as talk:
        for kept in ("bell", "lamp"):
            await talk.tell(kept)
            await talk.heard(kept)
        await talk.both_find("bell", "lamp")
        await replayed(primary, standby)
        primary.stop()
        standby.promote()
        for new in ("door", "wall"):
            await talk.tell(new)
            await talk.heard(new)
        await talk.both_find("bell", "lamp", "door", "wall")
        assert [talk.told.count(what) for what in ("bell", "lamp", "door", "wall")] == [1, 1, 1, 1]


@pytest.mark.parametrize("when", ["while both ran", "before both started"])
async def test_hosts_go_on_with_a_backup_that_is_restored_under_them(
    postgres_dsn: Callable[[str], str], when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn, dump = postgres_dsn("installed"), str(tmp_path / "memory.dump")
    monkeypatch.setenv("GATEWAY_MEMORY_DSN", app_of(dsn))
    with migrated(dsn) as schema:

        def back_up() -> None:
            call("pg_dump", "--format=custom", f"--schema={schema}", f"--file={dump}", dsn)

        if when == "before both started":
            async with Talk.of(schema, tmp_path / "earlier") as earlier:
                await earlier.tell("bell")
            back_up()
        async with Talk.of(schema, tmp_path) as talk:
            if when == "while both ran":
                await talk.tell("bell")
                await talk.heard("bell")
                back_up()
            for lost in ("lamp", "roof"):
                await talk.tell(lost)
                await talk.heard(lost)
            await talk.both_find("bell", "lamp", "roof")
            with psycopg.connect(dsn, autocommit=True) as connection:
                connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
            call("pg_restore", "--single-transaction", f"--dbname={dsn}", dump)
            for new in ("door", "wall", "fence", "desk"):
                await talk.tell(new)
            await talk.both_find("bell", "door", "wall", "fence", "desk")
            for new in ("door", "wall", "fence", "desk"):
                await talk.heard(new)
            assert [talk.told.count(what) for what in ("door", "wall", "fence", "desk")] == [1, 1, 1, 1]


def call(program: str, *arguments: str) -> None:
    assert INSTALL
    found = shutil.which(program, path=str(INSTALL / "bin"))
    assert found
    subprocess.run([found, *arguments], check=True, capture_output=True)
