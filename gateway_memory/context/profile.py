"""What an opening tells about the user beside MEMORY.md. Pure and light to import, so that a hook tells the same.

Wishes come first, since they concern every reply; then what else is remembered; then the user's own sentences, those
first that tell most. They stand for what no memory has been made of.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Final, Protocol

from extractor import has_han, is_greeting, is_over, is_small_talk, statements, traits_of
from gateway_memory.context.opening_text import LastTalk, OpeningMemory
from gateway_memory.store.journal.episodes import Episode, Told
from gateway_memory.store.markdown import one_line

__all__ = ["BEGINNING", "LEAST_FOUND", "LEAST_TELLING", "PASSAGES", "last_talk", "own_words_of", "profile"]

LEAST_TELLING: Final = 0.75
"""The importance from which a passage is told: the gate keeps it with a probability of at least one half."""
LEAST_FOUND: Final = 0.15
"""The score from which a memory is told with what the last session left open: lower than that for a reply."""
PASSAGES: Final = 120
"""Passages to choose from."""
_MOST_WISHES: Final = 24
"""More wishes than these stand behind everything else."""
BEGINNING: Final = 5
"""The exchanges of a session among which the first words are that say something."""
_SELF: Final = re.compile(r"\b(?:i|i'[a-z]+|me|my|mine|we|we'[a-z]+|us|our|ours)\b", re.IGNORECASE)
_LONGEST: Final = 200
"""Characters of a passage: of more, its first sentences are told."""
_SHORTEST: Final = 12


class _Line(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def at(self) -> float: ...


class _Memory(_Line, Protocol):
    @property
    def category(self) -> str: ...


class _Passage(_Line, Protocol):
    @property
    def turn(self) -> int: ...


def profile(
    memories: Iterable[_Memory],
    passages: Sequence[_Passage],
    sides: Mapping[int, str],
    day_of: Callable[[float], str],
    today: str,
) -> list[OpeningMemory]:
    """Return what is told about the user, in order; it may say a thing more than once.

    passages: of the user, those first that tell most. sides: what may be told of the user's words, by turn. day_of:
    returns the day of a time, YYYY-MM-DD.
    """
    newest = sorted(memories, key=lambda memory: -memory.at)
    wishes = [memory for memory in newest if traits_of(memory.category).standing]
    wishes.sort(key=lambda memory: not traits_of(memory.category).directive)
    others = [memory for memory in newest if not traits_of(memory.category).standing]
    found = [
        OpeningMemory(id=memory.id, day=day_of(memory.at), text=memory.text)
        for memory in [*wishes[:_MOST_WISHES], *others]
    ]
    for passage in passages:
        side = sides.get(passage.turn, "")
        said, now = date.fromisoformat(day_of(passage.at)), date.fromisoformat(today)
        told = [
            sentence
            for sentence in statements(passage.text)
            if _is_of_user(sentence) and _letters(sentence) in _letters(side) and not is_over(sentence, said, now)
        ]
        text = _beginning(told)
        if len(text) >= _SHORTEST:
            # Where the user said no more than this, the exchange is told with it.
            marks = [(f"e{passage.turn}", "")] if _letters(text) == _letters(side) else []
            found.append(OpeningMemory(id=passage.id, day=day_of(passage.at), text=text, marks=marks))
    rest = wishes[_MOST_WISHES:]
    return found + [OpeningMemory(id=memory.id, day=day_of(memory.at), text=memory.text) for memory in rest]


def own_words_of(told: Told) -> dict[int, str]:
    """Return what may be told of the user's words, by turn. What was imported is told once a memory is made of it."""
    sides = {turn: told.sides(turn, past=False) for turn, episode in told.episodes.items() if not episode.unread}
    return {turn: of_turn[0] for turn, of_turn in sides.items() if of_turn}


def last_talk(first: Sequence[Episode], told: Told, day_of: Callable[[float], str]) -> LastTalk | None:
    """Return the last session by its first words that say something, else by its first ones.

    first: its first exchanges. told: what may be told of them.
    """
    words = [(episode, sides[0]) for episode in first if (sides := told.sides(episode.turn, past=False)) and sides[0]]
    telling = [pair for pair in words if not (is_greeting(pair[1]) or is_small_talk(pair[1]))]
    for episode, said in (telling or words)[:1]:
        at = f"{datetime.fromtimestamp(episode.at, UTC):%Y-%m-%dT%H:%M:%SZ}"
        return LastTalk(session_id=episode.session_id, at=at, day=day_of(episode.at), said=one_line(said))
    return None


def _is_of_user(sentence: str) -> bool:
    """Return whether a sentence says of whom it is: "Don't let on!" means nothing alone. Chinese leaves "I" out."""
    return has_han(sentence) or _SELF.search(sentence) is not None


def _beginning(sentences: Sequence[str]) -> str:
    """Return the first sentences within `_LONGEST`, or the first one."""
    text = ""
    for sentence in map(one_line, sentences):
        joint = "" if not text or text[-1] >= "\u2e80" else " "
        if text and len(text) + len(sentence) > _LONGEST:
            break
        text += joint + sentence
    return text


def _letters(text: str) -> str:
    return "".join(text.split())
