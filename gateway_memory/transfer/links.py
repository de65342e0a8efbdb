"""One person over channels: codes that link two identities, and moving their memories together and apart."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from gateway_memory.capture.lifecycle import Lifecycle
from gateway_memory.capture.processor import TurnProcessor
from gateway_memory.ground import CATCH_UP_SECONDS
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.sessions.registry import SessionRegistry
from gateway_memory.sessions.session import Session
from gateway_memory.store.journal.links import Link, Links, below, root_of
from gateway_memory.store.journal.sessions import End, Sessions
from gateway_memory.transfer.joining import ContentLinker
from gateway_memory.transfer.link_codes import CODE_SECONDS, TRIES, TRIES_SECONDS, digest_of, new_code

log = get_logger(__name__)


NoLink = Literal["shared", "incognito", "owner"]
"""Why a session's identity can't be linked."""
Joined = Literal["joined", "already", "own", "unknown", "limited"]
"""What became of a code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnds:
    """What ends sessions. unsubscribe: ends the subscription of a session's id."""

    registry: SessionRegistry
    sessions: Sessions
    lifecycle: Lifecycle
    processor: TurnProcessor
    unsubscribe: Callable[[str], None]

    async def end(self, scopes: Collection[str], reason: str) -> None:
        """End the open sessions of scopes, those of other processes too, where they start anew in the right scope."""
        for known in await self.sessions.open_in(sorted(scopes)):
            session = self.registry.of_id(known.session_id)
            await self.processor.caught_up(known.session_id, CATCH_UP_SECONDS)
            self.registry.close_idle(known.session_id)
            self.unsubscribe(known.session_id)
            if session:
                async with session.writing:  # wait for writes of this session that are in progress
                    pass
            scope = Scope.parse(known.scope)
            await self.lifecycle.end(known.session_id, scope, known.key, End(reason=reason), patient=False)


class LinkBook:
    """The links of one workspace. A link that a crash or another process left incomplete is completed when it is used.

    The owner is never linked: who the owner is stands in the config alone.
    """

    def __init__(self, runtime: Runtime, links: Links, journal: str, linker: ContentLinker, ends: SessionEnds) -> None:
        self._runtime = runtime
        self._links = links
        self._journal = journal
        self._linker = linker
        self._ends = ends
        self._working = asyncio.Lock()
        self._lately: dict[str, Link] = {}

    async def resolved(self, scope: Scope) -> Scope:
        """Return the scope in which the memory of an identity's scope is.

        Raises:
            StoreError: the links could not be read, or what waits could not be moved.
        """
        links = await self._links.of(scope.key)
        for name in (scope.key, *below(self._lately, root_of(self._lately, scope.key))):
            self._lately.pop(name, None)
        self._lately.update(links)
        root = root_of(links, scope.key)
        linked = below(links, root)
        if linked and await self._links.has_own(linked):
            async with self._working:
                await self._complete(root)
        return Scope.parse(root) if linked else scope

    def lately(self, scope: Scope) -> Scope:
        """Return the scope in which the memory of an identity's scope is, by the links that were read last."""
        return Scope.parse(root_of(self._lately, scope.key))

    def refused(self, session: Session) -> NoLink | None:
        """Return why the identity of a session can't be linked, or None if it can."""
        if not session.scope.kind.may_link:
            return "shared" if session.scope.kind.is_shared else "owner"
        return "incognito" if session.incognito else None

    async def offer(self, session: Session) -> str:
        """Return a new code, which is valid once and for ten minutes."""
        code = new_code()
        digest = digest_of(code, self._journal)
        await self._links.offer(session.who.origin.key, digest, until=self._runtime.timestamp() + CODE_SECONDS)
        return code

    async def link_by_code(self, session: Session, code: str) -> tuple[Joined, str]:
        """Link the session's identity to the one to which a code was given; return the result, and that one's name."""
        links, now, asker = self._links, self._runtime.timestamp(), session.who.origin.key
        async with self._working:
            if await links.wrongs(asker, now - TRIES_SECONDS) >= TRIES:
                return "limited", ""
            offering = await links.take(digest_of(code, self._journal), now=now, but=asker)
            if offering is None:
                await links.wrong(asker, now)
                return "unknown", ""
            return await self._link(asker, offering, now)

    async def link(self, scope: str, other: str) -> tuple[Joined, str]:
        """Link two people's scopes at the word of who runs the gateway; return the result, and the other one's name."""
        async with self._working:
            return await self._link(scope, other, self._runtime.timestamp())

    async def _link(self, scope: str, other: str, now: float) -> tuple[Joined, str]:
        if scope == other:
            return "own", _name(other)
        known = {**await self._links.of(scope), **await self._links.of(other)}
        source, target = root_of(known, scope), root_of(known, other)
        if source == target:
            return "already", _name(other)
        await self._ends.end({source, *below(known, source)}, "linked")
        await self._links.link(source, target, now)
        await self._complete(target)
        log.info("links.joined")
        return "joined", _name(other)

    async def unlink(self, identity: str) -> str | None:
        """End the link of an identity's scope, else the newest one into it; return the name that is apart again.

        None if there is no link.
        """
        links = self._links
        async with self._working:
            known = await links.of(identity)
            into = [name for name, link in known.items() if link.target == identity]
            leaving = identity if identity in known else max(into, key=lambda name: known[name].at, default="")
            if not leaving:
                return None
            root = root_of(known, leaving)
            await self._complete(root)
            # A session may be shared by both: nobody knows who speaks in it in another process.
            await self._ends.end({root, *below(known, root)}, "unlinked")
            await self._linker.unlink(Scope.parse(root), Scope.parse(leaving), since=known[leaving].at)
        log.info("links.parted")
        return _name(root if leaving == identity else leaving)

    async def _complete(self, root: str) -> None:
        """Bring what linked scopes still have, the farthest first."""
        known = await self._links.of(root)
        for name in below(known, root):
            await self._linker.link(Scope.parse(name), Scope.parse(known[name].target))


def _name(scope: str) -> str:
    return Scope.parse(scope).name
