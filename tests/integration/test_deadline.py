"""A reply never waits longer than its deadline: whatever hangs, the outcome says so, and the next call recovers.

Nothing here measures time. What hangs hangs until it is let go, so that a call which waited for it would never return.
"""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from inside import parts
from locking import locked
from patience import seconds

import gateway_memory.store.disk.files
import gateway_memory.store.disk.own
from gateway_memory import OWNER, Config, Context, GatewayMemory, Session, WorkspaceError, load_config
from gateway_memory.scope import Scope
from recall import EmbedderSettings
from recall.encoding.encoder import BundledEncoder
from recall.rows.sqlite import SqliteRows

pytestmark = pytest.mark.xdist_group("alone")  # not beside another test of brokers or deadlines

LINES = ["The boat leaves from pier nine", "Lena is allergic to peanuts", "The rent is due on the first"]
ASKED = "which pier does the boat leave from?"


def hasty(**values: Any) -> Config:
    defaults = load_config().defaults
    return Config(
        defaults=replace(defaults, auto_recall=replace(defaults.auto_recall, timeout_ms=round(seconds(600)), **values))
    )


WORDS = EmbedderSettings(provider="none")


def kept(workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("".join(f"- {line}\n" for line in LINES))


async def ask(memory: GatewayMemory, session: Session, message: str = ASKED) -> Context:
    session.compacted()
    async with asyncio.timeout(seconds(60)):
        return await memory.before_reply(session, message)


async def until(outcome: str, memory: GatewayMemory, session: Session, message: str = ASKED) -> Context:
    async with asyncio.timeout(seconds(60)):
        while True:
            context = await ask(memory, session, message)
            if context.outcome == outcome:
                return context
            await asyncio.sleep(0.01)


class Gate:
    """Threads that come to it wait while it is shut."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.open.set()
        self.reached = threading.Event()

    def __call__(self) -> None:
        if not self.open.is_set():
            self.reached.set()
            assert self.open.wait(120)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


def behind(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the encoder's calls wait at the gate."""
    encode = BundledEncoder.encode

    def hanging(self: BundledEncoder, texts: Sequence[str]) -> Any:
        gate()
        return encode(self, texts)

    monkeypatch.setattr(BundledEncoder, "encode", hanging)


async def test_an_encoder_that_hangs(tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    behind(gate, monkeypatch)
    kept(tmp_path)
    async with GatewayMemory(hasty(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.flush()
        assert (await until("full", memory, session)).text
        gate.open.clear()
        for number in range(3):
            context = await ask(memory, session, f"{ASKED} {number}")
            assert context.outcome == "partial"
            assert LINES[0] in context.text, "words have found it"
        gate.open.set()
        await until("full", memory, session, f"{ASKED} now")


async def test_no_part_is_given_more_time_than_is_left(
    tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a search that took nearly all of it: the journal may hang next, where the news is noted as told."""
    behind(gate, monkeypatch)
    kept(tmp_path)
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        other = await memory.start_session("two", user=OWNER)
        await memory.flush()
        await until("full", memory, session)
        await memory.after_reply(other, user="Remember that the boat is green", reply="ok")
        await memory.flush()
        assert len(session.pending.inbox)
        runner, loop = parts(memory).builder.runner, asyncio.get_running_loop()
        run, given = runner.run, dict[str, float]()
        build, deadlines = parts(memory).builder.build, list[float]()

        async def noted(place: str, seconds: float, work: Any) -> Any:
            given[place] = loop.time() + seconds
            return await run(place, seconds, work)

        async def begun(
            session: Session, message: str, now: datetime, deadline: float, *, deliver_pending: bool
        ) -> Context:
            deadlines.append(deadline)
            return await build(session, message, now, deadline, deliver_pending=deliver_pending)

        monkeypatch.setattr(runner, "run", noted)
        monkeypatch.setattr(parts(memory).builder, "build", begun)
        gate.open.clear()
        assert (await ask(memory, session, f"{ASKED} again")).updates
        assert "delivered" in given
        assert max(given.values()) < deadlines[0] + 0.02


async def test_a_search_has_the_time_that_following_a_project_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with GatewayMemory(hasty(embedder=WORDS), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER, project="Apollo")
        storage, loop, ends = parts(memory).storage, asyncio.get_running_loop(), list[float]()
        refresh, search = storage.follower.refresh, storage.recaller.search

        async def hanging(scope: Scope, **given: Any) -> int:
            if scope.key == "project:Apollo":
                await asyncio.Event().wait()
            return await refresh(scope, **given)

        async def noted(*given: Any, timeout_seconds: float, **named: Any) -> Any:
            ends.append(loop.time() + timeout_seconds)
            return await search(*given, timeout_seconds=timeout_seconds, **named)

        monkeypatch.setattr(storage.follower, "refresh", hanging)
        monkeypatch.setattr(storage.recaller, "search", noted)
        deadline = loop.time() + session.settings.auto_recall.timeout_ms / 1000
        await parts(memory).builder.build(session, ASKED, memory.now(), deadline)
        assert ends
        assert max(ends) <= deadline


async def test_an_encoder_that_hangs_while_it_loads(
    tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hanging(*_: object, **__: object) -> BundledEncoder:
        gate()
        return BundledEncoder()

    monkeypatch.setattr("recall.encoding.encoder.bundled_encoder", hanging)
    gate.open.clear()
    kept(tmp_path)
    async with GatewayMemory(hasty(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        context = await ask(memory, session)
        assert (context.outcome, LINES[0] in context.text) == ("partial", True)
        gate.open.set()
        await until("full", memory, session)


async def test_an_index_that_another_process_has_locked(tmp_path: Path) -> None:
    kept(tmp_path)
    async with GatewayMemory(hasty(embedder=WORDS), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await until("full", memory, session)
        with locked("shm", tmp_path / "index.sqlite"):
            context = await ask(memory, session, "is Lena allergic to peanuts?")
            assert (context.outcome, context.text) == ("timeout", "")
        context = await until("full", memory, session, "is Lena allergic to peanuts?")
        assert LINES[1] in context.text


async def test_what_was_found_before_answers_while_the_index_is_locked(tmp_path: Path) -> None:
    kept(tmp_path)
    noon = load_config().defaults.zone()
    async with GatewayMemory(hasty(embedder=WORDS), tmp_path) as memory:
        at = memory.now().astimezone(noon).replace(hour=12, minute=0, second=0)
        session = await memory.start_session("one", user=OWNER)
        other = await memory.start_session("two", user=OWNER)
        found = await memory.before_reply(session, ASKED, at=at)
        with locked("shm", tmp_path / "index.sqlite"):
            other.compacted()
            async with asyncio.timeout(seconds(60)):
                context = await memory.before_reply(other, ASKED, at=at)
        assert (context.outcome, context.recalled) == ("partial", found.recalled)
        assert LINES[0] in context.text


async def test_an_index_that_another_process_writes_is_read_all_the_same(tmp_path: Path) -> None:
    kept(tmp_path)
    async with GatewayMemory(hasty(embedder=WORDS), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await until("full", memory, session)
        with locked("write", tmp_path / "index.sqlite"):
            (tmp_path / "memory").mkdir(exist_ok=True)
            (tmp_path / "memory" / "notes.md").write_text("- The ferry is yellow\n")
            context = await ask(memory, session, "is Lena allergic to peanuts?")
            assert context.outcome in ("full", "partial")
            assert LINES[1] in context.text
        context = await until("full", memory, session, "which colour is the ferry?")
        assert "yellow" in context.text


@pytest.mark.parametrize("kind", ["exclusive", "flock"])
async def test_an_index_that_is_locked_when_it_is_opened(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(tmp_path)
    async with GatewayMemory(hasty(embedder=WORDS), tmp_path) as memory:
        await memory.start_session("one", user=OWNER)
    monkeypatch.setattr("recall.index_thread._OPEN_TIMEOUT_SECONDS", 0.2)
    path = tmp_path / "index.sqlite"
    with locked(kind, path if kind == "exclusive" else Path(f"{path}.lock")):
        with pytest.raises(WorkspaceError, match=r"index\.sqlite"):
            await GatewayMemory(hasty(embedder=WORDS), tmp_path).__aenter__()
        monkeypatch.setattr("recall.index_thread._OPEN_TIMEOUT_SECONDS", 60.0)
        opening = asyncio.ensure_future(GatewayMemory(hasty(embedder=WORDS), tmp_path).__aenter__())
        await asyncio.sleep(0)
        assert not opening.done()
    memory = await opening
    session = await memory.start_session("one", user=OWNER)
    assert (await until("full", memory, session)).text
    await memory.__aexit__(None, None, None)


async def test_a_journal_that_another_process_has_locked(tmp_path: Path) -> None:
    kept(tmp_path)
    async with GatewayMemory(hasty(embedder=WORDS), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await until("full", memory, session)
        with locked("shm", tmp_path / "journal.sqlite"):
            context = await ask(memory, session, "is Lena allergic to peanuts?")
            assert LINES[1] in context.text
            assert context.outcome == "full"
        await until("full", memory, session)


async def test_a_disk_on_which_the_files_stall(tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = gateway_memory.store.disk.own.open_own

    def hanging(*given: Any) -> Any:
        gate()
        return opened(*given)

    monkeypatch.setattr(gateway_memory.store.disk.files, "open_own", hanging)
    kept(tmp_path)
    async with GatewayMemory(hasty(embedder=WORDS), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await until("full", memory, session)
        gate.open.clear()
        with (tmp_path / "MEMORY.md").open("a") as file:
            file.write("- The boat leaves from pier four\n")
        for _ in range(3):
            context = await ask(memory, session)
            assert context.outcome == "full", "what the index holds is found"
            assert LINES[0] in context.text
        zoe = await memory.start_session("new", user="zoe")
        assert (await ask(memory, zoe)).outcome in ("empty", "full")
        gate.open.set()
        async with asyncio.timeout(seconds(60)):
            while "pier four" not in (await ask(memory, session)).text:
                await asyncio.sleep(0.01)


async def test_a_disk_on_which_the_index_stalls(tmp_path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    read = SqliteRows.by_sequences

    def hanging(self: SqliteRows, scope: str, sequences: Sequence[int]) -> Any:
        gate()
        return read(self, scope, sequences)

    monkeypatch.setattr(SqliteRows, "by_sequences", hanging)
    kept(tmp_path)
    async with GatewayMemory(hasty(embedder=WORDS), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await until("full", memory, session)
        gate.open.clear()
        for number in range(3):
            context = await ask(memory, session, f"is Lena allergic to peanuts? {number}")
            assert (context.outcome, context.text) == ("timeout", "")
        assert gate.reached.is_set()
        gate.open.set()
        assert LINES[1] in (await until("full", memory, session, "is Lena allergic to peanuts?")).text


@pytest.mark.parametrize("recalls", [True, False])
async def test_a_session_that_cannot_begin_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, recalls: bool
) -> None:
    kept(tmp_path)
    async with GatewayMemory(hasty(embedder=WORDS, enabled=recalls), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        await memory.end_session(session, reason="reset")
        opened = asyncio.Event()
        open_session = parts(memory).storage.sessions.open

        async def hanging(*args: Any, **named: Any) -> tuple[str, bool]:
            await opened.wait()
            return await open_session(*args, **named)

        monkeypatch.setattr(parts(memory).storage.sessions, "open", hanging)
        context = await ask(memory, session)
        assert (context.outcome, context.text) == ("timeout" if recalls else "disabled", "")
        assert (context.report is not None) == recalls
        opened.set()
        if recalls:
            assert (await until("full", memory, session)).recalled
