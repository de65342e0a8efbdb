"""The journal is damaged, replaced or gone, also under a gateway that lives: nothing is accepted that would be lost."""

import asyncio
import multiprocessing
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from inside import journal_rows
from patience import seconds

from gateway_memory import OWNER, GatewayMemory, JournalDamagedError, load_config
from gateway_memory.errors import GatewayMemoryError
from gateway_memory.store.disk.slots import Slot, all_slots
from gateway_memory.transfer.deletion import Deletion

pytestmark = pytest.mark.slow

GARBAGE = b"\0damaged" * 4096


def overwrite(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.write(GARBAGE[:1000])


def put_another(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


WAYS: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "renamed": lambda path: path.rename(path.with_name("elsewhere")),
    "replaced by a copy": put_another,
    "its log deleted": lambda path: path.with_name("journal.sqlite-wal").unlink(),
    "its log replaced": lambda path: put_another(path.with_name("journal.sqlite-wal")),
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_gateway_whose_journal_is_gone_accepts_nothing_more(tmp_path: Path, way: str) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.after_reply(session, user="Remember that the port is 8443.", reply="OK")
        await memory.flush()
        WAYS[way](tmp_path / "journal.sqlite")
        for _ in range(2):
            with pytest.raises(JournalDamagedError, match="nothing more is accepted"):
                await memory.after_reply(session, user="Remember that the port is 9000.", reply="OK")
        context = await memory.before_reply(session, "which port?")
        assert [hit.text for hit in context.recalled] == ["the port is 8443"]


async def test_a_gateway_that_finds_its_journal_damaged_accepts_nothing_more(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.after_reply(session, user="Remember that the port is 8443.", reply="OK")
        await memory.flush()
        await journal_rows(memory, "PRAGMA wal_checkpoint(TRUNCATE)")
        await journal_rows(memory, "PRAGMA cache_size = 0")
        with (tmp_path / "journal.sqlite").open("r+b") as stream:
            size = stream.seek(0, 2)
            stream.seek(4096)
            stream.write(b"\xff" * (size - 4096))
        await journal_rows(memory, "PRAGMA shrink_memory")
        with pytest.raises(JournalDamagedError, match="damaged"):
            await memory.after_reply(session, user="Remember that the port is 9000.", reply="OK")
        with pytest.raises(JournalDamagedError, match="damaged"):
            await memory.start_session("another", user=OWNER)
        await memory.before_reply(session, "which port?")


async def test_who_is_not_alone_leaves_a_damaged_journal_where_it_is(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.after_reply(session, user="Remember that the port is 8443.", reply="OK")
        await memory.flush()
        await journal_rows(memory, "PRAGMA wal_checkpoint(TRUNCATE)")
        overwrite(tmp_path / "journal.sqlite")
        command = [sys.executable, "-m", "gateway_memory.cli.main", "list", "--workspace", str(tmp_path)]
        listed = await asyncio.to_thread(subprocess.run, command, check=False, capture_output=True)
        assert listed.returncode == 1
        assert b"Another process has this workspace open" in listed.stderr
        assert b"Traceback" not in listed.stderr
        assert not list(tmp_path.glob("*.damaged-*"))
    with pytest.raises(JournalDamagedError, match="set aside"):
        await GatewayMemory(load_config(), tmp_path).__aenter__()
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("chat", user=OWNER)
        assert "8443" in session.opening


async def test_two_set_aside_in_one_second_keep_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.strftime", lambda *_: "20260101-000000")
    contents = {GARBAGE + bytes([number]) for number in range(3)}
    for content in contents:
        (tmp_path / "journal.sqlite").write_bytes(content)
        (tmp_path / "journal.sqlite-wal").write_bytes(content)
        with pytest.raises(JournalDamagedError, match="set aside"):
            await GatewayMemory(load_config(), tmp_path).__aenter__()
    aside = [path for path in tmp_path.glob("*.damaged-*") if not path.name.endswith(("-wal", "-shm"))]
    assert {path.read_bytes() for path in aside} == contents


def start(workspace: str, answers: "multiprocessing.Queue[str]") -> None:
    async def run() -> None:
        async with GatewayMemory(load_config(), workspace) as memory:
            session = await memory.start_session("chat", user=OWNER)
            await memory.after_reply(session, user="Remember that the port is 8443.", reply="OK")
            answers.put("open")

    try:
        asyncio.run(run())
    except GatewayMemoryError as error:
        answers.put(type(error).__name__)


def test_of_those_that_start_together_one_sets_it_aside_and_none_loses_a_turn(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").write_bytes(GARBAGE)
    context = multiprocessing.get_context("spawn")
    answers: multiprocessing.Queue[str] = context.Queue()
    processes = [context.Process(target=start, args=(str(tmp_path), answers)) for _ in range(3)]
    for process in processes:
        process.start()
    found = sorted(answers.get(timeout=seconds(60)) for _ in processes)
    for process in processes:
        process.join()
    assert found == ["JournalDamagedError", "open", "open"]
    assert len(list(tmp_path.glob("journal.sqlite.damaged-*[0-9]"))) == 1


def test_nobody_starts_while_all_slots_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway_memory.store.disk.slots._START_SECONDS", 0.0)
    slot = Slot(tmp_path)
    slot.take()
    with all_slots(tmp_path) as held:
        assert not held, "it is starting"
    slot.started()
    other = Slot(tmp_path)
    other.take()
    other.started()
    assert not other.is_alone()
    slot.release()
    assert other.is_alone()
    other.release()
    with all_slots(tmp_path) as held:
        assert held
        with pytest.raises(GatewayMemoryError, match="starting, or deleting"):
            Slot(tmp_path).take()
    again = Slot(tmp_path)
    assert again.take() == 0
    again.release()
    given_up = Slot(tmp_path)
    given_up.release()
    given_up.take()
    with all_slots(tmp_path) as held:
        assert held, "who gave up while it waited keeps nothing"


async def test_what_would_be_deleted_is_counted_without_unlocking_the_journal(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("chat", user=OWNER)
        await memory.after_reply(session, user="Remember that the port is 8443.", reply="OK")
        there = Deletion(workspace=tmp_path, store=memory.settings.store)
        assert (await asyncio.to_thread(there.survey, session.scope))["journal sessions"] == 1
        other = [sys.executable, "-m", "gateway_memory.cli.entry", "list", "--workspace", str(tmp_path)]
        await asyncio.to_thread(subprocess.run, other, check=True, capture_output=True, timeout=seconds(60))
        await memory.after_reply(session, user="Remember that the port is 9000.", reply="OK")  # its log is still there
