"""What the tests of faults share: gateways as processes, a link that can be cut, and what must be true in the end."""

import asyncio
import json
import os
import random
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Self

import mqtt_gateway
from patience import seconds
from thorough import amount

ROUNDS = amount(2, 20)
SECRET = {"TEAM_SECRET": "k1:a secret for the tests only"}
APART = ("workspace_id=team", "secret_env=TEAM_SECRET")


def seeded(seed: int) -> random.Random:
    """Return what chooses the moments of a round's faults."""
    return random.Random(seed)  # noqa: S311 - no secrets


class Gateway:
    """A gateway in a process of its own."""

    def __init__(self, folder: Path, name: str, port: int, *options: str, workspace: str = "") -> None:
        self.name = name
        self.port = port
        self.log = folder / f"{name}.log"
        self.workspace = folder / (workspace or name)
        self._errors = folder / f"{name}.err"
        self._options = options
        self._process: asyncio.subprocess.Process | None = None
        self.environment: dict[str, str] = {}

    async def start(self) -> None:
        arguments = [str(self.workspace), self.name, str(self.port), str(self.log), *self._options]
        with self._errors.open("ab") as errors:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                str(mqtt_gateway.__file__),
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env=os.environ | SECRET | self.environment,
            )
        await self._answer("open")

    async def _answer(self, *starts: str) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        async with asyncio.timeout(seconds(60)):
            async for line in self._process.stdout:
                if line.decode().startswith(starts):
                    return line.decode()
        raise AssertionError(self._errors.read_text("utf-8")[-3000:])

    def tell(self, command: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n".encode())

    async def said(self) -> None:
        """Wait until what it was to say is on disk."""
        self.tell("said")
        await self._answer("said")

    async def status(self) -> dict[str, object]:
        self.tell("status")
        found: dict[str, object] = json.loads(await self._answer("{"))
        return found

    async def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        self._close()

    async def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self.tell("stop")
            async with asyncio.timeout(seconds(30)):
                assert await self._process.wait() == 0, self._errors.read_text("utf-8")[-3000:]
        self._close()

    def _close(self) -> None:
        if self._process is not None:
            self._process._transport.close()  # type: ignore[attr-defined]
            self._process = None

    def heard(self) -> dict[str, list[int]]:
        """What its sessions were told, by speaker, in order."""
        found: dict[str, list[int]] = defaultdict(list)
        for line in self.log.read_text("utf-8").splitlines() if self.log.exists() else ():
            name, number = line.split()
            found[name].append(int(number))
        return found


@asynccontextmanager
async def gateways(*members: Gateway) -> AsyncIterator[None]:
    try:
        await asyncio.gather(*(member.start() for member in members))
        yield
        await asyncio.gather(*(member.stop() for member in members))
    finally:
        await asyncio.gather(*(member.kill() for member in members))


async def converge(members: Sequence[Gateway], upto: int, seconds: float = 60.0) -> None:
    """Wait until each has heard all that the others said; then each was told each event once, in order."""

    def missing() -> int:
        return sum(
            upto - len(set(member.heard()[other.name]))
            for member in members
            for other in members
            if other is not member
        )

    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while missing():
        assert loop.time() < deadline, [(member.name, await member.status(), _summary(member)) for member in members]
        await asyncio.sleep(0.02)
    for member in members:
        heard = member.heard()
        for other in members:
            expected = [] if other is member else list(range(1, upto + 1))
            assert heard[other.name] == expected, (member.name, other.name)


def _summary(member: Gateway) -> dict[str, object]:
    return {name: (len(numbers), numbers[-3:]) for name, numbers in member.heard().items()}


class Proxy:
    """A link to the broker that is cut after some bytes of either direction, and takes new connections at once."""

    def __init__(self, target: int, generator: random.Random, *, port: int = 0) -> None:
        self._target = target
        self._random = generator
        self.port = port
        self.cuts = 0
        self.cutting = True

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        budget = [self._random.randrange(200, 20_000)]
        with suppress(OSError):
            broker_reader, broker_writer = await asyncio.open_connection("127.0.0.1", self._target)
            pumps = [
                asyncio.create_task(self._pump(reader, broker_writer, budget)),
                asyncio.create_task(self._pump(broker_reader, writer, budget)),
            ]
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in pumps:
                pump.cancel()
            for stream in (writer, broker_writer):
                stream.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, budget: list[int]) -> None:
        with suppress(OSError):
            while data := await source.read(4096):
                if self.cutting and len(data) > budget[0]:
                    sink.write(data[: budget[0]])
                    await sink.drain()
                    self.cuts += 1
                    return
                budget[0] -= len(data)
                sink.write(data)
                await sink.drain()
