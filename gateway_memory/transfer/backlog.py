"""The imported episodes from which nothing was learnt yet."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway_memory.capture.processor import TurnProcessor
from gateway_memory.capture.reader import OVER_BUDGET
from gateway_memory.edge.session_key import session_types
from gateway_memory.ground.runtime import Runtime
from gateway_memory.scope import Scope
from gateway_memory.store.journal.episodes import Episode, Episodes
from gateway_memory.store.journal.turns import Turns

_AT_ONCE: Final = 64
"""The most episodes that are taken up together. What was taken up is finished, also after a crash."""
_BATCH_LENGTH: Final = 12_000
"""The characters that are taken up together. A model is given a batch of twice as many at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caught:
    """The result of reading. read: the episodes. kept, waiting: the memories, and those that a person must approve.

    remaining: the episodes that wait for the model. over_budget: because the day's budget is used up.
    excluded: those from which the settings let nothing be extracted.
    """

    read: int = 0
    kept: int = 0
    waiting: int = 0
    remaining: int = 0
    over_budget: bool = False
    excluded: int = 0


class Backlog:
    """The unread episodes of one store. Two processes may read at once: each episode is taken up by one of them."""

    def __init__(self, runtime: Runtime, episodes: Episodes, turns: Turns, processor: TurnProcessor) -> None:
        self._runtime = runtime
        self._episodes = episodes
        self._turns = turns
        self._processor = processor

    async def count(self, *, scope: Scope | None = None, since: float = 0.0) -> int:
        """Return how many episodes are unread.

        scope: None for every scope. since: only episodes since this time, in epoch seconds.
        """
        return sum((await self._counts(scope, since)).values())

    async def read(
        self,
        *,
        scope: Scope | None = None,
        since: float = 0.0,
        progress: Callable[[int], object] = lambda _: None,
    ) -> Caught:
        """Let the rules read each unread episode, and the model as far as the day's budget goes; oldest first.

        Where it is broken off, the next call goes on. What the model could not read waits for the next call, too.
        Sessions whose settings switch extraction off stay unread.

        scope: None for every scope. since: only episodes since this time, in epoch seconds.
        progress: called with the number of episodes that were read.

        Raises:
            StoreError: something could not be read or written. What was read before is kept.
        """
        before = self._runtime.metrics.counts.copy()
        await self._processor.adopt()  # what a process had taken up that was killed
        await self._processor.flush()
        read, counts = 0, await self._counts(scope, since)
        for key in counts:
            async for part in self._parts(Scope.parse(key), since):
                await self._turns.take_up(await self._quotable(key, part), self._runtime.timestamp())
                await self._processor.flush()
                read += len(part)
                progress(len(part))
        made = self._runtime.metrics.counts - before

        excluded = max(0, sum(counts.values()) - read)

        def count(*starts: str) -> int:
            return sum(number for name, number in made.items() if name.startswith(starts))

        stages = ("extraction.rules", "extraction.batch")
        return Caught(
            read=read,
            kept=count(*(f"{stage}.{action}." for stage in stages for action in ("add", "update", "supersede"))),
            waiting=count(*(f"{stage}.waits." for stage in stages)),
            remaining=max(0, await self.count(scope=scope, since=since) - excluded),
            over_budget=bool(count(f"extraction.batch.skipped.{OVER_BUDGET}")),
            excluded=excluded,
        )

    async def _counts(self, scope: Scope | None, since: float) -> dict[str, int]:
        counts = await self._episodes.count_unread(since)
        return {key: number for key, number in counts.items() if scope is None or key == scope.key}

    async def _parts(self, scope: Scope, since: float) -> AsyncIterator[list[Episode]]:
        """Yield the unread episodes that may be read, oldest first, in parts that are one batch of a conversation."""
        after = (since, 0)
        part: list[Episode] = []
        length = 0
        while episodes := await self._episodes.unread(scope.key, after, _AT_ONCE):
            after = episodes[-1].at, episodes[-1].turn
            for each in episodes:
                if not self._may_read(scope, each):
                    continue
                length += len(each.user) + len(each.reply)
                full = len(part) >= _AT_ONCE or length > _BATCH_LENGTH
                if part and (full or each.session_id != part[0].session_id):
                    yield part
                    part, length = [], len(each.user) + len(each.reply)
                part.append(each)
        if part:
            yield part

    def _may_read(self, scope: Scope, episode: Episode) -> bool:
        settings = self._runtime.settings_of(episode.session_key).auto_extract
        excluded = set(settings.exclude_session_types) & set(session_types(episode.session_key, scope))
        return settings.enabled and not excluded

    async def _quotable(self, scope: str, part: Sequence[Episode]) -> list[Episode]:
        """Return episodes with the text that was not forgotten since."""
        quotable = await self._episodes.quotable(scope, [each.turn for each in part])
        sides = [quotable.sides(each.turn, "past") or ("", "") for each in part]
        return [replace(each, user=user, reply=reply) for each, (user, reply) in zip(part, sides, strict=True)]
