"""What stands in a person's folder and is none of their files is neither told nor waited for, and is not written to."""

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from patience import seconds

from gateway_memory import OWNER, Config, GatewayMemory
from gateway_memory.config.settings import MemorySync
from gateway_memory.scope import Scope
from gateway_memory.store.disk.own import LARGEST
from recall import EmbedderSettings, RecallSettings

pytestmark = pytest.mark.files
WORDS = Config(defaults=MemorySync(auto_recall=RecallSettings(embedder=EmbedderSettings(provider="none"))))
ZOE = Scope.parse("user:zoe").folder
SECRET = "my quokkastein hangs behind the old oak"


def a_link(folder: Path, owner: Path) -> None:
    (folder / "MEMORY.md").symlink_to(owner / "MEMORY.md")


def a_link_of_a_day(folder: Path, owner: Path) -> None:
    (folder / "memory").mkdir()
    (folder / "memory" / "2026-01-05.md").symlink_to(owner / "MEMORY.md")


def a_linked_folder(folder: Path, owner: Path) -> None:
    (owner / "memory").mkdir(exist_ok=True)
    (owner / "memory" / "note.md").write_text(f"- {SECRET}\n", "utf-8")
    (folder / "memory").symlink_to(owner / "memory")


def a_person_that_is_a_link(folder: Path, owner: Path) -> None:
    folder.rmdir()
    folder.symlink_to(owner)


def a_second_name(folder: Path, owner: Path) -> None:
    os.link(owner / "MEMORY.md", folder / "MEMORY.md")


def records_of_the_owner(folder: Path, owner: Path) -> None:
    (folder / "sessions.jsonl").symlink_to(owner / "sessions.jsonl")


def a_pipe(folder: Path, owner: Path) -> None:
    os.mkfifo(folder / "MEMORY.md")


def a_pipe_for_records(folder: Path, owner: Path) -> None:
    os.mkfifo(folder / "sessions.jsonl")


def an_endless_device(folder: Path, owner: Path) -> None:
    (folder / "MEMORY.md").symlink_to("/dev/zero")


def a_socket(folder: Path, owner: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "MEMORY.md"))


def a_gigabyte(folder: Path, owner: Path) -> None:
    (folder / "MEMORY.md").touch()
    os.truncate(folder / "MEMORY.md", LARGEST + 1)


PUT = [
    a_link,
    a_link_of_a_day,
    a_linked_folder,
    a_person_that_is_a_link,
    a_second_name,
    records_of_the_owner,
    a_pipe,
    a_pipe_for_records,
    an_endless_device,
    a_socket,
    a_gigabyte,
]


@pytest.fixture
async def owners(tmp_path: Path) -> str:
    """The owner's MEMORY.md, in a workspace where zoe has a folder."""
    async with GatewayMemory(WORDS, tmp_path) as memory:
        owner = await memory.start_session("agent:main:main", user=OWNER)
        await memory.after_reply(owner, user=f"Remember that {SECRET}", reply="I will.")
        await memory.end_session(owner, reason="completed")
        await memory.flush()
    (tmp_path / ZOE).mkdir(parents=True, exist_ok=True)
    return (tmp_path / "MEMORY.md").read_text("utf-8")


@pytest.mark.parametrize("put", PUT)
async def test_it_is_not_told_and_what_is_said_is_kept(
    tmp_path: Path, owners: str, put: Callable[[Path, Path], None]
) -> None:
    put(tmp_path / ZOE, tmp_path)
    async with asyncio.timeout(seconds(30)), GatewayMemory(WORDS, tmp_path) as memory:
        zoe = await memory.start_session("agent:main:telegram:direct:9", user="zoe")
        told = zoe.opening + (await memory.before_reply(zoe, "what hangs behind the old oak?")).text
        hits = await memory.search(zoe, "quokkastein oak")
        await memory.after_reply(zoe, user="Remember that I play the oboe", reply="I will.")
        await memory.flush()
        exported = str([row async for row in memory.exporter.rows() if row.get("scope") == "user:zoe"])
        assert "quokkastein" not in told + exported
        assert not [hit for hit in hits if "quokkastein" in hit.text]
        assert [hit.text for hit in await memory.search(zoe, "oboe", kinds=["memory"])]
        await memory.end_session(zoe, reason="completed")
        await memory.flush()
    assert (tmp_path / "MEMORY.md").read_text("utf-8") == owners
    assert "oboe" not in owners


@pytest.mark.parametrize("put", [a_link, a_pipe, a_gigabyte])
async def test_it_is_reported_once(
    tmp_path: Path, owners: str, put: Callable[[Path, Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path / ZOE, tmp_path)
    async with GatewayMemory(WORDS, tmp_path) as memory:
        zoe = await memory.start_session("agent:main:telegram:direct:9", user="zoe")
        for _ in range(3):
            await memory.before_reply(zoe, "what hangs there?")
        assert memory.metrics.counts["failures.files"] == 1
        await memory.flush()
        owner = await memory.start_session("agent:main:main", user=OWNER)
        assert "NotOwnError" in (await memory.command(owner, "/memory status") or "")


async def test_the_owner_may_keep_notes_elsewhere(tmp_path: Path) -> None:
    notes = tmp_path / "elsewhere.md"
    notes.write_text("- The ferry leaves at nine\n", "utf-8")
    workspace = tmp_path / "w"
    workspace.mkdir()
    (workspace / "MEMORY.md").symlink_to(notes)
    async with GatewayMemory(WORDS, workspace) as memory:
        owner = await memory.start_session("agent:main:main", user=OWNER)
        assert "ferry" in str(await memory.search(owner, "when does the ferry leave?"))
        await memory.after_reply(owner, user="Remember that the bakery closes at noon", reply="I will.")
        await memory.flush()
    assert (workspace / "MEMORY.md").is_symlink()
    assert "bakery" in notes.read_text("utf-8")


async def test_a_copy_by_other_names_is_still_read(tmp_path: Path, owners: str) -> None:
    (tmp_path / ZOE / "MEMORY.md").write_text("- Zoe plays the oboe\n", "utf-8")
    for file in [tmp_path / "MEMORY.md", tmp_path / ZOE / "MEMORY.md"]:
        os.link(file, tmp_path / f"backup-of-{file.parent.name}")
    async with GatewayMemory(WORDS, tmp_path) as memory:
        zoe = await memory.start_session("agent:main:telegram:direct:9", user="zoe")
        assert "oboe" in str(await memory.search(zoe, "oboe"))


async def test_a_pipe_in_place_of_the_owners_memory_stops_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "MEMORY.md")
    async with asyncio.timeout(seconds(30)), GatewayMemory(WORDS, tmp_path) as memory:
        owner = await memory.start_session("agent:main:main", user=OWNER)
        await memory.after_reply(owner, user="Remember that I play the oboe", reply="I will.")
        await memory.flush()
        assert "oboe" in (tmp_path / "MEMORY.md").read_text("utf-8")
    assert (tmp_path / "MEMORY.md.not-read-1").is_fifo()
