"""A scripted model's server on loopback, which keeps each request as it came, byte for byte."""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Answer", "Asked", "Upstream", "chat", "chat_stream", "upstream"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is answered. pieces: of the body; one alone is sent with its length. breaks: the connection goes after them.

    holds: is waited for before the last piece.
    """

    pieces: Sequence[bytes]
    status: int = 200
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    breaks: bool = False
    holds: threading.Event | None = None


def chat(text: str = "I see.", reason: str = "stop", **message: Any) -> Answer:
    """A whole reply of OpenAI's form."""
    said = {"role": "assistant", "content": text, **message}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": said, "finish_reason": reason, "logprobs": None}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
        "system_fingerprint": "fp_x",
        "of_the_upstream_alone": {"kept": 1.50},
    }
    return Answer(pieces=[json.dumps(body, ensure_ascii=False).encode()])


def chat_stream(*words: str, reason: str = "stop", **values: Any) -> Answer:
    """The same as a stream, a piece for each word, the end and [DONE]."""

    def piece(delta: Mapping[str, Any], end: str | None) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": end}]
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        return f"data: {json.dumps({**head, 'choices': choices}, ensure_ascii=False)}\n\n".encode()

    pieces = [piece({"role": "assistant", "content": ""}, None), *(piece({"content": word}, None) for word in words)]
    if not values.get("breaks"):
        pieces += [piece({}, reason), b"data: [DONE]\n\n"]
    return Answer(pieces=pieces, kind="text/event-stream", **values)


class Upstream:
    """The server. script: answers, in their order; then `always`. asked: the requests that came.

    left: how many clients went away before the end of an answer.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.script: deque[Answer] = deque()
        self.always: Callable[[Asked], Answer] = _usual
        self.port = 0
        self.left = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def bodies(self) -> list[dict[str, Any]]:
        return [asked.json for asked in self.asked]


def _usual(asked: Asked) -> Answer:
    if asked.method == "GET":
        return Answer(
            pieces=[b'{"object":"list","data":[{"id":"scripted","object":"model","created":1,"owned_by":"me"}]}']
        )
    try:
        streams = asked.json["stream"] is True
    except (ValueError, RecursionError, LookupError, TypeError):
        streams = False
    return chat_stream("I ", "see.") if streams else chat()


def _send(handler: BaseHTTPRequestHandler, answer: Answer) -> None:
    handler.send_response(answer.status)
    handler.send_header("content-type", answer.kind)
    for name, value in answer.headers.items():
        handler.send_header(name, value)
    if len(answer.pieces) == 1 and not answer.breaks:
        handler.send_header("content-length", str(len(answer.pieces[0])))
    else:
        handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    for number, piece in enumerate(answer.pieces, 1):
        if answer.holds and number == len(answer.pieces):
            answer.holds.wait(60)
        if len(answer.pieces) == 1 and not answer.breaks:
            handler.wfile.write(piece)
        else:
            handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        handler.wfile.flush()
    if answer.breaks:
        handler.connection.close()
        handler.close_connection = True
    elif len(answer.pieces) > 1:
        handler.wfile.write(b"0\r\n\r\n")


@contextmanager
def upstream() -> Iterator[Upstream]:
    """Run the server meanwhile."""
    served = Upstream()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            length = int(self.headers.get("content-length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked = Asked(method=self.command, path=self.path, headers=headers, body=self.rfile.read(length))
            served.asked.append(asked)
            answer = served.script.popleft() if served.script else served.always(asked)
            try:
                _send(self, answer)
            except OSError:
                served.left += 1
                self.close_connection = True

        do_GET = do_POST = answer  # noqa: N815 - the names of http.server

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

    server = Server(("127.0.0.1", 0), Handler)
    served.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
