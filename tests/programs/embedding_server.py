"""A loopback server that speaks OpenAI's /v1/embeddings, and does what its script says, one step a request."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["EmbeddingServer", "Fail", "Flood", "Hang", "Say", "Trickle", "hashed", "serving_embeddings"]

Vectors = Callable[[Sequence[str]], NDArray[Any]]


def hashed(dimension: int) -> Vectors:
    """Vectors by which texts are near that share words."""

    def vectors(texts: Sequence[str]) -> NDArray[Any]:
        found = np.zeros((len(texts), dimension))
        for row, text in enumerate(texts):
            for word in text.lower().split() or ["."]:
                found[row] += np.random.default_rng(sum(word.encode()) * 7919 + len(word)).standard_normal(dimension)
        return found

    return vectors


@dataclass(frozen=True, kw_only=True)
class Say:
    """Vectors, by `make` where it is given. lost: so many are left out; reverse: in another order, with their index."""

    make: Vectors | None = None
    lost: int = 0
    reverse: bool = False


@dataclass(frozen=True, kw_only=True)
class Fail:
    """An error of the server's; page: a body that is no JSON at all, as a proxy sends it."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    page: str = ""


@dataclass(frozen=True)
class Hang:
    """No answer, ever."""


@dataclass(frozen=True)
class Trickle:
    """An answer of which a byte comes now and then, so that it never ends, and never stops."""


@dataclass(frozen=True, kw_only=True)
class Flood:
    """An answer of these bytes, over and over: so many times. packed: its Content-Encoding."""

    part: bytes
    times: int
    packed: str = ""
    status: int = 200


Step = Say | Fail | Hang | Flood | Trickle


class EmbeddingServer:
    """`script` holds steps, then `always` answers. `asked` is what came; `released` ends what hangs."""

    def __init__(self, make: Vectors) -> None:
        self.make = make
        self.script: deque[Step] = deque()
        self.always: Callable[[dict[str, Any]], Step] = lambda _: Say()
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.released = asyncio.Event()
        self.port = 0
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def texts(self) -> list[str]:
        """Every text that a vector was asked for."""
        return [text for asked in self.asked for text in asked["input"]]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in head[1:] if line}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))))
        self.asked.append(body)
        self.keys.append(headers.get("authorization", "").removeprefix("Bearer "))
        assert head[0].split(" ")[1] == "/v1/embeddings"
        step = self.script.popleft() if self.script else self.always(body)
        match step:
            case Hang():
                await self.released.wait()
                return False
            case Trickle():
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n")
                while not self.released.is_set():
                    writer.write(b" ")
                    await writer.drain()
                    await asyncio.sleep(0.01)
                return False
            case Fail():
                error = {"error": {"message": f"cannot read {body['input']}", "type": "server_error", "code": "x"}}
                await _send(writer, step.status, step.page or json.dumps(error), step.headers)
            case Flood():
                length, packed = (
                    len(step.part) * step.times,
                    f"Content-Encoding: {step.packed}\r\n" if step.packed else "",
                )
                writer.write(f"HTTP/1.1 {step.status} X\r\nContent-Type: application/json\r\n{packed}".encode())
                writer.write(f"Content-Length: {length}\r\n\r\n".encode())
                for _ in range(step.times):
                    writer.write(step.part)
                    await writer.drain()
            case Say():
                rows = (step.make or self.make)(body["input"]).tolist()
                data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
                data = data[: len(data) - step.lost]
                usage = {"prompt_tokens": 1, "total_tokens": 1}
                answer = {
                    "object": "list",
                    "model": body["model"],
                    "data": data[::-1] if step.reverse else data,
                    "usage": usage,
                }
                await _send(writer, 200, json.dumps(answer), {})
        return True

    def close(self) -> None:
        self.released.set()
        for writer in self._writers:
            writer.close()


async def _send(writer: asyncio.StreamWriter, status: int, body: str, headers: Mapping[str, str]) -> None:
    lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json", f"Content-Length: {len(body.encode())}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n" + body).encode())
    await writer.drain()


@asynccontextmanager
async def serving_embeddings(make: Vectors) -> AsyncIterator[EmbeddingServer]:
    """A server on a free port of this machine."""
    serving = EmbeddingServer(make)
    server = await asyncio.start_server(serving.handle, "127.0.0.1", 0)
    serving.port = server.sockets[0].getsockname()[1]
    try:
        yield serving
    finally:
        serving.close()
        server.close()
