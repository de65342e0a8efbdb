"""A model on loopback that speaks OpenAI's chat completions: it records each request and answers by a rule."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from loopback import send, serving


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """What the model answers with to call a tool."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request for a completion, as the gateway made it."""

    body: dict[str, Any]
    at: float

    @property
    def system(self) -> str:
        return "\n".join(text_of(each) for each in self.body["messages"] if each["role"] in ("system", "developer"))

    def now(self, marker: str) -> str:
        """Return what stands in the running turn, if it is that of a message that holds a marker; else ""."""
        turn = "\n".join(text_of(each) for each in self._turn)
        return turn if marker in turn else ""

    @property
    def last_user(self) -> str:
        """The last message of a person, as the gateway has put it together."""
        return next((text_of(each) for each in reversed(self.body["messages"]) if each["role"] == "user"), "")

    @property
    def _turn(self) -> list[dict[str, Any]]:
        """The messages since the last answer. A gateway may add messages of its own behind the person's."""
        messages = self.body["messages"]
        answers = [at for at, each in enumerate(messages) if each["role"] == "assistant" and not each.get("tool_calls")]
        return [each for each in messages[max(answers, default=0) + 1 :] if each["role"] != "system"]

    @property
    def everything(self) -> str:
        return "\n".join(text_of(each) for each in self.body["messages"])

    @property
    def tool_results(self) -> list[str]:
        return [text_of(each) for each in self._turn if each["role"] == "tool"]

    @property
    def tools(self) -> set[str]:
        return {each["function"]["name"] for each in self.body.get("tools", [])}


Rule = Callable[[Request], str | int | ToolCall | None]
"""What the model answers: a text, a call of a tool, or with the status of an error."""


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""


@dataclass
class StubModel:
    """What was asked, and the rules by which it answers: the first that returns something."""

    requests: list[Request] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    port: int = 0

    def asked(self, marker: str) -> list[Request]:
        """Return the requests whose last user message holds a marker."""
        return [each for each in self.requests if marker in each.last_user]

    def respond(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        if not handler.path.endswith("/chat/completions"):
            send(handler, {"object": "list", "data": [{"id": "stub", "object": "model"}]})
            return
        request = Request(body=body, at=time.monotonic())
        self.requests.append(request)
        answer = next((said for rule in self.rules if (said := rule(request)) is not None), "Understood.")
        if isinstance(answer, int):
            send(handler, {"error": {"message": "overloaded", "type": "server_error"}}, answer)
        elif body.get("stream"):
            _stream(handler, answer)
        else:
            send(handler, {**_frame("chat.completion"), "choices": [_choice("message", answer)], "usage": _USAGE})


_USAGE = {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55}


def _frame(kind: str) -> dict[str, Any]:
    return {"id": "stub-1", "object": kind, "created": int(time.time()), "model": "stub"}


def _choice(name: str, answer: str | ToolCall) -> dict[str, Any]:
    if isinstance(answer, str):
        return {"index": 0, name: {"role": "assistant", "content": answer}, "finish_reason": "stop"}
    function = {"name": answer.name, "arguments": json.dumps(answer.arguments)}
    call = {"index": 0, "id": f"call_{time.monotonic_ns()}", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"index": 0, name: message, "finish_reason": "tool_calls"}


def _stream(handler: BaseHTTPRequestHandler, answer: str | ToolCall) -> None:
    choice = _choice("delta", answer)
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    chunks = [
        {**_frame("chat.completion.chunk"), "choices": [{**choice, "finish_reason": None}]},
        {**_frame("chat.completion.chunk"), "choices": [last]},
        {**_frame("chat.completion.chunk"), "choices": [], "usage": _USAGE},
    ]
    data = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Content-Length", str(len(data.encode())))
    handler.end_headers()
    handler.wfile.write(data.encode())


@contextmanager
def stub_model() -> Iterator[StubModel]:
    """Serve a stub model until the block ends."""
    model = StubModel()
    with serving(model.respond) as model.port:
        yield model
