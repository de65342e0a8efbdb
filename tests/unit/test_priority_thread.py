"""One job at a time, the most urgent first; what nobody waits for is skipped, and an error belongs to its caller."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from recall import RecallError
from recall.threads import BACKGROUND, SEARCH, WRITE, PriorityThread


class Held:
    """A job that runs until it is released."""

    def __init__(self) -> None:
        self.running, self.released = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.running.set()
        assert self.released.wait(60)


@pytest.fixture
async def thread() -> AsyncIterator[PriorityThread]:
    thread = PriorityThread("tested")
    thread.start()
    yield thread
    await thread.close()


async def held_in(thread: PriorityThread) -> tuple[Held, "asyncio.Future[None]"]:
    held = Held()
    future = thread.submit(held, WRITE)
    await asyncio.to_thread(held.running.wait, 60)
    return held, future


async def test_the_most_urgent_runs_first_and_equals_in_their_order(thread: PriorityThread) -> None:
    held, _ = await held_in(thread)
    order: list[str] = []
    jobs = [
        thread.submit(lambda name=name: order.append(name), priority)  # type: ignore[misc]
        for name, priority in (("background", BACKGROUND), ("write", WRITE), ("search", SEARCH), ("second", SEARCH))
    ]
    held.released.set()
    await asyncio.gather(*jobs)
    assert order == ["search", "second", "write", "background"]


async def test_a_cancelled_job_that_has_not_started_is_skipped(thread: PriorityThread) -> None:
    held, running = await held_in(thread)
    done: list[int] = []
    waiting = thread.submit(lambda: done.append(1), WRITE)
    assert waiting.cancel()
    assert running.cancel()
    held.released.set()
    await thread.submit(lambda: done.append(2), WRITE)
    assert done == [2]


async def test_an_error_belongs_to_its_caller(thread: PriorityThread) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await thread.submit(fail, WRITE)
    assert await thread.submit(lambda: threading.current_thread().name, WRITE) == "tested"


async def test_closing_drops_what_waits_and_runs_the_last_job_in_the_thread(thread: PriorityThread) -> None:
    held, running = await held_in(thread)
    waiting = thread.submit(lambda: None, SEARCH)
    last: list[str] = []
    closing = asyncio.create_task(thread.close(lambda: last.append(threading.current_thread().name)))
    with pytest.raises(RecallError):
        await waiting
    assert not running.done()
    held.released.set()
    await closing
    await running
    assert last == ["tested"]
    with pytest.raises(RecallError):
        await thread.submit(lambda: None, SEARCH)


async def test_it_tells_that_a_job_hangs(thread: PriorityThread) -> None:
    assert not thread.runs_longer_than(0)
    held, running = await held_in(thread)
    await asyncio.sleep(0.01)
    assert thread.runs_longer_than(0.001)
    assert not thread.runs_longer_than(60)
    held.released.set()
    await running
    assert not thread.runs_longer_than(0)
