"""The memory for hosts without our event loop: threads, other loops, time limits, and the end of the interpreter."""

import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from patience import seconds

from gateway_memory import OWNER, ClosedError, Config, Facts, GatewayMemory, Refused, Speaker, UsageError
from gateway_memory.blocking import BlockingMemory

CONFIG = Config()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[BlockingMemory]:
    with BlockingMemory(CONFIG, tmp_path / "w") as opened:
        yield opened


def test_what_one_thread_says_another_is_told(memory: BlockingMemory) -> None:
    with ThreadPoolExecutor(8) as threads:
        sessions = list(threads.map(lambda number: memory.start_session(f"s{number}", user=OWNER), range(8)))
        numbers = list(
            threads.map(
                lambda session: memory.after_reply(
                    session, user=f"Remember that locker {session.key} is blue.", reply="ok", turn_id="1"
                ),
                sessions,
            )
        )
    assert len(set(numbers)) == 8
    memory.flush()
    told = memory.before_reply(sessions[0], "Which colour is locker s7?")
    assert "locker s7 is blue" in told.text
    assert memory.rule_text(sessions[0])
    assert memory.command(sessions[1], "/memory status")


def test_it_is_called_from_another_event_loop_without_stopping_it(memory: BlockingMemory) -> None:
    async def host() -> int:
        session = await asyncio.wrap_future(memory.submit(lambda each: each.start_session("s", user=OWNER)))
        await asyncio.wrap_future(memory.submit(lambda each: each.save_fact(session, content="My locker is blue")))
        beats, enough = 0, threading.Event()

        async def beat() -> None:
            nonlocal beats
            while not enough.is_set():
                await asyncio.sleep(0.001)
                beats += 1
                if beats > 5:
                    enough.set()

        async def busy(_: GatewayMemory) -> None:
            assert await asyncio.to_thread(enough.wait, seconds(30))

        beating = asyncio.create_task(beat())
        await asyncio.wrap_future(memory.submit(busy))
        await beating
        return beats

    assert asyncio.run(host()) > 5


def test_a_call_ends_at_its_time_limit_and_the_next_one_works(memory: BlockingMemory) -> None:
    cancelled = threading.Event()

    async def hangs(_: GatewayMemory) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            cancelled.set()

    with pytest.raises(TimeoutError, match=r"within 0\.2 s"):
        memory.within(0.2).run(hangs)
    assert cancelled.wait(seconds(10))
    assert memory.start_session("s", user=OWNER).session_id


def test_the_errors_are_those_of_the_memory(memory: BlockingMemory) -> None:
    with pytest.raises(UsageError, match="exactly one"):
        memory.start_session("s")
    session = memory.start_session("s", user=OWNER)
    with pytest.raises(UsageError, match="limit"):
        memory.search(session, "x", limit=0)


def test_a_call_from_the_memory_s_own_thread_is_refused_instead_of_stopping_it(memory: BlockingMemory) -> None:
    async def calls(_: GatewayMemory) -> str:
        with pytest.raises(UsageError, match="own thread"):
            memory.start_session("s", user=OWNER)
        return "went on"

    assert memory.run(calls) == "went on"


def test_a_closed_memory_says_so_and_opens_again(tmp_path: Path) -> None:
    memory = BlockingMemory(CONFIG, tmp_path / "w")
    with pytest.raises(ClosedError, match="closed"):
        memory.start_session("s", user=OWNER)
    with memory:
        with pytest.raises(UsageError, match="open already"):
            memory.open()
        memory.save_fact(memory.start_session("s", user=OWNER), content="My locker is blue")
    memory.close()
    with pytest.raises(ClosedError):
        memory.flush()
    with memory:
        assert memory.search(memory.start_session("s", user=OWNER), "locker")


def test_a_call_in_progress_ends_before_the_memory_closes(tmp_path: Path) -> None:
    memory = BlockingMemory(CONFIG, tmp_path / "w")
    with memory:
        session = memory.start_session("s", user=OWNER)
        saving = [
            memory.submit(lambda each, n=number: each.save_fact(session, content=f"Locker {n} is blue"))  # type: ignore[misc]
            for number in range(20)
        ]
    assert all(each.result(0) for each in saving)


def test_a_memory_that_cannot_open_says_why(tmp_path: Path) -> None:
    (tmp_path / "w").write_text("a file")
    memory = BlockingMemory(CONFIG, tmp_path / "w")
    with pytest.raises(Exception, match="w"):
        memory.open()
    with pytest.raises(ClosedError):
        memory.flush()
    assert not [thread for thread in threading.enumerate() if thread.name == "gateway-memory-loop"]


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["", "raise SystemExit(3)", "raise ValueError('the host failed')"])
def test_what_is_open_when_the_interpreter_ends_is_closed_in_order(ends: str, tmp_path: Path) -> None:
    """The turn is processed at the close: a memory that was cut off would leave it waiting."""
    program = (
        "from gateway_memory import Config, OWNER\n"
        "from gateway_memory.blocking import BlockingMemory\n"
        f"memory = BlockingMemory(Config(), {str(tmp_path / 'w')!r})\n"
        "memory.open()\n"
        "session = memory.start_session('s', user=OWNER)\n"
        "memory.after_reply(session, user='Remember that my locker is number 12.', reply='ok')\n"
        f"{ends}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=seconds(120)
    )
    assert done.returncode == (0 if not ends else 3 if "Exit" in ends else 1), done.stderr
    assert "closed_early" not in done.stderr
    assert "Traceback" not in done.stderr or "the host failed" in done.stderr
    files = [path.read_text() for path in (tmp_path / "w").rglob("*.md")]
    assert any("locker is number 12" in text for text in files), done.stderr


def test_no_call_is_missing() -> None:
    calls = {name for name, _ in inspect.getmembers(GatewayMemory, inspect.iscoroutinefunction) if name[0] != "_"}
    within_a_call = {"once"}  # takes another call of the same memory: `memory.run(lambda memory: memory.once(…))`
    assert {name for name in calls if not hasattr(BlockingMemory, name)} == within_a_call


def test_facts_find_the_session_its_opening_and_all_that_are_open(memory: BlockingMemory) -> None:
    facts = Facts(key="telegram:1", channel="telegram", chat_type="direct", chat_id="1", sender_id="1")
    assert memory.identify(facts) == Speaker(user="telegram::1")
    session = memory.session_of(facts)
    memory.save_fact(session, content="The locker is blue.")
    assert memory.open_sessions("telegram:1") == [session]
    assert isinstance(memory.opening(session), str)
    assert isinstance(memory.identify(Facts(key="x", channel="cli", chat_type="direct", sender_id="1")), Refused)
