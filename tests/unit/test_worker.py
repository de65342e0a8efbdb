"""One job at a time, in the worker's thread or in that of whoever gives it."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from recall.threads.worker import SEARCH, Worker


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker("tested")
    worker.start()
    yield worker
    worker.stop()


async def given(worker: Worker, *, here: bool = True) -> str:
    """Return the name of the thread that does a job which another thread gives."""
    future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    giver = threading.Thread(
        target=worker.give, args=(lambda: threading.current_thread().name, future, SEARCH), kwargs={"here": here}
    )
    giver.name = "giver"
    giver.start()
    return await future


async def test_a_job_is_done_where_it_is_given_only_if_nothing_runs_or_waits(worker: Worker) -> None:
    assert await given(worker) == "giver"
    assert await given(worker, here=False) == "tested"
    running, go_on = threading.Event(), threading.Event()

    def run() -> None:
        running.set()
        assert go_on.wait(60)

    busy = worker.submit(run)
    await asyncio.to_thread(running.wait, 60)
    waiting = asyncio.create_task(given(worker))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    go_on.set()
    await busy
    assert await waiting == "tested"


async def test_two_jobs_never_run_at_once(worker: Worker) -> None:
    loop, running, most, each = asyncio.get_running_loop(), 0, 0, 200

    def job() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        threading.Event().wait(0.0002)  # lets the others in
        running -= 1

    def give(futures: list[asyncio.Future[None]], *, here: bool) -> None:
        for future in futures:
            worker.give(job, future, SEARCH, here=here)

    futures = [[loop.create_future() for _ in range(each)] for _ in range(3)]
    await asyncio.gather(*(asyncio.to_thread(give, some, here=bool(place)) for place, some in enumerate(futures)))
    await asyncio.gather(*(future for some in futures for future in some))
    assert most == 1


async def test_the_thread_ends_after_the_job_that_another_one_does(worker: Worker) -> None:
    running, go_on = threading.Event(), threading.Event()

    def run() -> None:
        running.set()
        assert go_on.wait(60)

    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    giving = asyncio.create_task(asyncio.to_thread(worker.give, run, future, SEARCH, here=True))
    await asyncio.to_thread(running.wait, 60)
    thread = worker.stop()
    assert thread is not None
    await asyncio.to_thread(thread.join, 0.05)
    assert thread.is_alive(), "whoever closes what jobs use waits for the thread"
    go_on.set()
    await giving
    await asyncio.to_thread(thread.join, 60)
    assert not thread.is_alive()
    refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    worker.give(run, refused, SEARCH, here=True)
    with pytest.raises(asyncio.CancelledError):
        await refused


async def test_an_error_belongs_to_who_waits(worker: Worker) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    for here in (True, False):
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await asyncio.to_thread(worker.give, fail, future, SEARCH, here=here)
        with pytest.raises(ZeroDivisionError):
            await future
    assert await given(worker) == "giver", "it goes on"
