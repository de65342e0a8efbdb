"""A host of `postgres_year.py`, and what starts and asks it: `postgres_year_host.py FOLDER CONFIG`.

It reads requests as lines of JSON, and answers each with a line as soon as it is done.
"""

import asyncio
import json
import os
import sys
import time
from collections import deque
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from gateway_memory import GatewayMemory, load_config
from gateway_memory.errors import GatewayMemoryError

__all__ = ["GoneError", "HostProcess"]

_ANSWER_SECONDS = 600.0


class GoneError(Exception):
    """The host ended before it answered."""


class HostProcess:
    """A host, as the benchmark sees it. opened: how many seconds each start took."""

    def __init__(self, folder: Path) -> None:
        self.ready = asyncio.Event()
        self.opened: list[float] = []
        self.errors: deque[str] = deque(maxlen=200)
        self.current = 0
        """How many requests it has not answered."""
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reading: list[asyncio.Task[None]] = []
        self._number = 0

    async def start(self, config: Path) -> None:
        """Start it, and note how long it took."""
        began = time.monotonic()
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, __file__, str(self._folder), str(config))
        self._process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
        opened = self._answers[0] = asyncio.get_running_loop().create_future()
        self._reading = [asyncio.create_task(self._read_answers()), asyncio.create_task(self._read_errors())]
        try:
            await opened
        except GoneError:
            raise RuntimeError("\n".join(["the host does not open", *self.errors])) from None
        self.opened.append(time.monotonic() - began)
        self.ready.set()

    async def ask(self, op: str, **values: object) -> dict[str, Any]:
        """Return the answer. Raises GoneError."""
        await self.ready.wait()
        assert self._process
        assert self._process.stdin
        self._number += 1
        number = self._number
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._process.stdin.write((json.dumps({"op": op, "id": number, **values}) + "\n").encode())
        self.current += 1
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                found: dict[str, Any] = await answer
                return found
        finally:
            self.current -= 1

    async def stop(self) -> None:
        """Let it answer what it was asked, close its memory, and end."""
        self.ready.clear()
        assert self._process
        assert self._process.stdin
        self._process.stdin.write(b'{"op": "stop", "id": -1}\n')
        await self._process.wait()
        await asyncio.gather(*self._reading)

    def kill(self) -> None:
        """End it at once."""
        if self._process and self._process.returncode is None:
            self._process.kill()

    async def _read_answers(self) -> None:
        assert self._process
        assert self._process.stdout
        async for line in self._process.stdout:
            answer = json.loads(line)
            waiting = self._answers.pop(answer.pop("id"), None)
            if waiting and not waiting.done():
                waiting.set_result(answer)
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(GoneError())
        self._answers.clear()

    async def _read_errors(self) -> None:
        assert self._process
        assert self._process.stderr
        async for line in self._process.stderr:
            self.errors.append(line.decode().rstrip())


async def answered(memory: GatewayMemory, clock: list[timedelta], request: dict[str, Any]) -> dict[str, Any]:
    """Carry out a request."""
    op = request.pop("op")
    if op == "later":  # what is due once an hour is due
        clock[0] += timedelta(seconds=request["seconds"])
        return {}
    if op == "flush":
        await memory.flush()
        return {"failures": {name: n for name, n in memory.metrics.counts.items() if name.startswith("failures.")}}
    session = await memory.start_session(request["key"], user=request["user"])
    if op == "hear":
        began = time.perf_counter()
        context = await memory.before_reply(session, request["message"])
        return {"outcome": context.outcome, "seconds": time.perf_counter() - began}
    if op == "say":
        turn = request["turn"]
        return {
            "number": await memory.after_reply(session, user=request["text"], reply="I will look at it.", turn_id=turn)
        }
    if op == "command":
        return {"answer": await memory.command(session, request["text"])}
    if op == "end":
        await memory.end_session(session, reason="completed")
        return {}
    raise AssertionError(op)


def write(**answer: object) -> None:
    """Write an answer."""
    sys.stdout.write(json.dumps(answer, default=str) + "\n")
    sys.stdout.flush()


async def main(folder: str, config: str) -> None:
    """Answer until told to stop."""
    clock = [timedelta()]
    async with GatewayMemory(
        load_config(config), folder, clock=lambda: datetime.now().astimezone() + clock[0]
    ) as memory:
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        write(id=0)
        tasks: set[asyncio.Task[None]] = set()

        async def answer(number: int, request: dict[str, Any]) -> None:
            try:
                write(id=number, **await answered(memory, clock, request))
            except GatewayMemoryError as error:
                write(id=number, error=f"{type(error).__name__}: {error}")

        async for line in reader:
            request = json.loads(line)
            number = request.pop("id")
            if request["op"] == "stop":
                break
            task = asyncio.create_task(answer(number, request))
            tasks.add(task)
            task.add_done_callback(partial(tasks.discard))
        await asyncio.gather(*tasks)


if __name__ == "__main__":
    assert os.environ["GATEWAY_MEMORY_DSN"]
    asyncio.run(main(*sys.argv[1:]))
