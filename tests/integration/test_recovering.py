"""`doctor journal` brings back what can be read of a damaged journal, says what can't, and loses or doubles nothing."""

import asyncio
import errno
import os
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from inside import journal_rows, parts
from patience import seconds

from gateway_memory import OWNER, Config, GatewayMemory, JournalDamagedError
from gateway_memory.cli.main import main
from gateway_memory.config.settings import MemorySync
from gateway_memory.scope import Scope
from gateway_memory.store.journal.recovery import recover
from gateway_memory.transfer.deletion import Deletion
from recall import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.files
WORDS = Config(defaults=MemorySync(auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none"))))
TURNS = 40
PAGE = 4096
TABLES = ("sessions", "replies", "episodes", "memories", "receipts", "history", "changes", "saved_sessions", "noticed")


def words(number: int) -> str:
    return f"locker {number} opens with {number * 7919 % 10007}"


def long_reply(number: int) -> str:
    return f"Noted, locker {number}. " + f"It stands in corridor {number}. " * (200 if number % 10 == 0 else 30)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace as a kill has left it: its newest rows are in the log."""
    source, copy = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("whole")

    async def fill() -> None:
        async with GatewayMemory(WORDS, source) as memory:
            session = await memory.start_session("chat", user=OWNER)
            for number in range(TURNS):
                await memory.after_reply(session, user=f"Remember that {words(number)}.", reply=long_reply(number))
                if number == TURNS - 5:
                    await memory.flush()
                    await journal_rows(memory, "PRAGMA wal_checkpoint(TRUNCATE)")
            await memory.flush()
            await memory.command(session, f"/memory forget {words(3)}")
            ended = await memory.start_session("ended", user=OWNER)
            await memory.after_reply(ended, user="Remember that the key of the roof hangs at the door.", reply="OK")
            await memory.end_session(ended, reason="completed")
            await memory.flush()
            shutil.copytree(source, copy, dirs_exist_ok=True)

    asyncio.run(fill())
    return copy


@pytest.fixture
def workspace(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "memory"))


def counts(workspace: Path) -> dict[str, int]:
    with closing(sqlite3.connect(workspace / "journal.sqlite")) as database:
        return {table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}


def without_log(workspace: Path) -> Path:
    """Put the log into the journal, and return that."""
    path = workspace / "journal.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return path


def pages_of(path: Path, table: str, *, leaf: bool = True) -> list[int]:
    """Return the pages of a table's tree, from 1: its leaves, or those above them."""
    with closing(sqlite3.connect(path)) as database:
        waiting = [database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]]
    content, leaves, inner = path.read_bytes(), list[int](), list[int]()
    while waiting:
        number = waiting.pop()
        page = content[(number - 1) * PAGE : number * PAGE]
        if page[0] in (10, 13):
            leaves.append(number)
            continue
        inner.append(number)
        cells = struct.unpack_from(f">{int.from_bytes(page[3:5])}H", page, 12)
        waiting += [int.from_bytes(page[at : at + 4]) for at in (*cells, 8)]
    return sorted(leaves if leaf else inner)


def write(path: Path, page: int, content: bytes) -> None:
    with path.open("r+b") as stream:
        stream.seek((page - 1) * PAGE)
        stream.write(content)


def doctor(workspace: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["doctor", "journal", "--workspace", str(workspace)])
    return code, capsys.readouterr().out


async def set_aside(workspace: Path) -> None:
    with pytest.raises(JournalDamagedError, match="doctor journal"):
        await GatewayMemory(WORDS, workspace).__aenter__()


async def is_there(workspace: Path, *numbers: int) -> None:
    """Check that a memory goes on as if nothing had been, and holds these lockers once."""
    async with GatewayMemory(WORDS, workspace) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.before_reply(session, "hello")
        for number in numbers:
            hits = await memory.search(session, f"locker {number}", kinds=["episode"])
            assert f"Remember that {words(number)}." in str([hit.text for hit in hits])
        text = "".join(path.read_text("utf-8") for path in sorted(workspace.rglob("*.md")))
        assert all(text.count(f"{words(number)} ") == 1 for number in numbers)
        assert words(3) not in text
        assert words(3) not in str(await memory.search(session, "locker 3 opens", kinds=["memory", "episode"]))
        status = await memory.command(session, "/memory status") or ""
        assert "damaged" not in status
        assert "were gone" not in status
        await memory.after_reply(session, user="Remember that the gate is shut at nine.", reply="OK")
        await memory.flush()
        text = "".join(path.read_text("utf-8") for path in sorted(workspace.rglob("*.md")))
        assert text.count("the gate is shut at nine") == 1
        assert await parts(memory).storage.turns.plans() == []


async def test_one_bad_page_costs_its_own_rows_alone(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = without_log(workspace)
    before = counts(workspace)
    page = pages_of(path, "episodes")[3]
    write(path, page, random.Random(46).randbytes(PAGE))  # noqa: S311
    await set_aside(workspace)
    code, out = doctor(workspace, capsys)
    after = counts(workspace)
    lost = before["episodes"] - after["episodes"]
    assert 0 < lost < 6
    assert f"Of the table episodes, {lost} rows could not be read" in out
    assert code == 1
    assert {**after, "episodes": 0} == {**before, "episodes": 0}
    assert doctor(workspace, capsys)[0] == 0
    await is_there(workspace, 0, 1, TURNS - 1)


async def test_a_block_that_the_disk_cannot_read_costs_its_own_rows_alone(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = without_log(workspace)
    before = counts(workspace)
    bad, pread = (pages_of(path, "episodes")[2] - 1) * PAGE, os.pread
    write(path, 1, bytes(100))  # SQLite can't be made to fail here

    def failing(descriptor: int, length: int, at: int) -> bytes:
        if (length, at) == (PAGE, bad):
            raise OSError(errno.EIO, "Input/output error")
        return pread(descriptor, length, at)

    monkeypatch.setattr("os.pread", failing)
    recovered = await asyncio.to_thread(recover, workspace)
    after = counts(workspace)
    assert recovered.lost == {"episodes": before["episodes"] - after["episodes"]}
    assert 0 < after["episodes"] < before["episodes"]
    assert {**after, "episodes": 0} == {**before, "episodes": 0}


def garbage_header(path: Path) -> None:
    write(path, 1, b"\xaa" * 100)


def garbage_first_page(path: Path) -> None:
    write(path, 1, random.Random(46).randbytes(PAGE))  # noqa: S311


def nul_header(path: Path) -> None:
    write(path, 1, bytes(512))


def bad_indexes(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'index'").fetchall()
    for page in [page for (name,) in names for page in pages_of(path, name)]:
        write(path, page, bytes(PAGE))


def no_damage_of_rows(path: Path) -> None:
    write(path, pages_of(path, "episodes", leaf=False)[0], bytes(PAGE))  # all its leaves are still there


@pytest.mark.parametrize("damage", [garbage_header, garbage_first_page, nul_header, bad_indexes, no_damage_of_rows])
@pytest.mark.parametrize("starts", ["", "set aside by a start"])
async def test_damage_besides_the_rows_costs_none(
    workspace: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None], starts: str
) -> None:
    path = without_log(workspace)
    before = counts(workspace)
    damage(path)
    if starts:
        await set_aside(workspace)
    code, out = doctor(workspace, capsys)
    assert (code, "is recovered" in out) == (0, True), out
    assert counts(workspace) == before
    await is_there(workspace, 0, TURNS // 2, TURNS - 1)


async def test_rows_that_are_in_the_log_alone_are_read(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = workspace / "journal.sqlite"
    with closing(sqlite3.connect(shutil.copytree(workspace, workspace.with_name("copy")) / "journal.sqlite")) as copy:
        before = copy.execute("SELECT count(*) FROM episodes").fetchone()[0]
    assert path.with_name("journal.sqlite-wal").stat().st_size
    log = path.with_name("journal.sqlite-wal").read_bytes()
    path.write_bytes(bytes(PAGE) + path.read_bytes()[PAGE:])
    path.with_name("journal.sqlite-wal").write_bytes(log + log[32 : 32 + 2000])  # its last frame is torn
    path.rename(path.with_name("journal.sqlite.damaged-20260101-000000"))
    path.with_name("journal.sqlite-wal").rename(path.with_name("journal.sqlite.damaged-20260101-000000-wal"))
    assert doctor(workspace, capsys)[0] == 0
    assert counts(workspace)["episodes"] == before
    await is_there(workspace, 0, TURNS - 1)


@pytest.mark.parametrize("part", [0.4, 0.8])
async def test_a_truncated_journal_gives_what_is_left(
    workspace: Path, capsys: pytest.CaptureFixture[str], part: float
) -> None:
    path = without_log(workspace)
    before = counts(workspace)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * part)])
    await set_aside(workspace)
    code, out = doctor(workspace, capsys)
    after = counts(workspace)
    assert code == 1
    assert "could not be read" in out
    assert 0 < sum(after.values()) < sum(before.values())
    assert after["memories"] < before["memories"]
    assert "what you had forgotten may be quoted again" in out
    async with GatewayMemory(WORDS, workspace) as memory:
        session = await memory.start_session("chat", user=OWNER)
        for number in range(TURNS):
            hits = await memory.search(session, f"locker {number} opens", kinds=["memory"])
            assert (words(number) in [hit.text for hit in hits]) == (number != 3), number
        text = "".join(path.read_text("utf-8") for path in workspace.rglob("*.md"))
        assert all(text.count(f"{words(number)} ") == 1 for number in range(TURNS) if number != 3)


async def test_nothing_but_nuls_is_told_and_left(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = without_log(workspace)
    path.write_bytes(bytes(path.stat().st_size))
    await set_aside(workspace)
    async with GatewayMemory(WORDS, workspace) as memory:
        session = await memory.start_session("fresh", user=OWNER)
        await memory.after_reply(session, user="Remember that the lift is out of order.", reply="OK")
        await memory.flush()
    before = counts(workspace)
    code, out = doctor(workspace, capsys)
    assert code == 1
    assert "Nothing of journal.sqlite.damaged-" in out
    assert len([*workspace.glob("journal.sqlite.damaged-*")]) == 1
    assert counts(workspace) == before


async def test_what_a_new_journal_holds_since_is_joined(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = without_log(workspace)
    before = counts(workspace)
    write(path, pages_of(path, "memories")[-1], bytes(PAGE))
    await set_aside(workspace)
    async with GatewayMemory(WORDS, workspace) as memory:
        session = await memory.start_session("chat", user=OWNER)  # open in both
        for said in (f"Remember that {words(TURNS)}.", f"Remember that {words(TURNS + 1)}."):
            await memory.after_reply(session, user=said, reply="OK")
        await memory.flush()
        await memory.command(session, f"/memory forget {words(7)}")
        file = workspace / "MEMORY.md"
        kept = [line for line in file.read_text("utf-8").splitlines(keepends=True) if words(9) not in line]
        file.write_text("".join(kept), "utf-8")
        async with asyncio.timeout(seconds(30)):  # a line that vanished is looked at again before it is believed
            while any(words(9) in hit.text for hit in await memory.search(session, words(9)) if hit.kind == "memory"):
                await asyncio.sleep(0.05)
        fresh = {
            table: (await journal_rows(memory, f"SELECT count(*) FROM {table}"))[0][0]
            for table in ("episodes", "receipts")
        }
    doctor(workspace, capsys)
    after = counts(workspace)
    assert after["episodes"] == before["episodes"] + fresh["episodes"]
    assert after["receipts"] == before["receipts"] + fresh["receipts"]
    for _ in range(2):
        async with GatewayMemory(WORDS, workspace) as memory:
            session = await memory.start_session("chat", user=OWNER)
            await memory.before_reply(session, "hello")
            text = (workspace / "MEMORY.md").read_text("utf-8")
            assert words(TURNS) in text
            assert text.count(words(0)) == 1
            for forgotten in (7, 9):
                assert words(forgotten) not in text
                hits = await memory.search(session, f"locker {forgotten} opens", kinds=["memory", "episode"])
                assert words(forgotten) not in str(hits)
            rows = await journal_rows(memory, "SELECT count(*) FROM sessions WHERE key = 'chat' AND ended_at IS NULL")
            assert rows == [(1,)]
    again = counts(workspace)
    assert doctor(workspace, capsys)[0] == 0
    assert counts(workspace) == again


async def test_turns_that_waited_are_processed(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = without_log(workspace)
    with closing(sqlite3.connect(path)) as database, database:
        number = database.execute(
            "INSERT INTO turns (scope, session_key, session_id, user, reply, at, accepted_at, slot, episode) "
            "SELECT scope, key, session_id, ?, 'OK', seen_at, seen_at, 0, 1 FROM sessions WHERE key = 'chat' "
            "RETURNING id",
            ("Remember that the boiler stands in the cellar.",),
        ).fetchone()[0]
    garbage_header(path)
    await set_aside(workspace)
    async with GatewayMemory(WORDS, workspace) as memory:
        session = await memory.start_session("other", user=OWNER)
        await memory.after_reply(session, user="Remember that the attic is empty.", reply="OK")
        await memory.flush()
        assert (await journal_rows(memory, "SELECT min(turn) FROM episodes"))[0][0] > number
    assert "1 that wait" in doctor(workspace, capsys)[1]
    async with GatewayMemory(WORDS, workspace) as memory:
        await memory.flush()
    text = (workspace / "MEMORY.md").read_text("utf-8")
    assert text.count("the boiler stands in the cellar") == 1
    assert text.count("the attic is empty") == 1


async def test_the_damaged_file_is_kept_and_deleted_with_the_memory(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    garbage_header(without_log(workspace))
    doctor(workspace, capsys)
    (old,) = workspace.glob("journal.sqlite.old-*")
    assert old.name in str(recover_names(workspace))
    proof = await asyncio.to_thread(Deletion(workspace=workspace).delete, Scope.parse("owner"))
    assert proof.holds
    assert recover_names(workspace) == []


def recover_names(workspace: Path) -> list[str]:
    return [path.name for path in workspace.glob("journal.sqlite.*")]


async def test_a_memory_that_is_open_is_left_alone(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with GatewayMemory(WORDS, workspace):
        assert await asyncio.to_thread(main, ["doctor", "journal", "--workspace", str(workspace)]) == 1
        assert "another process has this memory open" in capsys.readouterr().err
    with closing(sqlite3.connect(workspace / "journal.sqlite", isolation_level=None)) as hook:
        hook.execute("BEGIN IMMEDIATE")
        assert await asyncio.to_thread(main, ["doctor", "journal", "--workspace", str(workspace)]) == 1
        assert "another process has it open" in capsys.readouterr().err


async def test_journals_with_the_same_numbers_are_not_joined(
    workspace: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A backup was put back, and has given numbers that the damaged one had given."""
    path = without_log(workspace)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE episodes SET at = at + 1")
    garbage_header(path)
    path.rename(path.with_name("journal.sqlite.damaged-20260101-000000"))
    for suffix in ("", "-wal"):
        shutil.copy(whole / f"journal.sqlite{suffix}", workspace / f"journal.sqlite{suffix}")
    before = counts(workspace)
    assert main(["doctor", "journal", "--workspace", str(workspace)]) == 1
    assert "have given the same numbers" in capsys.readouterr().err
    assert counts(workspace) == before


def test_a_whole_journal_is_said_to_be_whole(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = counts(workspace)
    code, out = doctor(workspace, capsys)
    assert (code, "as a whole" in out) == (0, True)
    assert counts(workspace) == before
    empty = workspace.with_name("empty")
    empty.mkdir()
    (empty / "MEMORY.md").write_text("- I sing in a choir\n", "utf-8")
    assert "no journal here" in doctor(empty, capsys)[1]


KILLED = """
import os, signal, sys
from pathlib import Path
from gateway_memory.store.disk import workspace
from gateway_memory.store.journal import recovery
left = int(sys.argv[2])
def mortal(owner, name):
    work = getattr(owner, name)
    def wrapped(*args, **values):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return work(*args, **values)
    setattr(owner, name, wrapped)
for name in ("rename", "unlink", "hardlink_to"):
    mortal(Path, name)
for name in ("rename", "persist", "apply_steps"):
    mortal(recovery, name)
recovery.HOOK_BUSY_SECONDS = 0
mortal(recovery.time, "sleep")
recovery.recover(Path(sys.argv[1]))
"""


@pytest.mark.slow
async def test_a_recovery_that_is_killed_is_done_again(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before each of its steps, beside a new journal, and with a log that was set aside too."""
    monkeypatch.setattr("gateway_memory.store.journal.recovery.HOOK_BUSY_SECONDS", 0.0)
    source = Path(shutil.copytree(whole, tmp_path / "source"))
    path = source / "journal.sqlite"
    path.write_bytes(b"\xaa" * 100 + path.read_bytes()[100:])
    (source / "journal.sqlite-wal").rename(source / "journal.sqlite.damaged-20260101-000000-wal")
    path.rename(source / "journal.sqlite.damaged-20260101-000000")
    async with GatewayMemory(WORDS, source) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.after_reply(session, user=f"Remember that {words(TURNS)}.", reply="OK")
        await memory.flush()
    killed, expected, workspace = 0, None, source
    for step in range(60):
        workspace = Path(shutil.copytree(source, tmp_path / str(step)))
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(workspace), str(step)],
            check=False,
            capture_output=True,
            timeout=seconds(60),
        )
        assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()[-2000:]
        killed += done.returncode != 0
        assert step > 0 or done.returncode == 0
        await asyncio.to_thread(recover, workspace)
        expected = expected or counts(workspace)
        assert counts(workspace) == expected, step
        assert not list(workspace.glob("journal.sqlite.damaged-*"))
        if step > 0 and done.returncode == 0:
            break
    assert killed > 8
    await is_there(workspace, 0, TURNS - 1)
