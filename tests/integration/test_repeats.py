"""A write that is repeated under its id is done once: at once, later, after an error and after a crash."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import repeating_host
from editor import WORDS_ALONE
from inside import parts
from patience import seconds

from gateway_memory import OWNER, GatewayMemory, StoreError, UsageError, load_config
from gateway_memory.store.journal.requests import Request

pytestmark = pytest.mark.over_postgres

ONE = Request(call="command", caller="zoe", id="1", scope="owner")
DAY = 86_400.0


async def test_a_repeat_gets_the_first_answer(tmp_path: Path) -> None:
    done = 0

    async def work() -> dict[str, Any]:
        nonlocal done
        done += 1
        await asyncio.sleep(0.01)
        return {"answer": f"done {done}"}

    async with GatewayMemory(load_config(WORDS_ALONE), tmp_path) as memory:
        at_once = await asyncio.gather(*(memory.once(ONE, work) for _ in range(10)))
        assert at_once == [{"answer": "done 1"}] * 10
        others = [
            Request(call="command", caller="bob", id="1", scope="owner"),
            Request(call="end", caller="zoe", id="1", scope="owner"),
        ]
        assert [await memory.once(each, work) for each in others] == [{"answer": "done 2"}, {"answer": "done 3"}]
    async with GatewayMemory(load_config(WORDS_ALONE), tmp_path) as memory:
        assert await memory.once(ONE, work) == {"answer": "done 1"}, "after a restart too"
        requests = parts(memory).storage.requests
        now = memory.now().timestamp()
        assert await requests.begin(Request(call="x", caller="", id="x", scope="owner"), now + 8 * DAY) is None
        assert await memory.once(ONE, work) == {"answer": "done 4"}, "it was kept for seven days"


async def test_a_caller_that_goes_away_stops_nothing(tmp_path: Path) -> None:
    goes_on = asyncio.Event()

    async def work() -> dict[str, Any]:
        await goes_on.wait()
        return {"done": True}

    async with GatewayMemory(load_config(WORDS_ALONE), tmp_path) as memory:
        first = asyncio.create_task(memory.once(ONE, work))
        await asyncio.sleep(0.05)
        first.cancel()
        second = asyncio.create_task(memory.once(ONE, work))
        await asyncio.sleep(0)
        goes_on.set()
        assert await second == {"done": True}
        assert first.cancelled()


@pytest.mark.parametrize(
    ("error", "sure", "then"),
    [(StoreError("full"), True, "work"), (StoreError("full"), False, "unknown"), (UsageError("wrong"), False, "work")],
)
async def test_what_failed_runs_again_only_if_it_has_done_nothing(
    error: Exception,
    sure: bool,  # noqa: FBT001 - a case
    then: str,
    tmp_path: Path,
) -> None:
    async def fails() -> dict[str, Any]:
        raise error

    async def works() -> dict[str, Any]:
        return {"did": "work"}

    async def unknown() -> dict[str, Any]:
        return {"did": "unknown"}

    async with GatewayMemory(load_config(WORDS_ALONE), tmp_path) as memory:
        with pytest.raises(type(error)):
            await memory.once(ONE, fails, unknown=unknown, sure=sure)
        for _ in range(2):
            assert await memory.once(ONE, works, unknown=unknown, sure=sure) == {"did": then}


@pytest.mark.slow
@pytest.mark.files
@pytest.mark.parametrize("step", ["before", "within", "after"])
async def test_a_killed_process_undoes_nothing_twice(step: str, tmp_path: Path) -> None:
    async with GatewayMemory(load_config(WORDS_ALONE), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        for door in ("red", "blue", "green"):
            await memory.save_fact(session, content=f"The door number {len(door)} is {door}.")
    killed = subprocess.run(
        [sys.executable, repeating_host.__file__, str(tmp_path), step],
        check=False,
        capture_output=True,
        timeout=seconds(60),
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()[-2000:]
    async with GatewayMemory(load_config(WORDS_ALONE), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        for _ in range(3):
            answer = await repeating_host.undo(memory, session)
            expected = {"before": "undone", "within": "not known", "after": "undone"}[step]
            assert answer["answer"] == expected
        assert len(await memory.search(session, "door", limit=9, kinds=["memory"])) == 2


async def test_an_observation_with_an_id_is_kept_once(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(WORDS_ALONE), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        other = await memory.start_session("two", user=OWNER)
        for _ in range(3):
            await memory.observe(session, kind="tool", content="ran the tests", id="7")
            await memory.observe(session, kind="tool", content="without an id")
        await memory.observe(other, kind="tool", content="another session's", id="7")
        seen, _ = await parts(memory).storage.sessions.read("owner", session.session_id)
        assert sorted(each.content for each in seen) == ["ran the tests", *["without an id"] * 3]
        seen, _ = await parts(memory).storage.sessions.read("owner", other.session_id)
        assert len(seen) == 1
        with pytest.raises(UsageError):
            await memory.observe(session, kind="tool", content="x", id="\n")
