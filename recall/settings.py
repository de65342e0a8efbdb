"""Settings of recall: the keys of `autoRecall` in config.json5, in snake case."""

import json
from dataclasses import dataclass, field
from typing import Annotated

from annotated_types import Ge, Gt, Le, MinLen, Predicate

from gateway_memory.ground.brought import brought
from gateway_memory.ground.network import is_base_url

_A_DAY_SECONDS = 86_400
_MOST = 1_000_000_000
_MOST_NUMBERS = 65_536
"""Of one vector; the largest models have a few thousand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of encoders. load: "module:function", which makes one of the settings and a breaker; "" for none.

    is_server: whether texts are sent to a server, so that a query gets a connection beside that of batches.
    """

    load: str = ""
    is_server: bool = False


_PROVIDERS = {
    "bundled": Provider(load="recall.encoding.encoder:bundled_encoder"),
    "openai": Provider(load="recall.encoding.server:ServerEncoder", is_server=True),
    "none": Provider(),
}
"""The providers that need no further package, by their names in the settings."""
_NAMES = ", ".join(map(json.dumps, _PROVIDERS))


def provider_of(name: str) -> Provider:
    """Return the provider of a name in the settings."""
    return _PROVIDERS.get(name, Provider(load="recall.encoding.encoder:installed_encoder"))


def _is_provider(name: str) -> bool:
    return name in _PROVIDERS or name in brought("encoder")


def _is_reranker(name: str) -> bool:
    return not name or name in brought("reranker")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSettings:
    """Where a sentence's vector comes from: the bundled encoder, a server, another package's, or none (words alone).

    The other keys are those of a server that speaks OpenAI's protocol; an encoder of another package gets them too.
    `dimensions` 0: the model's own.
    """

    provider: Annotated[str, Predicate(_is_provider)] = field(
        default="bundled",
        metadata={"expected": f"{_NAMES} or the name of an encoder that an installed package brings"},
    )
    base_url: Annotated[str, Predicate(is_base_url)] = field(
        default="",
        metadata={"expected": '"", or an address such as "http://127.0.0.1:11434/v1"'},
    )
    model: Annotated[str, MinLen(1)] = "text-embedding-3-small"
    api_key_env: str = ""
    dimensions: Annotated[int, Ge(0), Le(_MOST_NUMBERS)] = 0
    timeout_seconds: Annotated[float, Gt(0), Le(_A_DAY_SECONDS)] = 10
    batch_size: Annotated[int, Gt(0), Le(2048)] = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotationSettings:
    """How much of what was said earlier is quoted before a reply. max_results 0: nothing."""

    min_score: Annotated[float, Ge(0), Le(1)] = 0.5
    max_results: Annotated[int, Ge(0), Le(_MOST)] = 6
    max_injected_tokens: Annotated[int, Gt(0), Le(_MOST)] = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """What is searched before each reply, and how much of it is injected."""

    enabled: bool = True
    timeout_ms: Annotated[int, Gt(0), Le(1000 * _A_DAY_SECONDS)] = 2000
    min_score: Annotated[float, Ge(0), Le(1)] = 0.5
    max_results: Annotated[int, Gt(0), Le(_MOST)] = 3
    max_injected_tokens: Annotated[int, Gt(0), Le(_MOST)] = 500
    reranker: Annotated[str, Predicate(_is_reranker)] = field(
        default="", metadata={"expected": '"", or the name of a reranker that an installed package brings'}
    )
    episodes: QuotationSettings = field(default_factory=QuotationSettings)
    embedder: EmbedderSettings = field(default_factory=EmbedderSettings)
