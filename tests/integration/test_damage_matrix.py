"""Each damage of each file and database of a workspace: while nothing runs, under a gateway, and under two processes.

Nothing is lost that the other store holds, nobody is told "removed", and one command brings everything back.
"""

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import damages
import pytest
import watching_gateway
from damages import OF_ANY_FILE, Damage
from inside import journal_rows
from patience import seconds, until
from watching_gateway import SCOPES, WORDS

from gateway_memory import OWNER, GatewayMemory, JournalDamagedError, Session
from gateway_memory.cli.main import main
from gateway_memory.errors import LeaseLostError
from gateway_memory.store.markdown import parse
from gateway_memory.store.summaries import read_records
from gateway_memory.sync import vanishing

pytestmark = [pytest.mark.files, pytest.mark.slow]

LINES: Final = 8
LATER: Final = 3
"""So many lines of each file are younger than the older copy."""
RECORDS: Final = "sessions.jsonl"
WHEN: Final = ("stopped", "running", "two processes")


def words(name: str, number: int) -> str:
    return f"locker {name} {number} opens with {number * 7919 % 10007}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspaces:
    """A closed workspace, and the one that it was before its last lines. files: of memories, with all their lines."""

    whole: Path
    before: Path
    files: dict[str, list[str]]
    records: list[str]


async def say(memory: GatewayMemory, session: Session, name: str, number: int) -> None:
    """Let a memory keep a line. A room is told a fact, since what is said there is nobody's to remember."""
    if name == "kitchen":
        await memory.save_fact(session, content=words(name, number))
    else:
        await memory.after_reply(session, user=f"Remember that {words(name, number)}.", reply="OK")


async def said(workspace: Path, numbers: range) -> None:
    async with GatewayMemory(WORDS, workspace) as memory:
        for name, whose in SCOPES.items():
            session = await memory.start_session(f"chat {name}", **whose)
            for number in numbers:
                await say(memory, session, name, number)
        owner = await memory.start_session("days", user=OWNER)
        for number in numbers:
            await memory.save_fact(owner, content=f"Shelf {number} of locker owner carries {number * 71} paint tins.")
            session = await memory.start_session(f"ended {number}", user=OWNER)
            await memory.after_reply(session, user=f"Remember that {words('owner', 100 + number)}.", reply="OK")
            await memory.end_session(session, reason="completed")
        await memory.flush()


@pytest.fixture(scope="module")
def workspaces(tmp_path_factory: pytest.TempPathFactory) -> Workspaces:
    whole, before = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("before")
    asyncio.run(said(whole, range(LINES - LATER)))
    shutil.copytree(whole, before, dirs_exist_ok=True)
    asyncio.run(said(whole, range(LINES - LATER, LINES)))
    files = {str(path.relative_to(whole)): lines(path) for path in sorted(whole.rglob("*.md"))}
    assert sorted(map(len, files.values())) == [LINES, LINES, LINES, LINES, 2 * LINES]  # the owner's has both kinds
    return Workspaces(whole=whole, before=before, files=files, records=ids(whole / RECORDS))


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    monkeypatch.setattr("gateway_memory.sync.vanishing.SETTLES_SECONDS", 0.0 if when == "stopped" else 0.3)


def lines(file: Path) -> list[str]:
    text = file.read_bytes().decode("utf-8", "replace") if file.exists() else ""
    return sorted(block.text for block in parse(text, file=file.name) if block.kind == "item")


def ids(file: Path) -> list[str]:
    return [record["session_id"] for record in read_records(file)[0]]


class Gateway:
    """A gateway of this process, with a session in each scope."""

    def __init__(self, memory: GatewayMemory, sessions: dict[str, Session]) -> None:
        self.memory = memory
        self.sessions = sessions
        self.refused = False

    async def hears_nothing_removed(self) -> None:
        for session in self.sessions.values():
            context = await self.memory.before_reply(session, "and now?")
            assert [update.text for update in context.updates if update.action == "removed"] == []
            assert "no longer holds" not in context.text

    async def finds(self, expected: dict[str, set[str]]) -> None:
        for name, session in self.sessions.items():
            found: set[str] = set()
            with suppress(TimeoutError):  # a busy machine searches again
                async with asyncio.timeout(seconds(10)):
                    while found != expected[name]:
                        hits = await self.memory.search(session, f"locker {name}", limit=100, kinds=["memory"])
                        found = {hit.text for hit in hits}
            assert found == expected[name]

    async def asked(self) -> dict[str, str]:
        """Return what the status asks about damaged files, by scope."""
        found = {}
        for name, session in self.sessions.items():
            status = await self.memory.command(session, "/memory status") or ""
            found[name] = "\n".join(line for line in status.splitlines() if "/memory restore" in line)
        return found

    async def nothing_was_forgotten(self) -> None:
        assert await journal_rows(self.memory, "SELECT 1 FROM memories WHERE state <> 'active'") == []
        assert await journal_rows(self.memory, "SELECT 1 FROM history WHERE event LIKE '%by hand'") == []


async def opened(stack: AsyncExitStack, workspace: Path) -> Gateway:
    memory = await stack.enter_async_context(GatewayMemory(WORDS, workspace))
    return Gateway(memory, {name: await memory.start_session(f"here {name}", **it) for name, it in SCOPES.items()})


class Other:
    """A gateway of another process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    async def hears_nothing_removed(self) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        told = json.loads(await asyncio.to_thread(self._process.stdout.readline))
        assert told["removed"] == []
        return dict(told)


@contextmanager
def another(workspace: Path, *, runs: bool) -> Iterator[Other | None]:
    if not runs:
        yield None
        return
    script = str(Path(watching_gateway.__file__))
    process = subprocess.Popen(
        [sys.executable, script, str(workspace), str(vanishing.SETTLES_SECONDS)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout
        assert process.stdout.readline() == "open\n"
        yield Other(process)
        _, errors = process.communicate(timeout=seconds(60))
        assert process.returncode == 0, errors[-3000:]
    finally:
        process.kill()
        process.communicate()


def by_scope(workspaces: Workspaces) -> dict[str, set[str]]:
    every = [text for texts in workspaces.files.values() for text in texts]
    return {name: {text for text in every if f"locker {name} " in text} for name in SCOPES}


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("damage", OF_ANY_FILE)
async def test_memory_files_and_session_records(
    workspaces: Workspaces, tmp_path: Path, damage: Damage, when: str
) -> None:
    """All of them at once: of the owner, a day, a person, a room and a project."""
    workspace = Path(shutil.copytree(workspaces.whole, tmp_path / "workspace"))
    expected = by_scope(workspaces)

    def break_all() -> None:
        for name in (*workspaces.files, RECORDS):
            damage(workspace / name, (workspaces.before / name).read_bytes())

    async with AsyncExitStack() as stack:
        other = stack.enter_context(another(workspace, runs=when == "two processes"))
        if when == "stopped":
            break_all()
        here = await opened(stack, workspace)
        if when != "stopped":
            await here.hears_nothing_removed()
            break_all()
        await here.hears_nothing_removed()
        if other:
            await other.hears_nothing_removed()
        await until(lambda: all(lines(workspace / name) == texts for name, texts in workspaces.files.items()))
        await here.hears_nothing_removed()
        await here.finds(expected)
        await here.nothing_was_forgotten()
        asked = await here.asked()
        assert RECORDS in asked["owner"]
        assert all(asked.values())
        if other:
            told = await other.hears_nothing_removed()
            assert told["found"] == {name: len(texts) for name, texts in expected.items()}
        for session in here.sessions.values():
            assert await here.memory.command(session, "/memory restore")
        assert set((await here.asked()).values()) == {""}
        await here.finds(expected)
        assert sorted(ids(workspace / RECORDS)) == sorted(workspaces.records)
    async with AsyncExitStack() as stack:
        here = await opened(stack, workspace)
        await here.hears_nothing_removed()
        await here.finds(expected)
        assert set((await here.asked()).values()) == {""}
        assert {name: lines(workspace / name) for name in workspaces.files} == workspaces.files


@pytest.mark.parametrize("when", WHEN[1:])
async def test_files_that_are_saved_slowly(
    workspaces: Workspaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """While nothing runs, nobody sees how slowly a file is saved."""
    monkeypatch.setattr("gateway_memory.sync.vanishing.SETTLES_SECONDS", seconds(10))  # longer than this save lasts
    workspace = Path(shutil.copytree(workspaces.whole, tmp_path / "workspace"))
    expected = by_scope(workspaces)
    contents = {name: (workspace / name).read_bytes() for name in (*workspaces.files, RECORDS)}
    async with AsyncExitStack() as stack:
        other = stack.enter_context(another(workspace, runs=when == "two processes"))
        here = await opened(stack, workspace)
        await here.hears_nothing_removed()
        for part in (0.0, 0.5, 0.9, 1.0):
            for name, content in contents.items():
                (workspace / name).write_bytes(content[: int(len(content) * part)])
            await here.hears_nothing_removed()
            if other:
                await other.hears_nothing_removed()
        await until(lambda: all(lines(workspace / name) == texts for name, texts in workspaces.files.items()))
        await here.finds(expected)
        await here.nothing_was_forgotten()
        assert sorted(ids(workspace / RECORDS)) == sorted(workspaces.records)


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("damage", OF_ANY_FILE)
async def test_the_index(workspaces: Workspaces, tmp_path: Path, damage: Damage, when: str) -> None:
    """No command is needed: it is made again, at the next start at the latest."""
    workspace = Path(shutil.copytree(workspaces.whole, tmp_path / "workspace"))
    index, older = workspace / "index.sqlite", (workspaces.before / "index.sqlite").read_bytes()
    async with AsyncExitStack() as stack:
        other = stack.enter_context(another(workspace, runs=when == "two processes"))
        if when == "stopped":
            damage(index, older)
        here = await opened(stack, workspace)
        if when != "stopped":
            await here.hears_nothing_removed()
            damage(index, older)
        for _ in range(2):
            await here.hears_nothing_removed()
            if other:
                await other.hears_nothing_removed()
        for name, session in here.sessions.items():
            await say(here.memory, session, name, 50)
        await here.memory.flush()
        await here.nothing_was_forgotten()
    expected = {name: {*texts, words(name, 50)} for name, texts in by_scope(workspaces).items()}
    async with AsyncExitStack() as stack:
        here = await opened(stack, workspace)
        await here.hears_nothing_removed()
        await here.finds(expected)
        await here.nothing_was_forgotten()
        assert set((await here.asked()).values()) == {""}


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("damage", OF_ANY_FILE)
async def test_the_journal(workspaces: Workspaces, tmp_path: Path, damage: Damage, when: str) -> None:
    """What was accepted stands in the files, and `doctor journal` brings back what can be read."""
    if damage is damages.older and when == "two processes":
        pytest.skip("an older file below two open databases leaves another mixture each time")
    workspace = Path(shutil.copytree(workspaces.whole, tmp_path / "workspace"))
    journal, older = workspace / "journal.sqlite", (workspaces.before / "journal.sqlite").read_bytes()
    expected = by_scope(workspaces)
    async with AsyncExitStack() as stack:
        other = stack.enter_context(another(workspace, runs=when == "two processes"))
        if when == "stopped":
            damage(journal, older)
        else:
            here = await opened(stack, workspace)
            await here.hears_nothing_removed()
            damage(journal, older)
            for name, session in here.sessions.items():
                with suppress(JournalDamagedError, LeaseLostError):  # nothing is accepted that could get lost
                    await say(here.memory, session, name, 50)
                    expected[name].add(words(name, 50))
            await here.hears_nothing_removed()
            if other:
                await other.hears_nothing_removed()
            with suppress(JournalDamagedError, LeaseLostError):  # an older journal names an older owner of the work
                await here.memory.flush()
    for start in range(4):
        try:
            async with AsyncExitStack() as stack:
                await opened(stack, workspace)
            break
        except JournalDamagedError:
            assert start < 3, "what a start has found is set aside at the next one"
    assert await asyncio.to_thread(main, ["doctor", "journal", "--workspace", str(workspace)]) in (0, 1)
    async with AsyncExitStack() as stack:
        here = await opened(stack, workspace)
        await here.hears_nothing_removed()
        await here.finds(expected)
        await here.nothing_was_forgotten()
        every = sorted(text for path in workspace.rglob("*.md") for text in lines(path))
        assert every == sorted(text for texts in expected.values() for text in texts)
    with closing(sqlite3.connect(journal)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
