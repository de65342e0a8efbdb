"""What an opening has about the user beside MEMORY.md. Light to import, so that a hook makes it too."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, NamedTuple, Protocol

from extractor import has_han, is_greeting, is_small_talk, points_back, statements, traits_of
from gateway_memory.context.blocks import Remembered
from gateway_memory.store.journal.episodes import Episode, Quotable
from gateway_memory.store.markdown import one_line, without_spaces


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningMemory:
    """A memory of an opening, or words of the user.

    day: YYYY-MM-DD. marks: the items (id, text) that count as in context once this is shown. None: the memory itself,
    if it is not cut. is_wish: it wishes something of the assistant for good.
    """

    id: str
    day: str
    text: str
    marks: Sequence[tuple[str, str]] | None = None
    is_wish: bool = False


class Worth(NamedTuple):
    """What a line of an opening is about, and how much each of its tokens is worth; 0: it tells nothing."""

    subject: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSession:
    """The last session that took place. said: the user's first words in it. at: ISO 8601, UTC; day: its day."""

    session_id: str
    at: str
    day: str
    said: str


def opening_memories(memories: Iterable[Remembered], day_of: Callable[[float], str]) -> list[OpeningMemory]:
    """Return memories as an opening shows them. day_of: returns the day of a time, YYYY-MM-DD."""
    return [OpeningMemory(id=memory.id, day=day_of(memory.at), text=memory.text) for memory in memories]


LEAST_RELATED: Final = 0.15
"""The least score of a memory for what the last session left open: lower than that for a reply."""
PASSAGES: Final = 120
"""Passages to choose from."""
_MOST_WISHES: Final = 24
"""More wishes than these stand behind everything else."""
BEGINNING: Final = 5
"""The exchanges of a session among which the first words are that say something."""
_SELF: Final = re.compile(r"\b(?:i|i'[a-z]+|me|my|mine|we|we'[a-z]+|us|our|ours)\b", re.IGNORECASE)
_LONGEST: Final = 200
"""Characters of a passage: of a longer one, its first sentences are injected."""
_SHORTEST: Final = 12


class _Memory(Remembered, Protocol):
    @property
    def category(self) -> str: ...


class _Passage(Remembered, Protocol):
    @property
    def turn(self) -> int: ...


def profile(
    memories: Iterable[_Memory],
    passages: Sequence[_Passage],
    sides: Mapping[int, str],
    day_of: Callable[[float], str],
) -> list[OpeningMemory]:
    """Return what is known about the user, in order; it may say a thing more than once.

    passages: of the user, the most telling first. sides: the user's quotable words, by turn. day_of:
    returns the day of a time, YYYY-MM-DD.
    """
    newest = sorted(memories, key=lambda memory: -memory.at)
    wishes = [memory for memory in newest if traits_of(memory.category).standing]
    wishes.sort(key=lambda memory: not traits_of(memory.category).directive)
    others = [memory for memory in newest if not traits_of(memory.category).standing]
    wished = [replace(each, is_wish=True) for each in opening_memories(wishes, day_of)]
    known = [*wished[:_MOST_WISHES], *opening_memories(others, day_of)]
    for passage in passages:
        side = sides.get(passage.turn, "")
        sentences: list[str] = []
        is_before = False
        for sentence in statements(passage.text):
            # "Don't let on!" says nothing alone: it must say of whom it is, but for Chinese, which leaves "I" out.
            is_own = bool(has_han(sentence) or _SELF.search(sentence))
            # Nor does "They'll refund us" without the sentence that tells of whom.
            is_whole = is_before or not points_back(sentence.lower())
            is_before = is_own and is_whole and without_spaces(sentence) in without_spaces(side)
            sentences += [sentence] if is_before else []
        text = _beginning(sentences)
        if len(text) >= _SHORTEST:
            known.append(OpeningMemory(id=passage.id, day=day_of(passage.at), text=text, marks=[]))
    return known + wished[_MOST_WISHES:]


def in_rounds(worth: Mapping[str, Worth]) -> dict[str, int]:
    """Return the place of each line of an opening, from 0: one of each subject comes before a second of any.

    The best comes first, in a round and of a subject; what tells nothing comes last.
    """
    before: Counter[str] = Counter()
    rounds: dict[str, int] = {}
    best = sorted(worth, key=lambda text: -worth[text].value)
    for text in best:
        rounds[text] = before[worth[text].subject]
        before[worth[text].subject] += 1
    ordered = sorted(best, key=lambda text: (worth[text].value <= 0, rounds[text]))
    return {text: place for place, text in enumerate(ordered)}


def own_words_of(quotable: Quotable) -> dict[int, str]:
    """Return the user's words that hold today, by turn. Of what was imported, only memories count."""
    sides = {turn: quotable.sides(turn, "lasting") for turn, episode in quotable.episodes.items() if not episode.unread}
    return {turn: of_turn[0] for turn, of_turn in sides.items() if of_turn}


def last_session_of(first: Sequence[Episode], quotable: Quotable, day_of: Callable[[float], str]) -> LastSession | None:
    """Return the last session by its first words that say something, else by its first ones.

    first: its first exchanges. quotable: their quotable text.
    """
    words = [(episode, sides[0]) for episode in first if (sides := quotable.sides(episode.turn)) and sides[0]]
    telling = [pair for pair in words if not (is_greeting(pair[1]) or is_small_talk(pair[1]))]
    for episode, text in (telling or words)[:1]:
        at = f"{datetime.fromtimestamp(episode.at, UTC):%Y-%m-%dT%H:%M:%SZ}"
        return LastSession(session_id=episode.session_id, at=at, day=day_of(episode.at), said=one_line(text))
    return None


def _beginning(sentences: Sequence[str]) -> str:
    """Return the first sentences within `_LONGEST`, or the first one."""
    text = ""
    for sentence in map(one_line, sentences):
        joint = "" if not text or text[-1] >= "\u2e80" else " "
        if text and len(text) + len(sentence) > _LONGEST:
            break
        text += joint + sentence
    return text
