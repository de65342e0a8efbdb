"""Settings of the extractor: the keys of `autoExtract` in config.json5, in snake case."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, MinLen

__all__ = ["ExtractorSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorSettings:
    """What is read after each reply, when, and what earns a line in MEMORY.md."""

    enabled: bool = True
    model: Annotated[str, MinLen(1)] = "gpt-4o-mini"
    base_url: str = ""
    api_key_env: str = ""
    timeout_seconds: Annotated[float, Gt(0)] = 60
    min_conversation_length: Annotated[int, Ge(0)] = 50
    max_daily_extractions: Annotated[int, Ge(0)] = 100
    max_daily_tokens: Annotated[int, Ge(0)] = 400000
    input_price: Annotated[float, Ge(0)] = 0.15
    output_price: Annotated[float, Ge(0)] = 0.6
    debounce_seconds: Annotated[float, Ge(0)] = 30
    max_wait_seconds: Annotated[float, Ge(0)] = 300
    exclude_session_types: tuple[str, ...] = ("group",)
    memory_md_threshold: Literal["high", "normal"] = "high"
