"""Settings of the notifier: the keys of `notify` in config.json5, in snake case."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt

__all__ = ["NotifierSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifierSettings:
    """Whether other sessions hear of a new memory, and how many updates wait for each."""

    enabled: bool = True
    inject_summary: bool = True
    max_pending_updates: Annotated[int, Gt(0)] = 10
