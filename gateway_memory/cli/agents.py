"""The agents of `gateway-memory chat`: OpenAI's, Anthropic's, and an offline one that shows its context."""

import os
from collections.abc import Sequence
from typing import Any, Final, Protocol

__all__ = ["Agent", "Message", "OfflineAgent", "choose_agent"]

Message = tuple[str, str]
"""(role, text); the role is "user" or "assistant"."""

_OPENAI_MODEL: Final = "gpt-4o-mini"
_ANTHROPIC_MODEL: Final = "claude-haiku-4-5"
_MAX_TOKENS: Final = 1024
_TIMEOUT_SECONDS: Final = 60.0


class Agent(Protocol):
    """Answers messages."""

    name: str

    async def reply(self, system: str, history: Sequence[Message]) -> str:
        """Answer the last message of the history."""
        ...


class OfflineAgent:
    """Needs no key: it says that it is no model, and shows the context that a model would have got."""

    name = "offline (no key is set, so you see what a model would be told)"

    async def reply(self, system: str, history: Sequence[Message]) -> str:  # noqa: ARG002 - the Protocol's
        """Show the context."""
        context = system.strip() or "(nothing: no memory concerns this message)"
        return f"No model is connected. With your message, one would be given:\n{context}"


class _OpenAI:
    def __init__(self, model: str) -> None:
        from openai import AsyncOpenAI

        self.name = f"openai/{model}"
        self._model = model
        self._client = AsyncOpenAI(timeout=_TIMEOUT_SECONDS)

    async def reply(self, system: str, history: Sequence[Message]) -> str:
        messages: list[Any] = [{"role": "system", "content": system}] if system else []
        messages += [{"role": role, "content": text} for role, text in history]
        answer = await self._client.chat.completions.create(model=self._model, messages=messages)
        return answer.choices[0].message.content or ""


class _Anthropic:
    def __init__(self, model: str) -> None:
        from anthropic import AsyncAnthropic

        self.name = f"anthropic/{model}"
        self._model = model
        self._client = AsyncAnthropic(timeout=_TIMEOUT_SECONDS)

    async def reply(self, system: str, history: Sequence[Message]) -> str:
        messages: list[Any] = [{"role": role, "content": text} for role, text in history]
        answer = await self._client.messages.create(
            model=self._model, max_tokens=_MAX_TOKENS, system=system, messages=messages
        )
        return "".join(block.text for block in answer.content if block.type == "text")


def choose_agent(model: str | None = None) -> Agent:
    """Return the agent for `openai/<model>` or `anthropic/<model>`.

    Without a name it is the one whose key is set, else the offline one.

    Raises:
        ValueError: the name has another form.
    """
    provider, _, name = (model or "").partition("/")
    if model and (provider not in ("openai", "anthropic") or not name):
        raise ValueError(f"--model {model}: expected openai/<model> or anthropic/<model>")
    if provider == "openai" or (not model and os.environ.get("OPENAI_API_KEY")):
        return _OpenAI(name or _OPENAI_MODEL)
    if provider == "anthropic" or (not model and os.environ.get("ANTHROPIC_API_KEY")):
        return _Anthropic(name or _ANTHROPIC_MODEL)
    return OfflineAgent()
