"""Bytes flip on disks: an unreadable row is set aside and counted, a damaged index made again; sessions start."""

import asyncio
import random
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from inside import parts
from thorough import amount

from gateway_memory import OWNER, Config, GatewayMemory, JournalDamagedError
from recall import EmbedderSettings

pytestmark = pytest.mark.slow

FLIPS = amount(32, 960)
JSON_COLUMNS = (
    ("events", "body"),
    ("plans", "body"),
    ("receipts", "outcome"),
    ("receipts", "turns"),
    ("changes", "plan"),
    ("changes", "patches"),
    ("replies", "recalled"),
    ("memories", "entities"),
)
SAID = (
    "Remember that the staging port is 8443.",
    "我喜欢用 Python",
    "I'm allergic to peanuts.",
    "我们决定用 PostgreSQL",
)


def words_alone() -> Config:
    defaults = Config().defaults
    recall = replace(defaults.auto_recall, embedder=EmbedderSettings(provider="none"))
    return Config(defaults=replace(defaults, auto_recall=recall))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose files are as a kill has left them: with logs, an open session, and events that wait for it."""
    source, copy = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("whole")

    async def fill() -> None:
        async with GatewayMemory(words_alone(), source) as memory:
            await memory.start_session("listener", user=OWNER)
            session = await memory.start_session("speaker", user=OWNER)
            for said in SAID:
                await memory.before_reply(session, said)
                await memory.after_reply(session, user=said, reply="OK")
            await memory.flush()
            await memory.before_reply(session, "which port is it?")
            await memory.after_reply(session, user="The port has changed again, it is 9443 now", reply="OK")
            await memory.flush()
            await memory.search(session, "port")
            done = (await parts(memory).storage.ledger.undoable("owner", 1))[0].plan
            number, _ = await parts(memory).storage.turns.save_plan(replace(done, turns=()))  # done turns are refused
            assert number
            shutil.copytree(source, copy, dirs_exist_ok=True)

    asyncio.run(fill())
    return copy


async def use(workspace: Path) -> tuple[str, str]:
    """Do what any host does; return the status and what a search says."""
    async with GatewayMemory(words_alone(), workspace) as memory:
        session = await memory.start_session("listener", user=OWNER)
        other = await memory.start_session("new", user=OWNER)
        await memory.before_reply(session, "which port is the staging server on?")
        await memory.after_reply(other, user="Remember that the cat is called Miso.", reply="OK")
        await memory.flush()
        assert "Miso" in (workspace / "MEMORY.md").read_text("utf-8")
        for command in ("why", "list", "undo", "history abcdefgh", "search cat"):
            assert await memory.command(session, f"/memory {command}")
        await memory.receipts(limit=100)
        found = " ".join(hit.text for hit in await memory.search(other, "peanuts"))
        status = await memory.command(session, "/memory status")
        await memory.end_session(other, reason="completed")
        return str(status), found


def copied(whole: Path, target: Path) -> Path:
    shutil.copytree(whole, target)
    with closing(sqlite3.connect(target / "journal.sqlite")) as journal:
        journal.execute("UPDATE sessions SET slot = -1")  # to be resumed, with what waits for them
        journal.commit()
    return target


def flipped(file: Path, generator: random.Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(generator.choice([1, 8, 64])):
        content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
    file.write_bytes(content)


@pytest.mark.parametrize("part", range(3))
async def test_flips_in_the_journal_itself_cost_one_start_at_most(whole: Path, tmp_path: Path, part: int) -> None:
    generator = random.Random(f"journal {part}")  # noqa: S311 - no secrets
    for number in range(FLIPS // 4):
        workspace = copied(whole, tmp_path / str(number))
        files = [file for file in sorted(workspace.glob("journal.sqlite*")) if file.stat().st_size]
        flipped(generator.choice(files), generator)
        for _ in range(2):  # damage that only shows on use is found by the next start
            try:
                await use(workspace)
            except JournalDamagedError:
                continue
            break
        else:
            await use(workspace)
        shutil.rmtree(workspace)


@pytest.mark.parametrize("sql", ["receipts RENAME COLUMN turns TO tvrns", "events RENAME TO eventr"])
async def test_a_journal_whose_tables_have_lost_their_names_is_set_aside(whole: Path, tmp_path: Path, sql: str) -> None:
    workspace = copied(whole, tmp_path / "workspace")
    with closing(sqlite3.connect(workspace / "journal.sqlite")) as journal:
        journal.execute(f"ALTER TABLE {sql}")
        journal.commit()
    with pytest.raises(JournalDamagedError, match="set aside"):
        await use(workspace)
    assert "peanuts" in (await use(workspace))[1]


@pytest.mark.parametrize("part", range(4))
async def test_flips_in_the_index_never_stop_a_session(whole: Path, tmp_path: Path, part: int) -> None:
    generator = random.Random(part)  # noqa: S311 - no secrets
    for number in range(FLIPS // 4):
        workspace = copied(whole, tmp_path / str(number))
        files = [file for file in sorted(workspace.glob("index.sqlite*")) if file.suffix != ".lock"]
        flipped(generator.choice([file for file in files if file.stat().st_size]), generator)
        await use(workspace)
        shutil.rmtree(workspace)


async def test_no_flip_in_a_closed_index_costs_a_hit(tmp_path: Path) -> None:
    generator = random.Random("hits")  # noqa: S311 - no secrets
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        session = await memory.start_session("speaker", user=OWNER)
        for number in range(12):
            await memory.save_fact(session, content=f"Box {number} holds {number} spoons")
    index = tmp_path / "index.sqlite"
    for number in range(FLIPS // 4):
        content = bytearray(index.read_bytes())
        at = content.index(b"Box 7 holds") + 7 if number == 0 else generator.randrange(len(content))
        content[at] ^= 1 << generator.randrange(8)
        index.write_bytes(content)
        async with GatewayMemory(words_alone(), tmp_path) as memory:
            session = await memory.start_session("listener", user=OWNER)
            found = await memory.search(session, "which box holds spoons", limit=50)
            assert {hit.text for hit in found} == {f"Box {each} holds {each} spoons" for each in range(12)}
            assert "made again 1 times" in str(await memory.command(session, "/memory status"))


async def test_an_index_that_two_have_open_or_a_kill_has_left_needs_no_seal(tmp_path: Path) -> None:
    seal = tmp_path / "index.sqlite.seal"
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        session = await memory.start_session("speaker", user=OWNER)
        await memory.save_fact(session, content="The cat is called Miso")
        async with GatewayMemory(words_alone(), tmp_path) as other:
            assert await other.search(await other.start_session("listener", user=OWNER), "cat")
        assert not seal.exists(), "the first still writes"
        await memory.save_fact(session, content="The dog is called Rex")
    assert seal.exists()
    seal.unlink()
    async with GatewayMemory(words_alone(), tmp_path) as memory:
        session = await memory.start_session("next", user=OWNER)
        assert await memory.search(session, "dog")
        assert "made again" not in str(await memory.command(session, "/memory status"))


@pytest.mark.parametrize("damage", ["schema", "types", "revision", "scale", "encoder", "text", "terms", "numbers"])
async def test_a_damaged_index_is_made_again_and_counted(whole: Path, tmp_path: Path, damage: str) -> None:
    workspace = copied(whole, tmp_path / "workspace")
    statements = {
        "schema": "ALTER TABLE row RENAME COLUMN heading TO hfading",
        "types": "UPDATE row SET text = x'ff00', at = 'noon'",
        "revision": "UPDATE scope SET revision = 'x'",
        "scale": "INSERT OR REPLACE INTO meta VALUES ('encoder', 'x'), ('dimension', '1'), ('scale', '0.1 x')",
        "encoder": "INSERT OR REPLACE INTO meta VALUES ('encoder', 'x'), ('dimension', 'y'), ('scale', '0 1')",
        "text": "UPDATE row SET id = CAST(x'ff6162' AS TEXT), text = CAST(x'ff6162' AS TEXT)",
        "terms": "UPDATE row SET terms = x'01'",
        "numbers": "UPDATE row SET at = 'soon', importance = 'very', confidence = NULL || 'x'",
    }
    with closing(sqlite3.connect(workspace / "index.sqlite")) as index:
        index.execute("PRAGMA ignore_check_constraints = ON")
        try:
            index.execute(statements[damage])
        except sqlite3.IntegrityError:
            index.execute("UPDATE row SET at = 'soon', importance = 'very'")
        index.commit()
    status, found = await use(workspace)
    assert "peanuts" in found
    assert "made again 1 times" in status or "重建 1 次" in status


@pytest.mark.parametrize(("table", "column"), JSON_COLUMNS)
async def test_flips_in_the_rows_of_the_journal_never_stop_a_session(
    whole: Path, tmp_path: Path, table: str, column: str
) -> None:
    generator = random.Random(f"{table}.{column}")  # noqa: S311 - no secrets
    for number in range(max(2, FLIPS // 8)):
        workspace = copied(whole, tmp_path / str(number))
        with closing(sqlite3.connect(workspace / "journal.sqlite")) as journal:
            key = "id" if table == "memories" else "rowid"
            rows = journal.execute(f"SELECT {key}, {column} FROM {table}").fetchall()
            for row, text in rows:
                content = bytearray(text.encode())
                for _ in range(generator.choice([1, 3])):
                    content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
                query = f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE {key} = ?"
                journal.execute(query, (bytes(content), row))
            journal.commit()
        await use(workspace)
        shutil.rmtree(workspace)


@pytest.mark.parametrize("body", ["", "{", "null", "[]", "7", '"x"', '{"scope": 1, "at": "x", "changes": [[]]}', "\0"])
async def test_rows_that_cannot_be_read_are_set_aside_and_counted(whole: Path, tmp_path: Path, body: str) -> None:
    workspace = copied(whole, tmp_path / "workspace")
    with closing(sqlite3.connect(workspace / "journal.sqlite")) as journal:
        for table, column in JSON_COLUMNS:
            journal.execute(f"UPDATE {table} SET {column} = ?", (body,))
        (events,) = journal.execute("SELECT count(*) FROM events").fetchone()
        journal.commit()
    assert events
    status, found = await use(workspace)
    assert "peanuts" in found
    assert "Unreadable: " in status or "无法读取" in status
    with closing(sqlite3.connect(workspace / "journal.sqlite")) as journal:
        aside = dict(journal.execute("SELECT place, count(*) FROM unreadable GROUP BY place").fetchall())
        assert aside["events"]
        assert aside["plans"] == 1
        assert {row[0] for row in journal.execute("SELECT body FROM unreadable")} == {body}
