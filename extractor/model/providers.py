"""The two model APIs, by the official SDKs, which are imported on first use.

The SDKs' own retries are off, because `Model` retries. Their errors are translated here.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Literal, Protocol, TypeAlias

from extractor.settings import ExtractorSettings, provider_of
from extractor.types import ModelError, Usage
from gateway_memory.ground.network import api_key, open_client, retry_after

from .prompt import estimate_tokens

_MOST_BYTES: Final = 1_048_576
"""Many times an answer of `MAX_OUTPUT_TOKENS`, with what a server tells of how it came to it."""
Message: TypeAlias = tuple[Literal["user", "assistant"], str]
Format: TypeAlias = Literal["schema", "json", "text"]

MAX_OUTPUT_TOKENS: Final = 2_000
_NO_KEY: Final = "none"
"""A local server needs no key, but the SDKs require one."""
_RETRYABLE: Final = frozenset({408, 409, 429})
_REDIRECTS: Final = range(300, 400)
_SERVER_ERROR: Final = 500
_BAD_REQUEST: Final = frozenset({400, 422})
_FORMAT_WORDS: Final = ("response format", "json schema", "output config", "output format", "grammar")
"""What an error names that is about the format of an answer; some servers send it with a status of 500."""
_TOO_LONG: Final = re.compile(r"context (?:size|length|window)|too long|too many tokens")
"""What servers (llama.cpp, LM Studio, vLLM, OpenAI, Anthropic) say of a request that exceeds the model's context."""
_UNCOUNTED: Final = frozenset({"maxItems"})
"""The words of a schema that Anthropic's API refuses."""
_RATE_LIMIT: Final = 429
_TIMES_ESTIMATED: Final = 8
"""The factor by which a plausible token count may differ from our estimate. Beyond it, the count is not believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A model's answer. truncated: it was cut at the output limit."""

    text: str
    truncated: bool
    usage: Usage


class Provider(Protocol):
    """A model's API. `ask` makes one request, and raises nothing but ModelError."""

    formats: tuple[Format, ...]

    async def ask(
        self, system: str, messages: Sequence[Message], schema: Mapping[str, object], form: Format
    ) -> Answer: ...

    async def close(self) -> None: ...


def has_model(settings: ExtractorSettings) -> bool:
    """Return whether a model can be asked: it is named, and has a key or a server of one's own."""
    return settings.model != "rules" and bool(settings.base_url or access_of(settings)[2] != _NO_KEY)


def open_provider(settings: ExtractorSettings) -> Provider:
    """Return the provider of `settings.model`. It imports the SDK, which blocks for a second or so."""
    name, model, key = access_of(settings)
    return (_Anthropic if name == "anthropic" else _OpenAI)(model, key, settings)


def access_of(settings: ExtractorSettings) -> tuple[str, str, str]:
    """Return the protocol of `settings.model` ("openai" or "anthropic"), the model's name there, and the key.

    One's own server speaks OpenAI's, unless the name tells another. Where no key is known, it is "none".
    """
    name, model = provider_of(settings.model) or ("openai", settings.model)
    key = api_key(name, settings.base_url, settings.api_key_env)
    return name, model, key or _NO_KEY


class _OverSdk(ABC):
    """A provider over an official SDK: both SDKs have the same names for a client and its errors."""

    def __init__(self, name: str, model: str, key: str, settings: ExtractorSettings) -> None:
        self._sdk: Any = import_module(name.lower())
        self._error: type[Exception] = getattr(self._sdk, f"{name}Error")
        self._model = model
        self._client = open_client(
            self._sdk, f"Async{name}", settings, key, _MOST_BYTES, lambda: ModelError("too_large")
        )

    async def ask(self, system: str, messages: Sequence[Message], schema: Mapping[str, object], form: Format) -> Answer:
        said = [{"role": role, "content": text} for role, text in messages]
        try:
            return await self._ask(system, said, schema, form)
        except self._error as error:
            raise _translated(error, self._sdk, form) from None
        except ModelError:  # of our own client: some versions of the SDKs let it pass, others wrap it
            raise
        except Exception:  # noqa: BLE001 - see _text_of: an answer may be anything
            raise ModelError("unreadable", retryable=True) from None

    @abstractmethod
    async def _ask(self, system: str, said: list[Any], schema: Mapping[str, object], form: Format) -> Answer: ...

    async def close(self) -> None:
        await self._client.close()


class _OpenAI(_OverSdk):
    formats: tuple[Format, ...] = ("schema", "json", "text")

    def __init__(self, model: str, key: str, settings: ExtractorSettings) -> None:
        super().__init__("OpenAI", model, key, settings)
        # Other servers know only the older name. Small models follow a prompt best at a temperature of 0, which some
        # of OpenAI's own models refuse. Of a server of one's own, Ollama asks a model so not to think aloud.
        self._limit = "max_tokens" if settings.base_url else "max_completion_tokens"
        self._asked: dict[str, Any] = {"temperature": 0} if settings.base_url else {}
        if settings.base_url and not settings.api_key_env:
            self._asked["reasoning_effort"] = "none"

    async def _ask(self, system: str, said: list[Any], schema: Mapping[str, object], form: Format) -> Answer:
        messages = [{"role": "system", "content": system}, *said]
        request: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            self._limit: MAX_OUTPUT_TOKENS,
            **self._asked,
        }
        if form == "schema":
            form_of = {"name": "memory", "strict": True, "schema": schema}
            request["response_format"] = {"type": "json_schema", "json_schema": form_of}
        elif form == "json":
            request["response_format"] = {"type": "json_object"}
        try:
            response = await self._client.chat.completions.create(**request)
        except self._error as error:
            body = str(getattr(error, "body", ""))
            refused = [name for name in self._asked if name in body]
            if not refused:
                raise
            self._asked = {name: value for name, value in self._asked.items() if name not in refused}
            return await self._ask(system, said, schema, form)
        choice = response.choices[0]
        # Where a server keeps a model's thoughts apart, some put the whole answer there.
        texts = (_field(choice.message, name) for name in ("content", "reasoning_content", "reasoning"))
        text = next(filter(None, map(_text_of, texts)), "")
        usage = _usage(response, ("prompt_tokens", "completion_tokens"), str(request), text)
        return Answer(text=text, truncated=choice.finish_reason == "length", usage=usage)


class _Anthropic(_OverSdk):
    formats: tuple[Format, ...] = ("schema", "text")  # it has no mode between the two

    def __init__(self, model: str, key: str, settings: ExtractorSettings) -> None:
        super().__init__("Anthropic", model, key, settings)

    async def _ask(self, system: str, said: list[Any], schema: Mapping[str, object], form: Format) -> Answer:
        request: dict[str, Any] = {
            "model": self._model,
            "system": system,
            "messages": said,
            "max_tokens": MAX_OUTPUT_TOKENS,
        }
        if form == "schema":
            request["output_config"] = {"format": {"type": "json_schema", "schema": _uncounted(schema)}}
        response = await self._client.messages.create(**request)
        text = _text_of(response.content)
        usage = _usage(response, ("input_tokens", "output_tokens"), str(request), text)
        return Answer(text=text, truncated=response.stop_reason == "max_tokens", usage=usage)


def _uncounted(schema: object) -> object:
    """Return a schema without the words that Anthropic's API refuses."""
    if isinstance(schema, Mapping):
        return {word: _uncounted(meaning) for word, meaning in schema.items() if word not in _UNCOUNTED}
    return schema


def _text_of(content: object) -> str:
    """Return the text of an answer's content: a string, or the text parts of a list; "" for anything else."""
    if isinstance(content, str):
        return content.encode("utf-8", "replace").decode()
    parts: list[object] = content if isinstance(content, list) else []
    texts = [_field(part, "text") for part in parts if _field(part, "type") == "text"]
    return "".join(_text_of(text) for text in texts if isinstance(text, str))


def _field(part: object, name: str) -> object:
    return part.get(name) if isinstance(part, dict) else getattr(part, name, None)


def _number(usage: object, name: str) -> int:
    """Return a token count; 0 where the server sends none, or an invalid one."""
    value = _field(usage, name)
    if isinstance(value, float) and math.isfinite(value):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _usage(response: object, names: tuple[str, str], request: str, answer: str) -> Usage:
    """Return the usage of one call. Implausible counts are replaced by estimates, to keep budgets correct.

    names: of the counts of tokens that were read and written.
    """
    counts = []
    for name, text, at_most in zip(names, (request, answer), (0, MAX_OUTPUT_TOKENS), strict=True):
        tokens, estimated = _number(_field(response, "usage"), name), estimate_tokens(text)
        most = max(estimated, at_most) * _TIMES_ESTIMATED
        counts.append(tokens if 0 < tokens <= most and tokens >= estimated // _TIMES_ESTIMATED else estimated)
    return Usage(calls=1, input_tokens=counts[0], output_tokens=counts[1])


def _translated(error: Any, sdk: Any, form: Format) -> ModelError:
    """Translate an SDK's error; both SDKs use the same names."""
    if isinstance(error.__cause__, ModelError):
        return error.__cause__
    if isinstance(error, sdk.APITimeoutError):  # a model that is too slow is as slow when it is asked again
        return ModelError("timeout")
    if isinstance(error, sdk.APIConnectionError):
        return ModelError("connection", retryable=True)
    return _of_status(error, form) if isinstance(error, sdk.APIStatusError) else ModelError("unreadable")


def _of_status(error: Any, form: Format) -> ModelError:  # noqa: PLR0911 - one return a kind
    status: int = error.status_code
    if status in _REDIRECTS:
        return ModelError("redirects")
    body = str(getattr(error, "body", "") or "").lower()
    words = body.replace("_", " ")
    if status in _BAD_REQUEST or status >= _SERVER_ERROR:
        if _TOO_LONG.search(words):
            return ModelError("too_long")
        of_formats = ("schema", "format", "json") if status in _BAD_REQUEST else _FORMAT_WORDS
        if form != "text" and any(word in words for word in of_formats):
            return ModelError("refused", format_refused=True)
    if status in _BAD_REQUEST:
        return ModelError("refused")
    if status == _RATE_LIMIT and "insufficient_quota" in body:  # waiting does not refill an exhausted quota
        return ModelError("refused")
    if status in _RETRYABLE or status >= _SERVER_ERROR or "overloaded" in body:
        kind = "rate_limit" if status == _RATE_LIMIT else "overloaded"
        return ModelError(kind, retryable=True, retry_after_seconds=retry_after(error.response.headers))
    return ModelError("refused")
