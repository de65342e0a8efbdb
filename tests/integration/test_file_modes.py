"""What others on the machine may read of a memory: nothing, from the first moment and whatever the umask."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gateway_memory import OWNER, Config, GatewayMemory, load_config

pytestmark = pytest.mark.files
OTHERS = stat.S_IRWXG | stat.S_IRWXO


@pytest.fixture(params=[0o022, 0o000], ids=["the usual umask", "no umask"])
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    paths = [folder, *folder.rglob("*")]
    return [str(path.relative_to(folder)) for path in paths if not path.is_symlink() and path.stat().st_mode & OTHERS]


@pytest.mark.usefixtures("umask")
async def test_nobody_else_can_read_a_workspace_while_it_is_open_and_after(tmp_path: Path) -> None:
    workspace = tmp_path / "new" / "workspace"
    async with GatewayMemory(load_config(), workspace) as memory:
        session = await memory.start_session("agent:main:main", user=OWNER)
        await memory.after_reply(session, user="Remember that I am allergic to walnuts", reply="I will.")
        guest = await memory.start_session("agent:main:telegram:direct:9", user="zoe")
        await memory.after_reply(guest, user="Remember that I play the oboe", reply="I will.")
        await memory.flush()
        await memory.end_session(session, reason="end")
        assert (workspace / "journal.sqlite-wal").exists(), "the write-ahead log is what others could read"
        assert open_to_others(tmp_path / "new") == []
    assert open_to_others(tmp_path / "new") == []


WATCH = """
import os, sys
seen = set()
print("ready", flush=True)
os.set_blocking(0, False)
while True:
    for at, _, names in os.walk(sys.argv[1]):
        for name in names:
            try:
                mode = os.lstat(os.path.join(at, name)).st_mode
            except FileNotFoundError:
                continue
            if mode & 0o077:
                seen.add(name)
    try:
        if os.read(0, 1) == b"":
            break
    except BlockingIOError:
        pass
print(sorted(seen))
"""


@pytest.mark.usefixtures("umask")
async def test_another_process_never_sees_a_file_that_it_can_read(tmp_path: Path) -> None:
    """A new workspace in a folder that was there, of which everybody sees the names."""
    watcher = subprocess.Popen(
        [sys.executable, "-c", WATCH, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert watcher.stdout
    assert watcher.stdout.readline() == b"ready\n"
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir(mode=0o755)
        async with GatewayMemory(load_config(), folder) as memory:
            session = await memory.start_session("agent:main:main", user=OWNER)
            await memory.after_reply(session, user="Remember that I am allergic to walnuts", reply="I will.")
    assert watcher.communicate()[0] == b"[]\n"


@pytest.mark.usefixtures("umask")
async def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    async with GatewayMemory(load_config(), tmp_path):
        assert open_to_others(tmp_path) == ["."]


async def test_what_keep_days_deletes_is_in_no_byte_of_the_databases(tmp_path: Path) -> None:
    now = [datetime(2026, 1, 5, 12, 0, tzinfo=UTC)]
    defaults = load_config().defaults
    episodes = replace(defaults.episodes, keep_days=7)
    observations = replace(defaults.observations, keep_days=7)
    config = Config(defaults=replace(defaults, episodes=episodes, observations=observations))
    async with GatewayMemory(config, tmp_path, clock=lambda: now[0]) as memory:
        session = await memory.start_session("agent:main:main", user=OWNER)
        await memory.after_reply(session, user="what rhymes with quokkastein?", reply="Frankenstein, nearly.")
        await memory.flush()
        assert holding(tmp_path, b"quokkastein")
        now[0] += timedelta(days=8)
        await memory.flush()
        await memory.flush()
        assert holding(tmp_path, b"quokkastein") == []


def holding(folder: Path, word: bytes) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and word in path.read_bytes()]
