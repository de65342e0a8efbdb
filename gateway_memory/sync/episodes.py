"""Keep the index's episodes equal to the stored ones, page by page."""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

from extractor import own_words, telling, without_quotations
from gateway_memory.errors import StoreError
from gateway_memory.ground.logs import get_logger
from gateway_memory.ground.threads import compute
from gateway_memory.store.disk.workspace import EPISODE_PAGES
from gateway_memory.store.journal.episodes import PAGE_TURNS, Episode, Episodes
from gateway_memory.store.markdown import without_spaces
from recall import Entry, FileEntries, Recaller, RecallError, Stamp, passages_of

log = get_logger(__name__)

_MOST_SCOPES: Final = 1000
"""The number of scopes whose state is cached. Other scopes are compared with the index again."""
SPEAKERS: Final = ("user", "assistant")
"""Who said a passage, as it is indexed; the first letter is in the id of its row."""
_PAGE: Final = re.compile(rf"{EPISODE_PAGES}(\d+)")
_OF_TURN: Final = re.compile(r"e(\d{1,18})(?:[a-z]\d+)?")
_RETRY_SECONDS: Final = 5.0
_PAGES_AT_ONCE: Final = 16
_REPLY_IMPORTANCE: Final = 0.3
_LEAST_IMPORTANCE: Final = 0.51
"""Of what the user said; the more it tells of the user, the higher it is. See `Entry`."""
_BORROWED_IMPORTANCE: Final = 0.5
_BORROWED_REPLY_IMPORTANCE: Final = 0.0
"""Of texts to be translated, stories, parts to play, and the replies to messages that are nothing else."""
_MOST_QUOTED: Final = 0.3
"""The share of a passage that may be in quotation marks."""


def is_episode_page(file: str) -> bool:
    """Return whether a file of the index is a page of episodes, which is no file of the workspace."""
    return _PAGE.fullmatch(file) is not None


def page_of(turn: int) -> str:
    """Return the file of the index that has a turn."""
    return f"{EPISODE_PAGES}{turn // PAGE_TURNS}"


def turn_of(identity: str) -> int:
    """Return the turn that the id of an exchange or of a passage of it names, such as e12 or e12u0; 0 for other ids."""
    match = _OF_TURN.fullmatch(identity)
    return int(match[1]) if match else 0


class EpisodeFollower:
    """Indexes what was said. One process at a time writes a page; the others read the same index."""

    def __init__(self, episodes: Episodes, recaller: Recaller) -> None:
        self._episodes = episodes
        self._recaller = recaller
        self._indexing = asyncio.Lock()
        self._complete: OrderedDict[tuple[int, str], None] = OrderedDict()
        self._behind: set[str] = set()
        self._wake = asyncio.Event()

    async def index(self, scope: str, turns: Iterable[int]) -> None:
        """Index the pages of these turns now.

        Raises:
            StoreError, RecallError: they could not be read or indexed.
        """
        pages = sorted({turn // PAGE_TURNS for turn in turns})
        for start in range(0, len(pages), _PAGES_AT_ONCE):
            await self._index(scope, pages[start : start + _PAGES_AT_ONCE])

    def look(self, scope: str) -> None:
        """Compare a scope with the index in the background, once for each index."""
        if (self._recaller.generation, scope) not in self._complete:
            self._behind.add(scope)
            self._wake.set()

    def look_again(self, scopes: Iterable[str]) -> None:
        """Compare scopes with the index in the background, whatever was compared before."""
        self._behind.update(scopes)
        self._wake.set()

    async def follow(self, scope: str) -> None:
        """Return when the index has what was said in a scope: a restored or new index has nothing of it yet.

        Raises:
            StoreError, RecallError: it could not be read or indexed.
        """
        if (self._recaller.generation, scope) not in self._complete:
            await self.catch_up(scope)

    async def catch_up(self, scope: str) -> None:
        """Index the pages of a scope that differ from the index.

        Raises:
            StoreError, RecallError: they could not be read or indexed.
        """
        generation = self._recaller.generation
        stored = await self._episodes.pages(scope)
        stamps = await self._recaller.stamps(scope)
        indexed = {int(match[1]): stamps[file].digest for file in stamps if (match := _PAGE.fullmatch(file))}
        pages = sorted(stored.keys() | indexed.keys(), reverse=True)
        waiting = set(await self._episodes.unindexed(scope))
        behind = [page for page in pages if page in waiting or stored.get(page) != indexed.get(page)]
        for start in range(0, len(behind), _PAGES_AT_ONCE):
            await self._index(scope, behind[start : start + _PAGES_AT_ONCE])
        self._complete[generation, scope] = None
        if len(self._complete) > _MOST_SCOPES:
            self._complete.popitem(last=False)

    async def finish(self) -> None:
        """Catch up with the scopes of `look` now.

        Raises:
            StoreError, RecallError: they could not be read or indexed.
        """
        for scope in sorted(self._behind):
            await self.catch_up(scope)
            self._behind.discard(scope)

    async def run(self) -> None:
        """Catch up with the scopes of `look` until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            failed: set[str] = set()
            for scope in sorted(self._behind):
                try:
                    await self.catch_up(scope)
                except (StoreError, RecallError) as error:
                    failed.add(type(error).__name__)
                else:
                    self._behind.discard(scope)
            if failed:  # others were not kept waiting: their part of the index may be there
                log.warning("episodes.will_retry", errors=sorted(failed), scopes=len(self._behind))
                await asyncio.sleep(_RETRY_SECONDS)
                self._wake.set()

    async def _index(self, scope: str, pages: Sequence[int]) -> None:
        async with self._indexing:
            while pages:
                read = await self._episodes.read(scope, pages)
                files = [
                    FileEntries(
                        name=page_of(page * PAGE_TURNS),
                        stamp=Stamp(mtime_ns=0, size=len(episodes), digest=token) if token else None,
                        entries=await compute(_entries, episodes),
                    )
                    for page, (token, episodes) in read.items()
                ]
                await self._recaller.replace_files(scope, files)
                # Another process may have stored more, or deleted it, between the two: what was written is then older.
                pages = await self._episodes.indexed(scope, {page: token for page, (token, _) in read.items()})


def _entries(episodes: Sequence[Episode]) -> list[Entry]:
    return [
        Entry(
            id=f"e{episode.turn}{speaker[0]}{number}",
            text=passage,
            at=episode.at,
            kind="episode",
            importance=importance,
            session=episode.session_key,
            speaker=speaker,
            turn=episode.turn,
        )
        for episode in episodes
        for speaker, weighted in zip(SPEAKERS, _weigh(episode.user, episode.reply), strict=True)
        for number, (passage, importance) in enumerate(weighted)
    ]


def _weigh(user: str, reply: str) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Return the passages of both sides with their importance. Borrowed texts say nothing about the user."""
    passages = passages_of(user)
    own = without_spaces(own_words(user))
    most = 1 - _LEAST_IMPORTANCE
    of_user = [
        (passage, _LEAST_IMPORTANCE + most * telling(passage) if _is_own(passage, own) else _BORROWED_IMPORTANCE)
        for passage in passages
    ]
    borrowed = bool(passages) and not own
    importance = _BORROWED_REPLY_IMPORTANCE if borrowed else _REPLY_IMPORTANCE
    return of_user, [(passage, importance) for passage in passages_of(reply)]


def _is_own(passage: str, own: str) -> bool:
    quoted = sum(left != right for left, right in zip(passage, without_quotations(passage), strict=True))
    return without_spaces(passage) in own and quoted <= _MOST_QUOTED * len(passage)
