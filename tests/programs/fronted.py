"""The proxy in front of a scripted model, as a client and a person use it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from patience import seconds
from served import Served
from upstream import Upstream

from gateway_memory.scope import resolve_scope
from gateway_memory.serving.tokens import ClientTokens

__all__ = ["Front", "assistant", "user"]


@dataclass(slots=True)
class Front:
    """The proxy and what stands behind it."""

    served: Served
    model: Upstream
    workspace: Path

    def token(self, name: str) -> str:
        """Return a token of a person."""
        _, token = ClientTokens(self.workspace).add(resolve_scope(user=name), "a test's")
        return token

    def base(self, token: str) -> str:
        return f"{self.served.url}/p/{token}/v1"

    def post(self, base: str, body: dict[str, Any], path: str = "chat/completions", **headers: str) -> httpx2.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"authorization": "Bearer sk-of-the-client", **named}
        return httpx2.post(f"{base}/{path}", json=body, headers=given, timeout=seconds(30))

    def say(self, base: str, *messages: dict[str, Any], **headers: str) -> httpx2.Response:
        """Send messages to the model, and return its reply."""
        response = self.post(base, {"model": "scripted", "messages": list(messages)}, **headers)
        assert response.status_code == 200, response.text
        return response

    def flush(self) -> None:
        self.served.answer("flush", {})

    def memories(self, name: str) -> str:
        """Return what is remembered of a person, as text."""
        speaker = {"key": "agent:main:x", "channel": "test", "chat_type": "direct", "person": name}
        return str(self.served.answer("list_memories", {"speaker": speaker})["rows"])

    def turns(self, name: str) -> list[dict[str, Any]]:
        """Return what was said by and to a person, newest first."""
        self.flush()
        speaker = {"key": "agent:main:x", "channel": "test", "chat_type": "direct", "person": name}
        rows: list[dict[str, Any]] = self.served.answer("list_episodes", {"speaker": speaker})["rows"]
        return rows


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}
