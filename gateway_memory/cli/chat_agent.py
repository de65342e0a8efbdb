"""The agents of `gateway-memory chat`: models of OpenAI, of Anthropic, or of a server that speaks their protocol."""

import os
from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Any, Final

from extractor import ExtractorSettings, access_of, has_model

ChatLine = tuple[str, str]
"""(role, text); the role is "user" or "assistant"."""
_MODELS: Final = {"openai": "gpt-4o-mini", "anthropic": "claude-haiku-4-5"}
"""The model of each provider, where only its key is set."""
_MAX_TOKENS: Final = 1024
_TIMEOUT_SECONDS: Final = 60.0


class Agent:
    """Answers messages by a model. provider: "openai" or "anthropic", or whose protocol a server speaks."""

    def __init__(self, provider: str, model: str, key: str | None = None, base_url: str | None = None) -> None:
        client = {"openai": "openai:AsyncOpenAI", "anthropic": "anthropic:AsyncAnthropic"}[provider]
        self.name = f"{provider}/{model}"
        self._model = model
        self._client: Any = resolve_name(client)(api_key=key, base_url=base_url, timeout=_TIMEOUT_SECONDS)

    async def reply(self, system: str, history: Sequence[ChatLine]) -> str:
        """Answer the last message of the history."""
        messages = [{"role": role, "content": text} for role, text in history]
        if self.name.startswith("openai/"):
            messages = [{"role": "system", "content": system}, *messages] if system else messages
            response = await self._client.chat.completions.create(model=self._model, messages=messages)
            return response.choices[0].message.content or ""
        response = await self._client.messages.create(
            model=self._model, max_tokens=_MAX_TOKENS, system=system, messages=messages
        )
        return "".join(block.text for block in response.content if block.type == "text")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def choose_agent(model: str | None, settings: ExtractorSettings) -> Agent | None:
    """Return the agent for `openai/<model>` or `anthropic/<model>`.

    Without a name it is the model that extracts, else one of the provider whose key is set; None without any.

    settings: `autoExtract`, which names the model that extracts.

    Raises:
        ValueError: the name has another form.
    """
    provider, _, name = (model or "").partition("/")
    if model and (provider not in _MODELS or not name):
        raise ValueError(f"--model {model}: expected openai/<model> or anthropic/<model>")
    if model:
        return Agent(provider, name)
    if has_model(settings):
        return Agent(*access_of(settings), settings.base_url or None)
    provider = next((each for each in _MODELS if os.environ.get(f"{each.upper()}_API_KEY")), "")
    return Agent(provider, _MODELS[provider]) if provider else None
