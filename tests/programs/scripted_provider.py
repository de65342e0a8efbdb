"""A loopback server that speaks OpenAI's and Anthropic's wire, and does what its script says, one step a request."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Drop", "Fail", "Flood", "Hang", "Provider", "Say", "Script", "entry", "found", "serving"]


@dataclass(frozen=True, kw_only=True)
class Say:
    """A good answer. text: what the model says; truncated: it ran into its limit; changed: what of it comes instead.

    after: set when the model has thought enough.
    """

    text: str
    truncated: bool = False
    input_tokens: int = 700
    output_tokens: int = 60
    changed: Callable[[dict[str, Any]], Any] = lambda body: body
    after: asyncio.Event | None = None


@dataclass(frozen=True, kw_only=True)
class Fail:
    """An error of the server's."""

    status: int
    kind: str = "server_error"
    message: str = "it failed"
    headers: Mapping[str, str] = field(default_factory=dict)
    page: str = ""
    """A body that is no JSON at all, as a proxy sends it."""


@dataclass(frozen=True)
class Hang:
    """No answer, ever."""


@dataclass(frozen=True, kw_only=True)
class Drop:
    """The connection goes, after so much of an answer."""

    after: str = ""


@dataclass(frozen=True, kw_only=True)
class Flood:
    """An answer of these bytes, over and over: so many times. packed: its Content-Encoding."""

    part: bytes
    times: int
    packed: str = ""
    status: int = 200


Step = Say | Fail | Hang | Flood | Drop
Script = Callable[[dict[str, Any]], Step]


def found(*entries: dict[str, Any], retract: Sequence[str] = ()) -> str:
    """The text of an answer with these entries, which takes back memories of the rules."""
    answer = {"entries": list(entries), "retract": list(retract)}
    return json.dumps(answer, ensure_ascii=False)


def entry(content: str, quote: str, **changed: Any) -> dict[str, Any]:
    """An entry as the schema wants it."""
    return {
        "quote": quote,
        "content": content,
        "category": "fact",
        "importance": "high",
        **changed,
    }


class Provider:
    """The server. `script` holds steps, then `always` answers; `asked` is what came, as each wire put it."""

    def __init__(self) -> None:
        self.script: deque[Step] = deque()
        self.always: Script = lambda _: Say(text=found())
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.port = 0
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def prompt(self, number: int = -1) -> str:
        """All that was said to the model in a request."""
        asked = self.asked[number]
        return json.dumps(asked["messages"], ensure_ascii=False) + str(asked.get("system", ""))

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
        self.headers.append(headers)
        self.asked.append(body)
        step = self.script.popleft() if self.script else self.always(body)
        anthropic = head[0].split(" ")[1].endswith("/messages")
        match step:
            case Hang():
                await reader.read()  # until the client gives up
                return False
            case Drop(after=part):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n")
                writer.write(part.encode())
                await writer.drain()
                return False
            case Fail():
                said = {"type": step.kind, "message": step.message, "code": step.kind}
                answer: Any = {"type": "error", "error": said}
                await _send(writer, step.status, step.page or json.dumps(answer), step.headers, json_body=not step.page)
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
                if step.after:
                    await step.after.wait()
                answer = step.changed(_of_anthropic(step) if anthropic else _of_openai(step))
                await _send(writer, 200, json.dumps(answer), {}, json_body=True)
        return True

    def close(self) -> None:
        for writer in self._writers:
            writer.close()


async def _send(
    writer: asyncio.StreamWriter, status: int, body: str, headers: Mapping[str, str], *, json_body: bool
) -> None:
    kind = "application/json" if json_body else "text/html"
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}", f"Content-Length: {len(body.encode())}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n" + body).encode())
    await writer.drain()


def _of_openai(step: Say) -> dict[str, Any]:
    reason = "length" if step.truncated else "stop"
    message = {"role": "assistant", "content": step.text, "refusal": None}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": reason, "message": message, "logprobs": None}],
        "usage": {
            "prompt_tokens": step.input_tokens,
            "completion_tokens": step.output_tokens,
            "total_tokens": step.input_tokens + step.output_tokens,
        },
    }


def _of_anthropic(step: Say) -> dict[str, Any]:
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": step.text}],
        "stop_reason": "max_tokens" if step.truncated else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": step.input_tokens, "output_tokens": step.output_tokens},
    }


@asynccontextmanager
async def serving() -> AsyncIterator[Provider]:
    """A provider on a free port of this machine."""
    provider = Provider()
    server = await asyncio.start_server(provider.handle, "127.0.0.1", 0)
    provider.port = server.sockets[0].getsockname()[1]
    try:
        yield provider
    finally:
        provider.close()
        server.close()
