"""What the tests of a host need: a memory without files, a clock turned by hand, a scripted model, recorded events.

    async with memory_for_tests(clock=Clock("2026-03-02T09:00+01:00")) as memory: ...

Our own tests use the same parts.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extractor import Candidate, Turn
from gateway_memory.config.load import load_config
from gateway_memory.ground.times import local_now
from gateway_memory.memory import GatewayMemory
from notifier import Event, MemoryChange

if TYPE_CHECKING:
    from recall import Stored

__all__ = ["Clock", "RecordedEvents", "ScriptedModel", "memory_for_tests"]

_WORDS_ALONE = {"autoExtract": {"model": "rules"}, "autoRecall": {"embedder": {"provider": "none"}}}


class Clock:
    """A clock that stands still until a test turns it. `now` may be set.

    now: an aware time, or one in ISO 8601 with its offset from UTC.
    """

    def __init__(self, now: datetime | str = "2026-03-02T09:00:00+00:00") -> None:
        self.now = datetime.fromisoformat(now) if isinstance(now, str) else now

    def __call__(self) -> datetime:
        return self.now

    def turn(self, **by: float) -> None:
        """Turn the clock forward, or back by negative values: `turn(days=1, hours=2)`, as in `timedelta`."""
        self.now += timedelta(**by)


class ScriptedModel:
    """A model for `extract=` that returns what a test has scripted.

    script: a part of a user's message, and the text to keep of it or the whole candidate. calls: the messages of each
    batch that it was given, for assertions.
    """

    def __init__(self, script: Mapping[str, str | Candidate]) -> None:
        self._script = script
        self.calls: list[list[str]] = []

    async def __call__(self, turns: Sequence[Turn], _nearest: "Sequence[Stored]") -> list[Candidate]:
        """Return the candidates of a batch, whatever is known already."""
        self.calls.append([turn.user for turn in turns])
        return [
            _candidate(entry, turn.id) for turn in turns for part, entry in self._script.items() if part in turn.user
        ]


def _candidate(entry: str | Candidate, turn: int) -> Candidate:
    if isinstance(entry, Candidate):
        return entry
    return Candidate(content=entry, category="fact", type="W", importance="normal", confidence=0.9, turn=turn)


class RecordedEvents:
    """A channel for `channels=` that records what a memory announces to other sessions and processes."""

    name = "recorded"
    early = False

    def __init__(self) -> None:
        self.events: list[Event] = []

    def announce(self, event: Event) -> None:
        """Record an event, once it is committed."""
        self.events.append(event)

    @property
    def changes(self) -> list[MemoryChange]:
        """The changes of all events, oldest first."""
        return [change for event in self.events for change in event.changes]


@asynccontextmanager
async def memory_for_tests(
    settings: Mapping[str, Any] | None = None,
    *,
    workspace: str | Path | None = None,
    clock: Callable[[], datetime] = local_now,
    model: ScriptedModel | None = None,
    events: RecordedEvents | None = None,
) -> AsyncIterator[GatewayMemory]:
    """Open a memory that calls no server and loads no encoder: the rules extract, and words alone are searched.

    settings: values of `memorySync` in the config that differ from that, such as `{"review": {"mode": "strict"}}`.
    workspace: a folder for its files; None keeps everything in memory.
    """
    merged: dict[str, Any] = {**_WORDS_ALONE, **(settings or {})}
    config = load_config({"agents": {"defaults": {"memorySync": merged}}})
    channels = [events] if events else []
    async with GatewayMemory(config, workspace, clock=clock, extract=model, channels=channels) as memory:
        yield memory
