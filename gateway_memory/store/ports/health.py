"""The port for the health of a workspace: which processes have it open, how they are, and what failed lately."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from gateway_memory.observability.metrics import Failure
from notifier import NotifierStatus

__all__ = ["Health", "ProcessState"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessState:
    """How a process is that has the workspace open. It holds no text of a message or a memory.

    pid: its id on its machine. since: when it opened the memory, in epoch seconds.
    model: the name of the model that reads its batches, "extract" for the host's own, None without one.
    problem: the kind of the last failure of its encoder, "" while it works.
    model_rests: whether it does not ask the model for a while, after repeated failures.
    alarm: why its capture is not alive: see `Metrics.capture_alarm`.
    replaced: how often it found the index damaged and made it again.
    updates, told: how many updates wait in it, and for how many sessions. mqtt: its connection, None without one.
    """

    pid: int
    since: float
    model: str | None = None
    problem: str = ""
    model_rests: bool = False
    alarm: str | None = None
    replaced: int = 0
    updates: int = 0
    told: int = 0
    mqtt: NotifierStatus | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the state as values for JSON."""
        mqtt = self.mqtt and {**_values(self.mqtt), "dropped": dict(self.mqtt.dropped)}
        return {**_values(self), "mqtt": mqtt}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "ProcessState":
        """Return the state from the result of `to_json`. What another version wrote besides is left out.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: it is none.
        """
        known = _known(cls, raw)
        mqtt = known.pop("mqtt", None)
        return cls(**known, mqtt=None if mqtt is None else NotifierStatus(**_known(NotifierStatus, mqtt)))


class Health(Protocol):
    """Every call may raise StoreError, and has then changed nothing."""

    @property
    def slot(self) -> int:
        """The number of this process among those that have the workspace open."""

    async def note(self, state: ProcessState | None, failures: Sequence[Failure] = (), *, since: float = 0.0) -> None:
        """Store how this process is (None: nothing new), and add failures to those of their kind.

        since: epoch seconds; older failures are deleted. The newest 50 kinds are kept.
        """

    async def leave(self) -> None:
        """Record that this process closes the workspace."""

    async def processes(self) -> dict[int, ProcessState]:
        """Return how the living processes were when they noted it last, by their slots."""

    async def failures(self, *, since: float) -> list[Failure]:
        """Return what failed since a time (epoch seconds) in any process, dead ones too, newest first."""


def _values(state: ProcessState | NotifierStatus) -> dict[str, Any]:
    return {each.name: getattr(state, each.name) for each in fields(state)}


def _known(kind: type, raw: Mapping[str, Any]) -> dict[str, Any]:
    return {each.name: raw[each.name] for each in fields(kind) if each.name in raw}
