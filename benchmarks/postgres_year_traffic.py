"""The traffic of `postgres_year.py`: people who hold sessions with hosts, and go on at the next where one is away."""

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from postgres_year_host import GoneError, HostProcess

from gateway_memory.scope import Scope, resolve_scope

__all__ = ["Traffic", "exchange", "meanings", "person"]

_TALKERS: Final = 24
"""Sessions that are held at a time."""
_BEFORE: Final = 0.2
"""The share of the turns before anything happens."""
_REST_SECONDS: Final = 0.5
_LONGEST_SESSION: Final = 8
_LONGEST_SECONDS: Final = 60.0
"""After so long somebody goes away, with or without an answer."""

_TOPICS: Final = (
    "the printer on floor {n} prints nothing but grey pages",
    "the offer for customer {n} waits for a discount",
    "the garden fence needs paint before week {n}",
    "train {n} to Basel was late again and I missed the meeting",
    "the recipe with {n} grams of lentils was too salty",
)
_FACTS: Final = (
    "Remember that the meeting room for project {w} is {n}.",
    "I prefer {w} over coffee in the morning.",
    "Remember that my {w} is parked on deck {n}.",
    "My sister lives in {w} and has {n} cats.",
    "From now on answer me in short sentences about {w}.",
)
_WORDS: Final = "tea Basel cocoa Lyon juice bicycle Porto canoe matcha Turin van Ghent water trailer Oslo".split()


def person(number: int) -> Scope:
    """Return the scope of one of the people."""
    return resolve_scope(user=f"u{number:06}", room=None)


def exchange(generator: random.Random, *, tells: bool) -> tuple[str, str]:
    """Return what a person says, and the answer."""
    word, number = generator.choice(_WORDS), generator.randrange(100_000)
    if tells:
        return generator.choice(_FACTS).format(w=word, n=number), "I have noted it and will come back to it."
    topic = generator.choice(_TOPICS).format(n=number)
    asked = f"Today {topic}. Can you tell me what I should do about {word}, and whom I should write to?"
    answer = (
        f"You could begin with {word}: write down what you know, then ask the one who has done it before. As {topic}, "
        f"I would not wait longer than {number % 9 + 2} days, and I would tell the others what to expect meanwhile."
    )
    return asked, answer


@lru_cache(maxsize=100_000)
def _meaning(word: str) -> NDArray[Any]:
    return np.random.default_rng(sum(word.encode()) * 7919 + len(word)).standard_normal(64)


def meanings(texts: Sequence[str]) -> NDArray[Any]:
    """Return vectors by which texts are near that share words."""
    return np.array([sum(map(_meaning, text.lower().split() or ["."])) for text in texts])


class Traffic:
    """What people say to hosts, and how it was taken.

    phase: under which name replies are noted: their outcomes, and their seconds. accepted: the ids of the turns that
    were. refusals: how often a host answered with an error, by call. unanswered: how many turns had no answer at all.
    """

    def __init__(self, hosts: list[HostProcess], people: int) -> None:
        self.hosts = hosts
        self.phase = "before"
        self.outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.accepted: set[str] = set()
        self.refusals: Counter[str] = Counter()
        self.unanswered = 0
        self._people = people
        self._begun = 0

    def start(self, group: asyncio.TaskGroup, turns: int, rate: float) -> asyncio.Event:
        """Let people talk until so many turns were said. Return what is set once a fifth of them have begun."""
        stormy = asyncio.Event()
        for number in range(_TALKERS):
            group.create_task(self._talk(random.Random(number), turns, rate, stormy))
        return stormy

    async def _talk(self, generator: random.Random, turns: int, rate: float, stormy: asyncio.Event) -> None:
        """Hold one session after the other, each of a few turns, no faster than the rate allows."""
        began, said = time.monotonic(), 0
        while self._begun < turns:
            user = person(generator.randrange(1, self._people)).key.partition(":")[2]
            key = f"now-{generator.random()}"
            host = self.hosts[generator.randrange(len(self.hosts))]
            for _ in range(generator.randrange(1, _LONGEST_SESSION)):
                self._begun += 1
                if self._begun >= turns * _BEFORE:
                    stormy.set()
                said += 1
                turn = f"turn{self._begun}"
                await asyncio.sleep(max(0.0, began + said * _TALKERS / rate - time.monotonic()))
                try:
                    async with asyncio.timeout(_LONGEST_SECONDS):
                        host = await self._one_turn(host, key, user, turn, generator)
                except TimeoutError:
                    self.unanswered += 1
                    break
            else:
                await self.asked(host, "end", key=key, user=user)

    async def _one_turn(
        self, host: HostProcess, key: str, user: str, turn: str, generator: random.Random
    ) -> HostProcess:
        """Let one message be answered, by the next host where this one does not; return the one that did."""
        said, _ = exchange(generator, tells=generator.random() < 0.2)
        said = f"{said} ({turn})"
        answer, host = await self.asked(host, "hear", key=key, user=user, message=said)
        self.outcomes[self.phase][answer["outcome"]] += 1
        self.seconds[self.phase].append(answer["seconds"])
        _, host = await self.asked(host, "say", key=key, user=user, text=said, turn=turn)
        self.accepted.add(turn)
        return host

    async def asked(self, host: HostProcess, op: str, **values: object) -> tuple[dict[str, Any], HostProcess]:
        """Ask a host until one answers, as a gateway does, and return which one it was."""
        while True:
            if not host.ready.is_set():
                host = next((each for each in self.hosts if each.ready.is_set()), host)
            try:
                answer = await host.ask(op, **values)
            except GoneError:
                continue
            if "error" not in answer:
                return answer, host
            self.refusals[f"{op}: {answer['error'][:80]}"] += 1
            await asyncio.sleep(_REST_SECONDS)
