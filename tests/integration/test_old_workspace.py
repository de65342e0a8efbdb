"""A workspace that a development version wrote, and left in the middle of its work, opens without loss.

data/workspace-0.1.0.tar.xz was written by version 0.1.0, whose process was killed after its last turn was accepted.
data/journal-development.sql is its journal after the last development version has applied all of its steps, with a row
more in each table that was empty.
"""

import shutil
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest
from inside import parts

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.errors import StoreError

DATA = Path(__file__).parent.parent / "data"


def unpacked_0_1_0(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    with tarfile.open(DATA / "workspace-0.1.0.tar.xz") as kept:
        kept.extractall(workspace, filter="data")
    return workspace


def unpacked(tmp_path: Path) -> Path:
    workspace = unpacked_0_1_0(tmp_path)
    for path in workspace.glob("journal.sqlite*"):
        path.unlink()
    with closing(sqlite3.connect(workspace / "journal.sqlite")) as journal:
        journal.executescript((DATA / "journal-development.sql").read_text("utf-8"))
    return workspace


async def test_everything_that_was_remembered_is_there(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), unpacked(tmp_path)) as memory:
        await memory.flush()
        session = await memory.start_session("new", user=OWNER)
        for query, expected in (
            ("staging port", "the staging port is 8443"),
            ("allergies", "I'm allergic to peanuts"),
            ("订单系统的数据库", "我们决定订单系统用 PostgreSQL，不用 MongoDB"),
            ("where is the printer", "the printer is on the second floor"),  # accepted, and never processed
        ):
            assert expected in [hit.text for hit in await memory.search(session, query)]
        zoe = await memory.start_session("zoe", user="zoe")
        assert any("Oslo" in hit.text for hit in await memory.search(zoe, "where does Zoe live"))
        room = await memory.start_session("room", room="discord-5")
        assert any("Thursdays" in hit.text for hit in await memory.search(room, "when does the club meet"))


async def test_what_was_forgotten_stays_so_and_can_be_undone(tmp_path: Path) -> None:
    workspace = unpacked(tmp_path)
    async with GatewayMemory(load_config(), workspace) as memory:
        session = await memory.start_session("new", user=OWNER)
        assert "Tigger" not in session.opening
        assert not any("Tigger" in hit.text for hit in await memory.search(session, "what is the cat called"))
        history = await memory.record(session, "receipts", "50")
        (forgotten,) = [
            outcome["id"]
            for receipt in history["receipts"]
            for outcome in receipt["outcomes"]
            if outcome["action"] == "forgotten"
        ]
        answer = await memory.command(session, f"/memory undo {forgotten}")
        assert answer is not None
        assert "the cat is called Tigger" in (workspace / "MEMORY.md").read_text("utf-8")


async def test_sessions_records_and_switches_go_on(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), unpacked(tmp_path)) as memory:
        counts = await memory.session_counts()
        assert counts["state.saved"] >= 1
        assert counts["layer.end"] >= 1
        laptop = await memory.start_session("agent:main:laptop:direct:7", user=OWNER)
        assert not laptop.on("observations"), "the user said so, and the process died since"
        assert "Last Session" in laptop.opening
        assert (await parts(memory).storage.turns.queue()).quarantined == 1, "the row that was set aside before"


async def test_the_files_of_0_1_0_are_left_as_they_were_where_nothing_changes(tmp_path: Path) -> None:
    workspace = unpacked(tmp_path)
    before = shutil.copytree(workspace, tmp_path / "before")
    async with GatewayMemory(load_config(), workspace) as memory:
        await memory.start_session("zoe", user="zoe")
    name = "people/zoe-a87eb1f6a7/MEMORY.md"
    assert (workspace / name).read_bytes() == (before / name).read_bytes()


async def test_a_journal_with_some_of_the_steps_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    workspace = unpacked_0_1_0(tmp_path)

    def content() -> list[str]:
        with closing(sqlite3.connect(workspace / "journal.sqlite")) as journal:
            return list(journal.iterdump())

    before = content()
    with pytest.raises(StoreError, match=r"journal\.sqlite: made by a development .* 9 of its 22 .*docs/operate"):
        await GatewayMemory(load_config(), workspace).__aenter__()
    assert content() == before
    assert not list(workspace.glob("*.damaged-*"))
