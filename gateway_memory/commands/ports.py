"""What the commands need of an open memory: narrow protocols, and the bundle that every command function gets."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Protocol

from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.config.settings import MemorySync
from gateway_memory.context.finder import Found
from gateway_memory.session import Session
from gateway_memory.sync.health import HealthKeeper
from gateway_memory.sync.storage import Storage

__all__ = ["CommandPorts", "Commanded", "Linking"]


class Commanded(Protocol):
    """The open memory."""

    zone: tzinfo | None
    settings: MemorySync

    def now(self) -> datetime:
        """Return the current time, aware."""

    async def search(
        self,
        session: Session,
        query: str,
        *,
        limit: int = 5,
        kinds: Collection[str] | None = None,
        explain: bool = False,
    ) -> Found:
        """Return the hits of a search, best first; it takes the filters of `as_filter` too."""

    async def get(self, session: Session, id: str, *, around: int = 2) -> Found:  # noqa: A002 - as in a hit
        """Return a hit again, with what was said around it."""

    async def session_counts(self) -> dict[str, int]:
        """Return how many sessions are open, ended, saved, unsaved or failed."""


class Linking(Protocol):
    """The links between the identities of one person."""

    def refused(self, session: Session) -> str | None:
        """Return why the identity of a session can't be linked, or None if it can."""

    async def offer(self, session: Session) -> str:
        """Return a new code."""

    async def join(self, session: Session, code: str) -> tuple[str, str]:
        """Link the session's identity to the one to which a code was given; return the result, and that one's name."""

    async def unite(self, scope: str, other: str) -> tuple[str, str]:
        """Link two people's scopes; return the result, and the other one's name."""

    async def part(self, identity: str) -> str | None:
        """End a link of an identity's scope; return the name that is apart again, or None if there is no link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPorts:
    """Everything that a command may use.

    memory: the open memory. storage: what it keeps. changes: forgets and undoes. links: joins identities. caught_up:
    waits until a session's turns are processed, at most so many seconds. switched: makes a session's switches hold for
    every process. health: how the workspace is.
    """

    memory: Commanded
    storage: Storage
    changes: MemoryChanges
    links: Linking
    caught_up: Callable[[str, float], Awaitable[None]]
    switched: Callable[[Session], Awaitable[None]]
    health: HealthKeeper
