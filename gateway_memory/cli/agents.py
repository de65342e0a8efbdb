"""The agents of `gateway-memory chat`: models of OpenAI, of Anthropic, or of a server that speaks their protocol."""

import os
from collections.abc import Sequence
from typing import Any, Final, Protocol

from extractor import ExtractorSettings, access_of, has_model

__all__ = ["Agent", "Message", "choose_agent"]

Message = tuple[str, str]
"""(role, text); the role is "user" or "assistant"."""

_MODELS: Final = {"openai": "gpt-4o-mini", "anthropic": "claude-haiku-4-5"}
"""The model of each provider, where only its key is set."""
_MAX_TOKENS: Final = 1024
_TIMEOUT_SECONDS: Final = 60.0


class Agent(Protocol):
    """Answers messages."""

    name: str

    async def reply(self, system: str, history: Sequence[Message]) -> str:
        """Answer the last message of the history."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class _OpenAI:
    def __init__(self, model: str, key: str | None = None, base_url: str | None = None) -> None:
        from openai import AsyncOpenAI

        self.name = f"openai/{model}"
        self._model = model
        self._client = AsyncOpenAI(api_key=key, base_url=base_url, timeout=_TIMEOUT_SECONDS)

    async def reply(self, system: str, history: Sequence[Message]) -> str:
        messages: list[Any] = [{"role": "system", "content": system}] if system else []
        messages += [{"role": role, "content": text} for role, text in history]
        answer = await self._client.chat.completions.create(model=self._model, messages=messages)
        return answer.choices[0].message.content or ""

    async def close(self) -> None:
        await self._client.close()


class _Anthropic:
    def __init__(self, model: str, key: str | None = None, base_url: str | None = None) -> None:
        from anthropic import AsyncAnthropic

        self.name = f"anthropic/{model}"
        self._model = model
        self._client = AsyncAnthropic(api_key=key, base_url=base_url, timeout=_TIMEOUT_SECONDS)

    async def reply(self, system: str, history: Sequence[Message]) -> str:
        messages: list[Any] = [{"role": role, "content": text} for role, text in history]
        answer = await self._client.messages.create(
            model=self._model, max_tokens=_MAX_TOKENS, system=system, messages=messages
        )
        return "".join(block.text for block in answer.content if block.type == "text")

    async def close(self) -> None:
        await self._client.close()


_AGENTS: Final[dict[str, type[_OpenAI | _Anthropic]]] = {"openai": _OpenAI, "anthropic": _Anthropic}


def choose_agent(model: str | None, settings: ExtractorSettings) -> Agent | None:
    """Return the agent for `openai/<model>` or `anthropic/<model>`.

    Without a name it is the model that extracts, else one of the provider whose key is set; None without any.

    settings: `autoExtract`, which names the model that extracts.

    Raises:
        ValueError: the name has another form.
    """
    provider, _, name = (model or "").partition("/")
    if model and (provider not in _AGENTS or not name):
        raise ValueError(f"--model {model}: expected openai/<model> or anthropic/<model>")
    if model:
        return _AGENTS[provider](name)
    if has_model(settings):
        provider, name, key = access_of(settings)
        return _AGENTS[provider](name, key, settings.base_url or None)
    provider = next((each for each in _AGENTS if os.environ.get(f"{each.upper()}_API_KEY")), "")
    return _AGENTS[provider](_MODELS[provider]) if provider else None
