"""The version before and this one on one database, while hosts are exchanged one by one. It needs git's history."""

import asyncio
import os
import subprocess
import sys
import tarfile
from collections import Counter
from io import BytesIO
from pathlib import Path

import psycopg
import pytest
import talking_host
from patience import seconds
from postgres import KINDS, app_of, app_role, fresh_schema

from gateway_memory.store.postgres.schema import STEPS, migrate, state_of

ROOT = Path(__file__).parents[2]
HOST = (sys.executable, str(talking_host.__file__))
BEFORE = "1027870"
"""The last commit that makes the schema by many steps."""


def _archive() -> bytes:
    command = ["git", "-C", str(ROOT), "archive", BEFORE, "gateway_memory", "extractor", "notifier", "recall"]
    try:
        return subprocess.run(command, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return b""


pytestmark = [
    pytest.mark.of_postgres,
    pytest.mark.slow,
    pytest.mark.skipif(not KINDS, reason="there is no PostgreSQL"),
    pytest.mark.xdist_group("alone"),
]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the version before."""
    archive = _archive()
    if not archive:
        pytest.skip(f"this checkout has no commit {BEFORE}")
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder


class Host:
    """A host of a version, which talks until it is asked to end."""

    def __init__(self, source: Path, folder: Path, name: str, schema: str, dsn: str) -> None:
        self.name = name
        self._arguments = [*HOST, str(source), str(folder / name), name, schema]
        self._environment = os.environ | {"GATEWAY_MEMORY_DSN": dsn}
        self._errors = folder / f"{name}.errors"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        pipe = asyncio.subprocess.PIPE
        with self._errors.open("wb") as errors:
            self._process = await asyncio.create_subprocess_exec(
                *self._arguments, stdin=pipe, stdout=pipe, stderr=errors, env=self._environment
            )
        assert self._process.stdout
        async with asyncio.timeout(seconds(60)):
            assert await self._process.stdout.readline() == b"open\n", self._errors.read_text("utf-8")[-2000:]

    async def end(self) -> int:
        """Return how many turns it has said."""
        assert self._process
        async with asyncio.timeout(seconds(60)):
            told, _ = await self._process.communicate(b"")  # which ends its input
        errors = self._errors.read_text("utf-8")
        assert self._process.returncode == 0, errors[-2000:]
        return int(told.split()[-1])


async def test_hosts_are_exchanged_one_by_one_while_all_talk(dsn: str, before: Path, tmp_path: Path) -> None:
    with fresh_schema(dsn) as schema:
        made = subprocess.run(
            [*HOST, str(before), "migrate", dsn, schema, app_role(dsn)], check=True, capture_output=True, text=True
        ).stdout
        assert set(made.split()) == STEPS.former
        one, two = (Host(before, tmp_path, name, schema, app_of(dsn)) for name in ("old1x", "old2x"))
        await asyncio.gather(one.start(), two.start())
        await asyncio.sleep(seconds(1))
        assert await asyncio.to_thread(migrate, dsn, schema, app_role=app_role(dsn)) == list(STEPS.read())
        await asyncio.sleep(seconds(1))
        three = Host(ROOT, tmp_path, "new1x", schema, app_of(dsn))
        said = {one.name: await one.end()}
        await three.start()
        await asyncio.sleep(seconds(1))
        four = Host(ROOT, tmp_path, "new2x", schema, app_of(dsn))
        said[two.name] = await two.end()
        await four.start()
        await asyncio.sleep(seconds(1))
        said |= {three.name: await three.end(), four.name: await four.end()}

        assert state_of(dsn, schema).missing == ()
        assert min(said.values()) > 5
        with psycopg.connect(dsn, options=f"-csearch_path={schema}") as connection:
            rows = connection.execute('SELECT scope, session_key, "user" FROM episodes ORDER BY turn').fetchall()
            memories = connection.execute("SELECT scope, text FROM memories WHERE state = 'active'").fetchall()
            assert connection.execute("SELECT count(*) FROM turns").fetchone() == (0,)
        spoken = Counter(text.split()[3] for _, _, text in rows)
        assert spoken == Counter(f"{name}{number}" for name, most in said.items() for number in range(most))
        kept = Counter(text.partition("key ")[2].split()[0] for _, text in memories if "key " in text)
        assert kept == spoken
        for key in {key for _, key, _ in rows}:
            numbers = [int(text.split("door ")[1].rstrip(".")) for _, session, text in rows if session == key]
            assert numbers == sorted(numbers), key
