"""The service beside the same calls in process, and under many sessions at once.

    python benchmarks/service.py --sessions 200 --turns 20000

Prints p50 and p95 in milliseconds of `before_reply` and `after_reply` over HTTP, one after the other and from all
sessions at once, their ratio to the calls in process, whether each turn is there once, and the service's resident
memory on the way through the turns.
"""

import argparse
import asyncio
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from gateway_memory import Facts, GatewayMemory, load_config
from gateway_memory.observability.logs import configure_logging

SINGLE = 200
STEPS = 4


def speaker(number: int) -> dict[str, str]:
    """Return the facts of one of many people."""
    key = f"agent:main:telegram:direct:{number}"
    return {"key": key, "channel": "telegram", "chat_type": "direct", "sender_id": str(number)}


def said(number: int, turn: int) -> str:
    """Return what somebody says in a turn."""
    return f"Remember that box {turn} of shelf {number} holds {turn * 7919 % 10007} screws."


def show(name: str, seconds: list[float], beside: list[float] | None = None) -> None:
    """Print a measurement, and its ratio to another one."""
    cuts = statistics.quantiles(seconds, n=20)
    ratio = ""
    if beside:
        last = statistics.quantiles(beside, n=20)[-1]
        ratio = f"  {statistics.median(seconds) / statistics.median(beside):.2f} and {cuts[-1] / last:.2f} x in process"
    print(f"  {name:46} p50 {statistics.median(seconds) * 1e3:7.1f}  p95 {cuts[-1] * 1e3:7.1f} ms{ratio}")


async def timed(calls: list[Callable[[], Awaitable[Any]]], *, at_once: int = 1) -> list[float]:
    """Return the seconds of each call."""
    gate = asyncio.Semaphore(at_once)

    async def one(call: Callable[[], Awaitable[Any]]) -> float:
        async with gate:
            started = time.perf_counter()
            await call()
            return time.perf_counter() - started

    return list(await asyncio.gather(*(one(call) for call in calls)))


@contextmanager
def running(workspace: Path) -> Iterator[tuple[str, str, int]]:
    """Run the service; yields its address, its token and its process id."""
    command = [sys.executable, "-m", "gateway_memory.cli.entry", "serve", "--port", "0", "--workspace", str(workspace)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ours
    try:
        assert process.stdout
        found = re.search(r"serves at (\S+)", process.stdout.readline())
        assert found
        yield found[1], (workspace / ".gateway-memory/token").read_text().strip(), process.pid
    finally:
        process.terminate()
        process.wait(60)
        assert process.returncode == 0


def resident(process: int) -> float:
    """Return the resident memory of a process in MB."""
    (pages,) = re.findall(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(pages) / 1024


async def in_process(workspace: Path) -> tuple[list[float], list[float]]:
    """Return the seconds of `before_reply` and of `after_reply`."""
    async with GatewayMemory(load_config(), workspace) as memory:
        session = await memory.session_of(Facts(**speaker(0)))  # type: ignore[arg-type]
        after = await timed(
            [partial(memory.after_reply, session, user=said(0, turn), reply="OK") for turn in range(SINGLE)]
        )
        await memory.flush()
        before = await timed(
            [partial(memory.before_reply, session, f"What is in box {turn}?") for turn in range(SINGLE)]
        )
    return before, after


async def over_http(place: Path, sessions: int, turns: int, beside: tuple[list[float], list[float]]) -> None:
    """Measure the service. beside: what `in_process` returns."""
    with running(place) as (url, token, process):
        headers = {"Authorization": f"Bearer {token}"}
        limits = httpx2.Limits(max_connections=sessions, max_keepalive_connections=sessions)
        async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=60, limits=limits) as client:

            async def ask(call: str, **body: Any) -> Any:
                answer = await client.post(f"/v1/{call}", json=body)
                assert answer.status_code == 200, answer.text
                return answer.json()

            def after(number: int, turn: int) -> Callable[[], Awaitable[Any]]:
                return lambda: ask(
                    "after_reply", id=f"t{turn}", speaker=speaker(number), user=said(number, turn), reply="OK"
                )

            def before(number: int, turn: int) -> Callable[[], Awaitable[Any]]:
                return lambda: ask("before_reply", speaker=speaker(number), message=f"What is in box {turn}?")

            alone = await timed([after(0, turn) for turn in range(SINGLE)])
            await ask("flush")
            asked = await timed([before(0, turn) for turn in range(SINGLE)])
            show("before_reply, one after the other", asked, beside[0])
            show("after_reply, one after the other", alone, beside[1])

            each = max(1, turns // sessions)
            at_first = f"resident at the start {resident(process):.0f} MB"
            print(f"  {sessions} sessions at once, {each * sessions} turns; {at_first}")
            step = max(1, each // STEPS)
            for first in range(0, each, step):
                part = [
                    (number, turn)
                    for turn in range(first, min(each, first + step))
                    for number in range(1, sessions + 1)
                ]
                stored = await timed([after(*one) for one in part], at_once=sessions)
                told = await timed([before(number, first) for number in range(1, sessions + 1)], at_once=sessions)
                show(f"after_reply, {sessions} at once", stored)
                show(f"before_reply, {sessions} at once", told)
                await client.post("/v1/flush", json={}, timeout=3600)
                print(f"  after {(first + step) * sessions} turns: resident {resident(process):.0f} MB")
            wrong = 0
            for number in range(1, sessions + 1):
                status = (await ask("command", id="status", speaker=speaker(number), text="/memory status"))["answer"]
                kept = int(re.findall(r"kept as they were said: (\d+)", status)[0])
                wrong += abs(each - kept)
            print(f"  turns that are missing, or there twice: {wrong}")


async def started_again(place: Path, sessions: int) -> None:
    """Show what the service needs for the same memories without the turns before it: the rest would be a leak."""
    with running(place) as (url, token, process):
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
            for number in range(1, sessions + 1):
                asked = {"speaker": speaker(number), "message": "What is in box 1?"}
                (await client.post("/v1/before_reply", json=asked)).raise_for_status()
        print(f"  started again, after a reply in each session: resident {resident(process):.0f} MB")


def main() -> None:
    """Measure in process, then over HTTP."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--turns", type=int, default=20_000)
    args = parser.parse_args()
    configure_logging(verbose=False)
    with tempfile.TemporaryDirectory() as folder:
        beside = asyncio.run(in_process(Path(folder) / "beside"))
        show("before_reply, in process", beside[0])
        show("after_reply, in process", beside[1])
        asyncio.run(over_http(Path(folder) / "served", args.sessions, args.turns, beside))
        asyncio.run(started_again(Path(folder) / "served", args.sessions))


if __name__ == "__main__":
    main()
