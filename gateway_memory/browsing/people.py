"""Reads for the page: whose memories there are, what each is called, and how much each has."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gateway_memory.commands.command import CommandPorts
from gateway_memory.scope import OWNER_SCOPE, Scope, scopes_of
from gateway_memory.store.journal.links import root_of
from gateway_memory.store.journal.names import OF_SCOPE

_WORDS: Final = 120
"""Characters of what somebody said that tell who it is."""
_SAYING: Final = 5
"""The newest exchanges among which words that may be shown are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """How a person, a group or a project is told from others.

    name: what a person or the host calls it, "" for nothing. linked: whose memory it shares, None for its own.
    memories, exchanges: how many it has. last: when something was said last, epoch seconds, 0 for never.
    words: how the user's newest words begin that may be shown; "" for none.
    """

    scope: Scope
    name: str = ""
    linked: Scope | None = None
    memories: int = 0
    exchanges: int = 0
    last: float = 0.0
    words: str = ""


class People:
    """Whose memories there are. Every call may raise StoreError."""

    def __init__(self, ports: CommandPorts) -> None:
        self._storage = ports.storage

    async def scopes(self) -> list[Scope]:
        """Return the scopes that hold anything or are linked: the owner's first, then those who spoke last."""
        documents, sessions, times, links = await asyncio.gather(
            self._storage.documents.folders(),
            self._storage.sessions.scopes(),
            self._storage.episodes.latest_times(),
            self._storage.links.all(),
        )
        known, _ = scopes_of(documents, [*sessions, *links])
        by_time = sorted(known, key=lambda scope: (-times.get(scope.key, 0.0), scope.key))
        return sorted(by_time, key=lambda scope: scope != OWNER_SCOPE)

    async def faces(self, scopes: Sequence[Scope]) -> list[Face]:
        """Return how each of some scopes is told from others. Counts are of the memory that a linked one shares."""
        links = await self._storage.links.all()
        names = await self.names(scopes)
        return [await self._face(scope, names[scope], root_of(links, scope.key)) for scope in scopes]

    async def names(self, scopes: Sequence[Scope]) -> Mapping[Scope, str]:
        """Return what a person or the host calls some scopes, "" for nothing."""
        names = await self._storage.names.of_scopes([scope.key for scope in scopes])
        return {scope: names.get(scope.key, "") for scope in scopes}

    async def call(self, scope: Scope, name: str, *, session_key: str = OF_SCOPE) -> None:
        """Store the name that a person gives a scope, or one of its conversations. "" takes it back."""
        await self._storage.names.give(scope.key, session_key, name)

    async def _face(self, scope: Scope, name: str, root: str) -> Face:
        if root != scope.key:
            return Face(scope=scope, name=name, linked=Scope.parse(root))
        episodes = self._storage.episodes
        newest = [turn for turn, _ in await episodes.newest(scope.key, _SAYING)]
        quotable = await episodes.quotable(scope.key, newest)
        sides = filter(None, (quotable.sides(turn) for turn in newest))
        words = next((" ".join(user.split()) for user, _ in sides if user.strip()), "")
        return Face(
            scope=scope,
            name=name,
            memories=await self._storage.recaller.count(scope.key),
            exchanges=await episodes.count(scope.key),
            last=max((quotable.episodes[turn].at for turn in newest), default=0.0),
            words=f"{words[:_WORDS]}…" if len(words) > _WORDS else words,
        )
