"""The forms of requests and replies that the proxy understands: where the words are, and where the memory goes.

Nothing is changed but the texts in which the memory is placed. What is unknown stays as it came.
"""

import json
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from gateway_memory.edge.content import text_of
from gateway_memory.errors import UsageError

Body = Mapping[str, Any]
Role = Literal["system", "user", "assistant", "other"]

_ROLES: Final[Mapping[object, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_TEXTS: Final = ("text", "input_text")
_CALLING: Final = ("tool_calls", "function_call", "tool_use", "pause_turn")
_FILTERED: Final = ("content_filter", "refusal")
_OUTSIDE: Final = -1
"""The place of a text that stands beside the messages, as Anthropic's `system` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A message of a request. at: its place among the messages."""

    role: Role
    text: str
    at: int


@dataclass(slots=True)
class Heard:
    """What a model has replied so far. over: the reply is complete. identity: of the reply, or "".

    calls: it ended by calling tools, so that it is not over: the client goes on with their results.
    """

    text: str = ""
    over: bool = False
    calls: bool = False
    identity: str = ""

    def ended(self, reason: object) -> None:
        """Record why a reply ended; None while it goes on. What a filter has cut is not complete."""
        self.calls = self.calls or reason in _CALLING
        self.over = bool(reason) and not self.calls and reason not in _FILTERED


class Form(Protocol):
    """One protocol: how its bodies are read and written. path: of its requests, below the base URL."""

    path: str

    def streams(self, body: Body) -> bool:
        """Return whether a request asks for a stream."""

    def said(self, body: Body) -> list[Said]:
        """Return the messages of a request, the system's first."""

    def placed(self, body: Body, opening: str, blocks: Mapping[int, str]) -> dict[str, Any]:
        """Return a request with the opening behind its system message, and blocks in front of messages' words."""

    def rewritten(self, body: Body, system: Mapping[int, Any]) -> dict[str, Any]:
        """Return a request with other contents of its system's messages."""

    def system(self, body: Body) -> Mapping[int, Any]:
        """Return the contents of the system's messages by their places."""

    def previous(self, body: Body) -> str:
        """Return the id of the reply on which a request goes on without sending it, or ""."""

    def hear(self, heard: Heard, event: Body) -> None:
        """Take a whole reply, or an event of a stream, into what was heard."""

    def answer(self, body: Body, text: str) -> dict[str, Any]:
        """Return a whole reply with this text."""

    def answered(self, body: Body, text: str) -> Iterator[bytes]:
        """Yield the pieces of a stream that says this text."""


def words_of(content: object) -> str:
    """Return the text of a message; "" where its form is unknown."""
    try:
        return text_of(content, "content")
    except UsageError:
        return ""


def before(content: Any, block: str) -> Any:
    """Return a message's content with a block in front of its words."""
    if not isinstance(content, list):
        return f"{block}\n\n{content}"
    at = next((at for at, part in enumerate(content) if isinstance(part, Mapping) and part.get("type") in _TEXTS), None)
    if at is None:
        return content
    return [*content[:at], {"type": content[at]["type"], "text": f"{block}\n\n"}, *content[at:]]


def behind(content: Any, opening: str, kind: str = "text") -> Any:
    """Return a message's content with the opening behind it."""
    if isinstance(content, list):
        return [*content, {"type": kind, "text": opening}]
    return f"{content}\n\n{opening}" if content else opening


def _of_messages(messages: object) -> list[Said]:
    listed = messages if isinstance(messages, list) else []
    said = []
    for at, message in enumerate(listed):
        if not isinstance(message, Mapping):
            continue
        role = _ROLES.get(message.get("role"), "other")
        text = words_of(message.get("content"))
        if role == "user" and not text.strip() and _has_results(message.get("content")):
            role = "other"
        said.append(Said(role=role, text=text, at=at))
    return said


def _has_results(content: object) -> bool:
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, Mapping) and part.get("type") == "tool_result" for part in parts)


def _changed(messages: Sequence[Any], contents: Mapping[int, Any]) -> list[Any]:
    return [{**message, "content": contents[at]} if at in contents else message for at, message in enumerate(messages)]


def _leading(said: Iterable[Said]) -> int | None:
    """Return the place of the last of the system's messages before any other, or None."""
    place = None
    for each in said:
        if each.role != "system":
            break
        place = each.at
    return place


def _event(data: Body, name: str = "") -> bytes:
    line = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return f"event: {name}\ndata: {line}\n\n".encode() if name else f"data: {line}\n\n".encode()


def _identity(prefix: str) -> str:
    return f"{prefix}memory{secrets.token_hex(8)}"


class _Messages:
    """What the forms with a list `messages` have in common."""

    path: str
    _role: str = "system"

    def streams(self, body: Body) -> bool:
        return body.get("stream") is True

    def previous(self, _: Body) -> str:
        return ""

    def said(self, body: Body) -> list[Said]:
        return _of_messages(body.get("messages"))

    def system(self, body: Body) -> Mapping[int, Any]:
        messages = body.get("messages") or []
        return {each.at: messages[each.at].get("content") for each in self.said(body) if each.role == "system"}

    def rewritten(self, body: Body, system: Mapping[int, Any]) -> dict[str, Any]:
        return {**body, "messages": _changed(body["messages"], system)}

    def placed(self, body: Body, opening: str, blocks: Mapping[int, str]) -> dict[str, Any]:
        messages = list(body["messages"])
        contents = {at: before(messages[at].get("content"), block) for at, block in blocks.items()}
        place = _leading(self.said(body))
        if opening and place is not None:
            contents[place] = behind(messages[place].get("content"), opening)
        messages = _changed(messages, contents)
        if opening and place is None:
            messages.insert(0, {"role": self._role, "content": opening})
        return {**body, "messages": messages}


class ChatCompletions(_Messages):
    """OpenAI's Chat Completions, which most servers speak."""

    path = "v1/chat/completions"

    def hear(self, heard: Heard, event: Body) -> None:
        choices = event.get("choices") or []
        for choice in choices:
            if not isinstance(choice, Mapping) or choice.get("index", 0) != 0:
                continue
            message = choice.get("delta") or choice.get("message") or {}
            heard.text += words_of(message.get("content"))
            heard.ended(choice.get("finish_reason"))

    def answer(self, body: Body, text: str) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, "refusal": None}
        return {
            "id": _identity("chatcmpl-"),
            "object": "chat.completion",
            "created": int(time.time()),
            "model": str(body.get("model", "")),
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }

    def answered(self, body: Body, text: str) -> Iterator[bytes]:
        whole = self.answer(body, text)
        head = {**{name: whole[name] for name in ("id", "created", "model")}, "object": "chat.completion.chunk"}
        for delta, reason in (({"role": "assistant", "content": text}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
            yield _event({**head, "choices": [choice]})
        if isinstance(options := body.get("stream_options"), Mapping) and options.get("include_usage"):
            yield _event({**head, "choices": [], "usage": whole["usage"]})
        yield b"data: [DONE]\n\n"


class AnthropicMessages(_Messages):
    """Anthropic's Messages, whose system prompt stands beside the messages."""

    path = "v1/messages"

    def said(self, body: Body) -> list[Said]:
        system = [Said(role="system", text=words_of(body["system"]), at=_OUTSIDE)] if body.get("system") else []
        return [*system, *super().said(body)]

    def system(self, body: Body) -> Mapping[int, Any]:
        return {_OUTSIDE: body["system"]} if body.get("system") else {}

    def rewritten(self, body: Body, system: Mapping[int, Any]) -> dict[str, Any]:
        return {**body, "system": system[_OUTSIDE]} if _OUTSIDE in system else dict(body)

    def placed(self, body: Body, opening: str, blocks: Mapping[int, str]) -> dict[str, Any]:
        messages = body["messages"]
        contents = {at: before(messages[at].get("content"), block) for at, block in blocks.items()}
        placed = {**body, "messages": _changed(messages, contents)}
        return {**placed, "system": behind(body.get("system"), opening)} if opening else placed

    def hear(self, heard: Heard, event: Body) -> None:
        match event.get("type"):
            case "message":
                heard.text += words_of(event.get("content"))
                heard.ended(event.get("stop_reason"))
            case "content_block_delta" if (delta := event.get("delta") or {}).get("type") == "text_delta":
                heard.text += words_of(delta.get("text"))
            case "content_block_start" if heard.text and (event.get("content_block") or {}).get("type") == "text":
                heard.text += "\n"
            case "message_delta":
                heard.ended((event.get("delta") or {}).get("stop_reason"))

    def answer(self, body: Body, text: str) -> dict[str, Any]:
        return {
            "id": _identity("msg_"),
            "type": "message",
            "role": "assistant",
            "model": str(body.get("model", "")),
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }

    def answered(self, body: Body, text: str) -> Iterator[bytes]:
        whole = {**self.answer(body, text), "content": [], "stop_reason": None}
        end = {"stop_reason": "end_turn", "stop_sequence": None}
        for event in (
            {"type": "message_start", "message": whole},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": end, "usage": {"output_tokens": 0}},
            {"type": "message_stop"},
        ):
            yield _event(event, str(event["type"]))


_CLIENT_CALLS: Final = ("function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call")
"""The items of a reply that wait for the client's result."""


class Responses:
    """OpenAI's Responses. A request may go on from a stored reply without sending what came before."""

    path = "v1/responses"

    def streams(self, body: Body) -> bool:
        return body.get("stream") is True

    def previous(self, body: Body) -> str:
        previous = body.get("previous_response_id")
        return previous if isinstance(previous, str) else ""

    def said(self, body: Body) -> list[Said]:
        given, instructions = body.get("input"), body.get("instructions")
        system = [Said(role="system", text=words_of(instructions), at=_OUTSIDE)] if instructions else []
        if isinstance(given, str):
            return [*system, Said(role="user", text=given, at=0)]
        return [*system, *_of_messages(given)]

    def system(self, body: Body) -> Mapping[int, Any]:
        given = {_OUTSIDE: body["instructions"]} if body.get("instructions") else {}
        items = body.get("input")
        listed = items if isinstance(items, list) else []
        return {
            **given,
            **{each.at: listed[each.at].get("content") for each in _of_messages(listed) if each.role == "system"},
        }

    def rewritten(self, body: Body, system: Mapping[int, Any]) -> dict[str, Any]:
        inside = {at: content for at, content in system.items() if at != _OUTSIDE}
        changed = {**body, "input": _changed(body["input"], inside)} if inside else dict(body)
        return {**changed, "instructions": system[_OUTSIDE]} if _OUTSIDE in system else changed

    def placed(self, body: Body, opening: str, blocks: Mapping[int, str]) -> dict[str, Any]:
        given = body["input"]
        if isinstance(given, str):
            given = before(given, blocks[0]) if 0 in blocks else given
        else:
            given = _changed(given, {at: before(given[at].get("content"), block) for at, block in blocks.items()})
        place = None if body.get("instructions") else _leading(_of_messages(given))
        if not opening:
            return {**body, "input": given}
        if place is None:
            return {**body, "input": given, "instructions": behind(body.get("instructions"), opening)}
        content = behind(given[place].get("content"), opening, "input_text")
        return {**body, "input": _changed(given, {place: content})}

    def hear(self, heard: Heard, event: Body) -> None:
        response = event if event.get("object") == "response" else event.get("response")
        if event.get("type") == "response.output_text.delta":
            heard.text += words_of(event.get("delta"))
        elif isinstance(response, Mapping) and response.get("status") in ("completed", "incomplete"):
            output = [item for item in response.get("output") or [] if isinstance(item, Mapping)]
            heard.identity = str(response.get("id", ""))
            heard.text = "\n".join(words_of(item.get("content")) for item in output if item.get("type") == "message")
            heard.calls = any(item.get("type") in _CLIENT_CALLS for item in output)
            heard.over = not heard.calls

    def answer(self, body: Body, text: str) -> dict[str, Any]:
        part = {"type": "output_text", "text": text, "annotations": []}
        message = {"id": _identity("msg_"), "type": "message", "role": "assistant", "status": "completed"}
        return {
            "id": _identity("resp_"),
            "object": "response",
            "created_at": int(time.time()),
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "model": str(body.get("model", "")),
            "output": [{**message, "content": [part]}],
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
        }

    def answered(self, body: Body, text: str) -> Iterator[bytes]:
        whole = self.answer(body, text)
        (item,) = whole["output"]
        (part,) = item["content"]
        at = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        begun, empty = {**whole, "status": "in_progress", "output": []}, {**part, "text": ""}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": begun},
            {
                "type": "response.output_item.added",
                "output_index": 0,
                "item": {**item, "status": "in_progress", "content": []},
            },
            {"type": "response.content_part.added", **at, "part": empty},
            {"type": "response.output_text.delta", **at, "delta": text, "logprobs": []},
            {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
            {"type": "response.content_part.done", **at, "part": part},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": whole},
        ]
        for number, event in enumerate(events):
            yield _event({**event, "sequence_number": number}, event["type"])


class OllamaChat(_Messages):
    """Ollama's own chat, whose stream is a line of JSON for each piece."""

    path = "api/chat"

    def streams(self, body: Body) -> bool:
        return body.get("stream") is not False

    def hear(self, heard: Heard, event: Body) -> None:
        message = event.get("message") or {}
        heard.text += words_of(message.get("content"))
        heard.calls = heard.calls or bool(message.get("tool_calls"))
        heard.over = event.get("done") is True and not heard.calls

    def answer(self, body: Body, text: str) -> dict[str, Any]:
        return {
            "model": str(body.get("model", "")),
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "message": {"role": "assistant", "content": text},
            "done": True,
            "done_reason": "stop",
        }

    def answered(self, body: Body, text: str) -> Iterator[bytes]:
        yield json.dumps(self.answer(body, text)).encode() + b"\n"


FORMS: Final[tuple[Form, ...]] = (ChatCompletions(), Responses(), AnthropicMessages(), OllamaChat())


class Reading:
    """Reads a reply beside its bytes: a stream of server-sent events or of JSON lines, or one JSON object."""

    def __init__(self, form: Form, *, streams: bool) -> None:
        self.heard = Heard()
        self._form = form
        self._streams = streams
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._rest += data
        if self._streams:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                self._take(line.removeprefix(b"data:"))

    def end(self) -> None:
        """Take what is left: the whole reply where it was no stream."""
        self._take(self._rest)
        self._rest = b""

    def _take(self, text: bytes) -> None:
        text = text.strip()
        if not text.startswith(b"{"):
            return
        try:
            event = json.loads(text)
            self._form.hear(self.heard, event)
        except (
            ValueError,
            RecursionError,
            AttributeError,
            TypeError,
        ):  # what an upstream says in another form is its own
            return
