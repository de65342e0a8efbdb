"""Settings of recall: the keys of `autoRecall` in config.json5, in snake case."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, MinLen

__all__ = ["EmbedderSettings", "RecallSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSettings:
    """Where a sentence's vector comes from: the bundled encoder, a server of OpenAI's protocol, or none (words alone).

    The other keys are the server's. `dimensions` 0: the model's own.
    """

    provider: Literal["bundled", "openai", "none"] = "bundled"
    base_url: str = ""
    model: Annotated[str, MinLen(1)] = "text-embedding-3-small"
    api_key_env: str = ""
    dimensions: Annotated[int, Ge(0)] = 0
    timeout_seconds: Annotated[float, Gt(0)] = 10
    batch_size: Annotated[int, Gt(0), Le(2048)] = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """What is searched before each reply, and how much of it is injected."""

    enabled: bool = True
    timeout_ms: Annotated[int, Gt(0)] = 2000
    min_score: Annotated[float, Ge(0), Le(1)] = 0.5
    max_results: Annotated[int, Gt(0)] = 3
    max_injected_tokens: Annotated[int, Gt(0)] = 500
    embedder: EmbedderSettings = field(default_factory=EmbedderSettings)
