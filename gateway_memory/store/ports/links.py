"""The port for links: which scopes belong to one person, what each of them brought, and the codes that join them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

__all__ = ["HeldKind", "Link", "Links", "below", "root_of"]

HeldKind = Literal["memory", "record", "turn", "review"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A scope's link into another one. at: epoch seconds."""

    target: str
    at: float


def root_of(links: Mapping[str, Link], scope: str) -> str:
    """Return the scope in which a scope's memory is, after all links."""
    seen = {scope}
    while scope in links and links[scope].target not in seen:
        scope = links[scope].target
        seen.add(scope)
    return scope


def below(links: Mapping[str, Link], scope: str) -> list[str]:
    """Return the scopes that are linked into a scope, directly or through others, the farthest first."""
    direct = [name for name, link in links.items() if link.target == scope]
    return [name for each in direct for name in (*below(links, each), each)]


class Links(Protocol):
    """Every call may raise StoreError, and has then changed nothing. Times are epoch seconds."""

    async def all(self) -> Mapping[str, Link]:
        """Return all links by the linked scope."""

    async def of(self, scope: str) -> Mapping[str, Link]:
        """Return the links of the person to whom a scope belongs, by the linked scope."""

    # Codes

    async def offer(self, scope: str, digest: str, *, until: float) -> None:
        """Store the digest of a scope's code, in the place of its earlier one."""

    async def take(self, digest: str, *, now: float, but: str) -> str | None:
        """Take a valid code, and return its scope; None if there is none. A code of the scope `but` is not taken."""

    async def wrong(self, scope: str, at: float) -> None:
        """Record that a scope's identity has typed a wrong code."""

    async def wrongs(self, scope: str, since: float) -> int:
        """Return how many wrong codes were typed since a time."""

    # Links

    async def join(self, scope: str, target: str, at: float) -> None:
        """Link a scope into another one."""

    async def is_left(self, scopes: Sequence[str]) -> bool:
        """Return whether one of these linked scopes still has memories, turns or reviews of its own."""

    async def hold(self, scope: str, kind: HeldKind, items: Mapping[str, str]) -> None:
        """Record what a linked scope brings, by id, each with a text; what is held already stays as it is."""

    async def held(self, scope: str, kind: HeldKind) -> Mapping[str, str]:
        """Return what a linked scope has brought, by id."""

    async def move_turns(self, scope: str, target: str) -> Sequence[int]:
        """Move episodes, waiting turns and reviews to the target of a link, and hold them.

        Returns the numbers of the turns.
        """

    async def part(self, scope: str, source: str) -> Sequence[int]:
        """End a link: return a scope's turns and reviews from the scope where they are, and forget what it held.

        Returns the numbers of the turns.
        """

    async def share_forgotten(self, source: str, target: str, *, since: float) -> None:
        """Withhold in one scope what was forgotten in another one since a time."""
