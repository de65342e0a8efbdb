"""The port for episodes: what was said in processed turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from gateway_memory.store.withheld import Withheld

__all__ = ["PAGE_TURNS", "Episode", "Episodes", "Told", "Unread"]

PAGE_TURNS: Final = 64
"""A page is the turns n * PAGE_TURNS … (n + 1) * PAGE_TURNS - 1 of one scope. The index follows page by page."""


Unread = Literal["", "rules", "model", "no"]
"""Who has still to read an episode that another program recorded: first the rules, then the model; "no" for nobody.

"": it was said here.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A turn as it was said, without private spans, secrets and injected blocks. at: epoch seconds."""

    turn: int
    scope: str
    session_key: str
    session_id: str
    user: str
    reply: str
    at: float
    unread: Unread = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Episodes as they were said, and what may not be told of them.

    hidden: what was forgotten since. replaced: what a newer memory has replaced since.
    sources: those of their turns from which a forgotten memory was extracted.
    gone: those that were forgotten as a whole.
    """

    episodes: Mapping[int, Episode]
    hidden: Withheld
    replaced: Withheld
    sources: frozenset[int]
    gone: frozenset[int]

    def sides(self, turn: int, *, past: bool) -> tuple[str, str] | None:
        """Return what may be told of the user's words and of the reply; None if nothing may.

        past: also what was replaced since, for a question about the past.
        """
        episode = self.episodes.get(turn)
        if episode is None or turn in self.gone:
            return None
        said = (episode.user, episode.reply)
        words = self.hidden.words_of(*said, since=episode.at)
        user, reply = (self.hidden.cut(text, since=episode.at, words=words).strip() for text in said)
        if turn in self.sources and (user, reply) == (episode.user.strip(), episode.reply.strip()):
            return None  # it says in other words what was forgotten
        if not past:
            user, reply = (self.replaced.cut(text, since=episode.at).strip() for text in (user, reply))
        return (user, reply) if user or reply else None


class Episodes(Protocol):
    """Every call may raise StoreError, and has then changed nothing. `Turns.finish` stores episodes."""

    async def pages(self, scope: str, among: Sequence[int] | None = None) -> Mapping[int, str]:
        """Return the pages of a scope, or which of some there are, each with a token that changes with its episodes."""

    async def unindexed_scopes(self) -> list[str]:
        """Return the scopes with pages that changed since they were indexed."""

    async def unindexed(self, scope: str) -> list[int]:
        """Return the pages of a scope that changed since they were indexed."""

    async def indexed(self, scope: str, pages: Mapping[int, str]) -> list[int]:
        """Record that pages are indexed as of their tokens; return those that have another token by now."""

    async def read(self, scope: str, pages: Sequence[int]) -> Mapping[int, tuple[str, Sequence[Episode]]]:
        """Return the token of each of these pages ("" if it does not exist), and its episodes, oldest first."""

    async def told(self, scope: str, turns: Sequence[int]) -> Told:
        """Return the episodes of these turns."""

    async def around(self, scope: str, turn: int, number: int) -> list[int]:
        """Return a turn, with up to `number` turns before it and after it in its session, oldest first."""

    async def between(self, scope: str, since: float, until: float, limit: int) -> list[int]:
        """Return the turns of a time, since <= at < until in epoch seconds, oldest first."""

    async def latest(self, scope: str, besides: str, limit: int) -> list[Episode]:
        """Return the first exchanges of the session that took place last here. besides: the id of one to pass over."""

    async def of_session(self, scope: str, session_id: str) -> list[int]:
        """Return the turns of a session, oldest first."""

    async def session_of(self, scope: str, name: str) -> str:
        """Return the id of the newest session that a name means, its id or its key; "" if nothing was said in any."""

    async def times(self, scope: str) -> list[float]:
        """Return the times of all episodes of a scope, oldest first, in epoch seconds."""

    async def all_of(self, scope: str, after: int, limit: int) -> list[Episode]:
        """Return the first episodes of a scope behind a turn, by turn."""

    async def add(self, episodes: Sequence[Episode]) -> list[int]:
        """Store episodes under new turn numbers, and return the numbers of those that are new.

        An episode is known if one of the same time and session key has the user's words or the reply, and if it was
        forgotten as a whole, or with its session.
        """

    async def known(self, episodes: Sequence[Episode]) -> int:
        """Return how many of these episodes are known, as `add` finds it."""

    async def unread(self, scope: str, after: tuple[float, int], limit: int) -> list[Episode]:
        """Return the first unread episodes of a scope behind a time and a turn, by time."""

    async def count_unread(self, since: float) -> Mapping[str, int]:
        """Return how many episodes since a time (epoch seconds) are unread, by scope."""

    async def count(self, scope: str) -> int:
        """Return how many episodes a scope has."""

    async def delete_before(self, at: float) -> int:
        """Delete the episodes of all scopes that were said before a time, in epoch seconds; return their number.

        What is withheld for those that were forgotten is then gone for good.
        """
