"""Settings of the extractor: the keys of `autoExtract` in config.json5, in snake case."""

import re
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, MinLen, Predicate

from gateway_memory.ground.network import is_base_url

_A_DAY_SECONDS = 86_400
_A_YEAR_SECONDS = 31_536_000
_MOST = 1_000_000_000
_MOST_TOKENS = 1_000_000_000_000
_MOST_DOLLARS = 1_000_000
_OPENAI = re.compile(r"(?:(?:gpt|chatgpt|codex|o\d|davinci|babbage)(?![a-z])[\w.:-]*|ft:[\w.:-]+)", re.IGNORECASE)
_SHOWN = 40
_ANTHROPIC = re.compile(r"claude(?![a-z])[\w.:@-]*", re.IGNORECASE)


def provider_of(model: str) -> tuple[str, str] | None:
    """Return a model's provider ("openai" or "anthropic") and its name there; None where the provider is unknown."""
    for name, own in (("openai", _OPENAI), ("anthropic", _ANTHROPIC)):
        if model.startswith(f"{name}/"):
            return name, model.removeprefix(f"{name}/")
        if own.fullmatch(model):
            return name, model
    return None


def check_model(model: str, base_url: str) -> None:
    """Refuse a model whose provider is unknown.

    Raises:
        ValueError: the model has no name, or its name tells no provider and no URL is given.
    """
    provider = provider_of(model)
    if provider is not None and not provider[1].strip():
        raise ValueError(f'model: expected the name of a model behind "{model}"')
    if model != "rules" and provider is None and not base_url:
        raise ValueError(
            f'model: "{model[:_SHOWN]}" does not say whose model it is; expected "openai/…", "anthropic/…" or "rules",'
            " or a baseUrl beside it: the server that has it"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorSettings:
    """What is extracted after each reply, when, and which memories go to MEMORY.md."""

    enabled: bool = True
    model: Annotated[str, MinLen(1)] = "gpt-4o-mini"
    base_url: Annotated[str, Predicate(is_base_url)] = field(
        default="",
        metadata={"expected": '"", or an address such as "http://127.0.0.1:11434/v1"'},
    )
    api_key_env: str = ""
    timeout_seconds: Annotated[float, Gt(0), Le(_A_DAY_SECONDS)] = 60
    prompt: Literal["auto", "small", "full"] = "auto"
    context_tokens: Annotated[int, Ge(0), Le(_MOST)] = 0
    min_conversation_length: Annotated[int, Ge(0), Le(_MOST)] = 50
    max_daily_extractions: Annotated[int, Ge(0), Le(_MOST)] = 100
    max_daily_tokens: Annotated[int, Ge(0), Le(_MOST_TOKENS)] = 400000
    input_price: Annotated[float, Ge(0), Le(_MOST_DOLLARS)] = 0.15
    output_price: Annotated[float, Ge(0), Le(_MOST_DOLLARS)] = 0.6
    debounce_seconds: Annotated[float, Ge(0), Le(_A_YEAR_SECONDS)] = 30
    max_wait_seconds: Annotated[float, Ge(0), Le(_A_YEAR_SECONDS)] = 300
    exclude_session_types: tuple[str, ...] = ("group",)
    memory_md_threshold: Literal["high", "normal"] = "high"

    @property
    def is_small(self) -> bool:
        """Whether the model is a small one, which words wrongly what it finds, and takes back what is true."""
        own = bool(self.base_url) and not self.api_key_env  # a server without a key is one's own
        return self.prompt == "small" or (self.prompt == "auto" and own)

    def __post_init__(self) -> None:
        check_model(self.model, self.base_url)
