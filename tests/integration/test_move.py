"""A whole memory moves between files and PostgreSQL, and back, also if it is killed on the way."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from inside import parts
from patience import seconds
from postgres import KINDS, migrated

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.cli.main import main
from gateway_memory.errors import StoreError
from gateway_memory.scope import KINDS as ALL_KINDS
from gateway_memory.scope import OWNER_SCOPE, Kind, Scope
from gateway_memory.store.journal.arrivals import NewTurn
from gateway_memory.store.journal.migration import FilesSide
from gateway_memory.store.journal.sqlite import open_journal
from gateway_memory.store.migration import NOT_MIGRATED, PARTS
from gateway_memory.store.postgres.schema import check
from gateway_memory.store.postgres.side import PostgresSide
from gateway_memory.store.summaries import SessionRecord
from gateway_memory.sync.storage import open_store

pytestmark = [
    pytest.mark.of_postgres,
    pytest.mark.slow,
    pytest.mark.skipif(not KINDS, reason="there is no PostgreSQL"),
    pytest.mark.xdist_group("alone"),  # not beside another test of servers or deadlines
]

EPISODES = 5000
ROOM = Scope.parse("room:a/b c")  # whose name the folder does not tell
PROGRAM = Path(__file__).parents[1] / "programs" / "moving.py"


@pytest.fixture
def schema(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("GATEWAY_MEMORY_DSN", dsn)
    with migrated(dsn) as schema:
        yield schema


class Configs:
    """Configs of both kinds, and the commands that move between them."""

    def __init__(self, folder: Path, schema: str) -> None:
        self.files, self.shared, self.old = folder / "files.json5", folder / "shared.json5", folder / "old"
        store = {"backend": "postgres", "schema": schema}
        for path, settings in ((self.files, {}), (self.shared, {"store": store})):
            section = {"autoRecall": {"embedder": {"provider": "none"}}, **settings}
            path.write_text(json.dumps({"agents": {"defaults": {"memorySync": section}}}), "utf-8")

    def there(self) -> list[str]:
        return ["move", "--config", str(self.files), "--workspace", str(self.old), "--to-config", str(self.shared)]

    def back(self, workspace: Path) -> list[str]:
        known = ["--workspace", str(self.old), "--to-config", str(self.files), "--to-workspace", str(workspace)]
        return ["move", "--config", str(self.shared), *known]


@pytest.fixture
def configs(tmp_path: Path, schema: str) -> Configs:
    return Configs(tmp_path, schema)


async def fill(configs: Configs) -> None:
    """Fill the old workspace: three people, awkward documents, records, and a turn of a process that has died."""
    async with GatewayMemory(load_config(configs.files), configs.old) as memory:
        for key, whose in (("chat", {"user": OWNER}), ("zoe", {"user": "zoe"}), ("room", {"room": "a/b c"})):
            session = await memory.start_session(key, **whose)
            await memory.after_reply(session, user=f"Remember that the locker of {key} opens with 4711.", reply="OK")
            await memory.flush()
            await memory.end_session(session, reason="exit")
        await memory.start_session("goes on", user=OWNER)
        store = parts(memory).storage
        record = SessionRecord(id="sum-1", session_id="s-1", topic="doors", summary="The door.", timestamp="2026-01-01")
        for scope in (OWNER_SCOPE, ROOM):
            async with store.documents.writing(scope):
                await store.records.save(scope, record, 1.0)
    awkward = {
        "memory/bytes.md": b"# bytes\r\n\r\n- not \xff\xfe UTF-8\r\n- a \0 in it",
        "memory/empty.md": b"",
        "people/zoe/MEMORY.md": b"- nobody's folder\n",
        "people/zoe/sessions.jsonl": b"{}\n",
        "rooms/x/memory/2026-01-02.md": b"- nobody's room\n",
        "sessions.damaged.jsonl": b"damaged\n",
    }
    for name, content in awkward.items():
        path = configs.old / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, ns=(1_700_000_000_000_000_001, 1_700_000_000_000_000_001))
    with closing(sqlite3.connect(configs.old / "journal.sqlite", isolation_level=None)) as database:
        database.execute("BEGIN")
        said = ((10 * n, "owner", "k", "s", f"said {n}" + "x" * (n % 7), "OK", n / 3) for n in range(1, EPISODES + 1))
        database.executemany("INSERT INTO episodes VALUES (?, ?, ?, ?, ?, ?, ?, '', '')", said)
        large = ((f"m{n}", "long " * 200_000) for n in range(12))
        database.executemany("INSERT INTO requests VALUES ('owner', 'call', 'caller', ?, 1.0, ?)", large)
        database.execute("INSERT INTO requests VALUES ('owner', 'nul', 'caller', 'id', 1.0, ?)", ("a\0b\0c",))
        database.execute("INSERT INTO history VALUES (900, 'owner', 'm', 1.0, 'added', CAST(x'61ff' AS TEXT))")
        database.executemany("INSERT INTO link_tries VALUES (?, ?)", [("user:zoe", 5.0)] * 3)
        database.execute("INSERT INTO transcript_messages VALUES ('message', 's')")
        database.execute("UPDATE sqlite_sequence SET seq = 70000 WHERE name = 'turns'")
        database.execute("COMMIT")


def rows_of(side: FilesSide | PostgresSide) -> dict[str, list[Any]]:
    """Return all rows; the time of a document is that of its file."""
    return {part: sorted(map(repr, side.rows(part, sorted(side.columns(part)), None))) for part in PARTS}


def of_files(workspace: Path) -> dict[str, list[Any]]:
    with FilesSide.open(workspace, reads=True) as side:
        return rows_of(side)


def of_schema(dsn: str, schema: str) -> dict[str, list[Any]]:
    with PostgresSide.open(dsn, schema, reads=True) as side:
        return rows_of(side)


def expected(workspace: Path) -> dict[str, list[Any]]:
    """Return the rows that a target holds: without NUL, and held by no process."""
    with closing(open_journal(workspace)) as database:
        for table in ("sessions", "turns", "plans"):
            database.execute(f"UPDATE {table} SET slot = -1")
        database.execute("UPDATE requests SET answer = ? WHERE call = 'nul'", ("a\ufffdb\ufffdc",))
    return of_files(workspace)


def run(when: int, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that is killed: see programs/moving.py."""
    return subprocess.run([sys.executable, PROGRAM, str(when), *command], check=False, capture_output=True, text=True)


# There and back


async def test_all_of_it_moves_there_and_back(
    configs: Configs, dsn: str, schema: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await fill(configs)
    assert main(configs.there()) == 0
    told = capsys.readouterr().out
    assert "2 NUL characters became U+FFFD" in told
    assert "1 texts held bytes" in told
    assert "Note: the hooks of editors work on files" in told
    assert f"none with the old config any more:\n     {configs.old} was left as it is" in told
    assert ["episodes", str(EPISODES + 2)] in [line.split()[:2] for line in told.splitlines()]
    with PostgresSide.open(dsn, schema, reads=True) as side:
        assert side.counters()["turns"] == 70000
    assert main(configs.back(tmp_path / "new")) == 0
    assert "NUL" not in capsys.readouterr().out
    before = expected(configs.old)
    assert plain(of_schema(dsn, schema)) == before
    assert of_files(tmp_path / "new") == before
    assert (tmp_path / "new" / "memory" / "bytes.md").read_bytes() == (configs.old / "memory/bytes.md").read_bytes()
    assert (tmp_path / "new" / "memory" / "bytes.md").stat().st_mode & 0o777 == 0o600
    with FilesSide.open(tmp_path / "new", reads=True) as files:
        assert files.counters()["turns"] == 70000


async def test_the_new_memory_tells_what_the_old_one_knew_and_does_what_waited(
    configs: Configs, tmp_path: Path
) -> None:
    await fill(configs)
    async with open_old(configs.old) as store:
        said = NewTurn(
            turn_id="late", scope="owner", session_key="goes on", session_id="s", reply="OK", at=1.0, accepted_at=1.0,
            user="Remember that the cellar is flooded.",
        )  # fmt: skip
        number = await store.turns.accept(said)
    for command, config, workspace in (
        (configs.there(), configs.shared, tmp_path / "host"),
        (configs.back(tmp_path / "new"), configs.files, tmp_path / "new"),
    ):
        assert await asyncio.to_thread(main, command) == 0
        async with GatewayMemory(load_config(config), workspace) as memory:
            session = await memory.start_session("goes on", user=OWNER)
            await memory.flush()
            async with asyncio.timeout(seconds(30)):
                while not (hits := [hit.text for hit in await memory.search(session, "flooded cellar") if hit.text]):
                    await asyncio.sleep(0.1)
            assert "cellar" in hits[0]
            assert [hit.text for hit in await memory.search(session, "locker")] != []
            zoe = await memory.start_session("zoe", user="zoe")
            assert "locker of zoe" in zoe.opening
            assert await parts(memory).storage.turns.accept(turn_after()) > number
            await memory.flush()


def turn_after() -> NewTurn:
    return NewTurn(
        turn_id=os.urandom(8).hex(), scope="owner", session_key="k", session_id="k", user="", reply="OK", at=1.0,
        accepted_at=1.0,
    )  # fmt: skip


class open_old:  # noqa: N801 - reads as a call
    """The ports of a workspace whose process dies: it releases nothing but its slot."""

    def __init__(self, workspace: Path) -> None:
        from contextlib import AsyncExitStack

        self._stack, self._workspace = AsyncExitStack(), workspace

    async def __aenter__(self) -> Any:
        return await open_store(self._stack, self._workspace)

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()


@pytest.mark.parametrize("dsn", KINDS[:1], indirect=True)
@pytest.mark.parametrize("to_files", [False, True], ids=["to PostgreSQL", "to files"])
async def test_a_move_that_is_killed_goes_on_and_ends_the_same(
    configs: Configs, dsn: str, schema: str, tmp_path: Path, *, to_files: bool
) -> None:
    await fill(configs)
    command, new = configs.there(), tmp_path / "new"
    if to_files:
        assert await asyncio.to_thread(main, command) == 0
        command = configs.back(new)
    for when in (1, -2, 3, -7, 5, -9, 0):  # each run goes on where the one before was killed
        killed = await asyncio.to_thread(run, when, command)
        assert killed.returncode == -signal.SIGKILL, (when, killed.stderr)
        with pytest.raises(StoreError, match="not completed"):
            open_journal(new) if to_files else check(dsn, schema)
    done = await asyncio.to_thread(run, 999, command)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("went on with an earlier move\n")
    before = expected(configs.old)
    assert (of_files(new) if to_files else plain(of_schema(dsn, schema))) == before
    with psycopg.connect(dsn, options=f"-csearch_path={schema}") as connection:
        assert connection.execute("SELECT to_regclass('moving')").fetchone() == (None,)


def plain(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {part: [row.replace("True", "1").replace("False", "0") for row in found] for part, found in rows.items()}


# What is refused


async def test_a_memory_that_is_open_is_neither_moved_nor_filled(
    configs: Configs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with GatewayMemory(load_config(configs.files), configs.old) as memory:
        await memory.start_session("chat", user=OWNER)
        assert await asyncio.to_thread(main, configs.there()) == 1
        assert "another process has this memory open; end it first" in capsys.readouterr().err
    async with GatewayMemory(load_config(configs.shared), tmp_path / "host"):
        assert await asyncio.to_thread(main, configs.there()) == 1
        assert "1 processes have this memory open" in capsys.readouterr().err
        assert await asyncio.to_thread(main, configs.back(tmp_path / "new")) == 1
        assert "1 processes have this memory open" in capsys.readouterr().err
    assert await asyncio.to_thread(main, configs.there()) == 0, "it was opened, and nothing was said to it"


async def test_a_place_that_is_not_empty_is_refused(
    configs: Configs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await fill(configs)
    assert main(configs.there()) == 0
    capsys.readouterr()
    assert main(configs.there()) == 1
    assert "holds a memory already (documents," in capsys.readouterr().err
    assert main(configs.back(configs.old)) == 1
    assert "holds a memory already" in capsys.readouterr().err
    (tmp_path / "new" / "memory").mkdir(parents=True)
    (tmp_path / "new" / "memory" / "mine.md").write_text("mine")
    assert main(configs.back(tmp_path / "new")) == 1
    assert "holds a memory already (documents)" in capsys.readouterr().err
    assert (tmp_path / "new" / "memory" / "mine.md").read_text() == "mine"


async def test_a_source_that_changed_on_the_way_is_told(
    configs: Configs, dsn: str, schema: str, capsys: pytest.CaptureFixture[str]
) -> None:
    await fill(configs)
    killed = run(0, configs.there())
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    (configs.old / "MEMORY.md").write_text("- another line\n")
    assert main(configs.there()) == 1
    told = capsys.readouterr().out
    assert "differ in documents. The source has changed since the move began" in told
    with pytest.raises(StoreError, match="not completed"):
        check(dsn, schema)


def test_what_makes_no_sense_is_refused_in_words(
    configs: Configs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*arguments: object) -> str:
        assert main(["move", *map(str, arguments)]) == 1
        return capsys.readouterr().err

    assert "there is no such folder" in said("--workspace", configs.old, "--to-config", configs.shared)
    configs.old.mkdir()
    assert "there is no memory in this folder" in said("--workspace", configs.old, "--to-config", configs.shared)
    assert list(configs.old.iterdir()) == []
    assert "copy its folder" in said("--workspace", configs.old, "--to-config", configs.files)
    both = said("--workspace", configs.old, "--config", configs.shared, "--to-config", configs.shared)
    assert "pg_dump" in both
    new = said("--workspace", configs.old, "--to-config", configs.shared, "--to-workspace", tmp_path)
    assert "--to-workspace is for files" in new


async def test_turns_that_wait_on_the_host_are_not_left_behind(
    configs: Configs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with GatewayMemory(load_config(configs.shared), configs.old) as memory:
        await memory.start_session("chat", user=OWNER)
    with closing(sqlite3.connect(configs.old / ".gateway-memory" / "spool.sqlite", isolation_level=None)) as spool:
        spool.execute("INSERT INTO waiting (body) VALUES ('{}')")
    assert await asyncio.to_thread(main, configs.back(tmp_path / "new")) == 1
    assert "1 turns wait here for PostgreSQL" in capsys.readouterr().err


async def test_a_name_that_leads_out_of_the_workspace_is_refused(
    configs: Configs, dsn: str, schema: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, name in (("..", "MEMORY.md"), ("people/..", "MEMORY.md"), ("", "memory/../../x.md"), ("", "x.md")):
        with psycopg.connect(dsn, autocommit=True, options=f"-csearch_path={schema}") as connection:
            connection.execute("DELETE FROM documents")
            connection.execute("INSERT INTO documents VALUES (%s, %s, 'x', 1)", (folder, name))
        configs.old.mkdir(exist_ok=True)
        assert main(configs.back(tmp_path / "new")) == 1
        assert "a name that no file may have" in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.md"))


async def test_a_kind_of_scope_that_stands_in_its_table_alone_moves_too(
    configs: Configs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Kind(
        name="team",
        folder="teams",
        speaker="one of a team",
        title=("Team", "团队"),
        possessive=("a team's", "某个团队的"),
    )
    monkeypatch.setitem(ALL_KINDS, "team", team)
    red, text = Scope.parse("team:red"), "the red locker opens with 4711"
    async with GatewayMemory(load_config(configs.files), configs.old) as memory:
        session = await memory.start_session("chat", **red.whose)
        await memory.after_reply(session, user=f"Remember that {text}.", reply="OK")
        await memory.flush()
    assert main(configs.there()) == 0
    async with GatewayMemory(load_config(configs.shared)) as memory:
        assert text in (await memory.start_session("shared", **red.whose)).opening
    assert main(configs.back(tmp_path / "new")) == 0
    assert text in (tmp_path / "new" / red.folder / "MEMORY.md").read_text("utf-8")
    async with GatewayMemory(load_config(configs.files), tmp_path / "new") as memory:
        session = await memory.start_session("again", **red.whose)
        assert text in (await memory.before_reply(session, "What opens the red locker?")).text + session.opening


async def test_a_memory_without_documents_moves(
    configs: Configs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with GatewayMemory(load_config(configs.files), configs.old) as memory:
        await memory.start_session("chat", user=OWNER)
    assert await asyncio.to_thread(main, configs.there()) == 0
    assert ["sessions", "1"] in [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert await asyncio.to_thread(main, configs.back(tmp_path / "new")) == 0
    assert of_files(tmp_path / "new") == expected(configs.old)


def test_no_table_is_forgotten(dsn: str, schema: str, tmp_path: Path) -> None:
    with PostgresSide.open(dsn, schema, reads=True) as side:
        assert side.tables() - NOT_MIGRATED == PARTS.keys()
    with FilesSide.open(tmp_path, reads=False) as files:
        assert files.tables() - NOT_MIGRATED == PARTS.keys() - {"documents", "record_files"}
        for part in PARTS:
            with PostgresSide.open(dsn, schema, reads=True) as side:
                assert side.columns(part) == files.columns(part), part
