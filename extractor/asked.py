"""Where what a message asks to keep begins and ends: "remember | my locker is 214 | will you", without any stop."""

import math
import zlib
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, count, pairwise
from typing import Final

from gateway_memory.ground.tables import has_han

from .meaning import TOKEN, direction_in
from .tables import table

PLACES: Final = 4096
"""The places of what stands around a boundary; those that share one are rare enough."""
BOUNDARIES: Final = ("begins", "ends")
_NEAR: Final = 8  # words to each side
_LONGEST: Final = 80  # words
_SURE: Final = 2.0
"""By how much, in log-odds, a boundary must be likelier than that of the whole text."""
_AROUND: Final = " \t,，、:：;；-–—*_。.!！"


def words_in(text: str) -> list[tuple[str, int, int]]:
    """Return the words of a text, each with its start and its end; Han characters and signs are words."""
    plain = text.lower().replace("’", "'")
    return [(match[0], match.start(), match.end()) for match in TOKEN.finditer(plain)]


def around(words: Sequence[str], at: int) -> list[int]:
    """Return the places of what stands before and after a boundary in front of the word with a number."""
    before, after = ["", *words[max(0, at - _NEAR) : at]], [*words[at : at + _NEAR], ""]
    runs = [f"<{length} {' '.join(before[-length:])}" for length in range(1, 5)]
    runs += [f">{length} {' '.join(after[:length])}" for length in range(1, 5)]
    runs += [f"| {before[-1]} {after[0]}", f"-2 {''.join(before[-2:-1])}", f"-3 {''.join(before[-3:-2])}"]
    near = {f"< {word}" for word in before} | {f"> {word}" for word in after}
    return [zlib.crc32(each.encode()) % PLACES for each in (*runs, *sorted(near))]


def asked_for(text: str) -> str:
    """Return what a text asks to keep, without what surely only asks it. Its first 80 words are read."""
    step, begins, ends = _weights()
    span = best_span(text, begins, ends, _SURE / step)
    return text if len(span) == len(text) else text[span.start : span.stop].strip(_AROUND)


def best_span(text: str, begins: Sequence[float], ends: Sequence[float], least: float = 0.0) -> range:
    """Return the characters between the likeliest two boundaries. begins, ends: the weights of the places.

    least: by how much a boundary must be likelier than that of the whole text.
    """
    found = words_in(text)[:_LONGEST]
    words = [word for word, _, _ in found]
    if not words:
        return range(len(text))
    places = [around(words, at) for at in range(len(words) + 1)]
    starts, stops = ([float(sum(weights[place] for place in each)) for each in places] for weights in (begins, ends))
    for at in _inside_words(found):
        starts[at] = stops[at] = -math.inf
    best_stops = list(accumulate(reversed(list(zip(stops, count(), strict=False))), max))[::-1]
    _, start, stop = max((starts[at] + best_stops[at + 1][0], at, best_stops[at + 1][1]) for at in range(len(words)))
    is_cut, is_cut_behind = starts[start] - starts[0] > least, stops[stop] - stops[-1] > least
    return range(found[start][1] if is_cut else 0, found[stop - 1][2] if is_cut_behind else len(text))


def _inside_words(found: Sequence[tuple[str, int, int]]) -> list[int]:
    """Return the boundaries between letters and digits of one word, such as "u0s3"; Han stands by itself."""
    inside = pairwise(found)
    return [
        at
        for at, ((before, _, end), (after, start, _)) in enumerate(inside, 1)
        if end == start and (before[-1] + after[0]).isalnum() and not has_han(before + after)
    ]


@cache
def _weights() -> tuple[float, Sequence[int], Sequence[int]]:
    (step, _, begins), (_, _, ends) = (direction_in(table("asked"), name) for name in BOUNDARIES)
    return step, begins, ends
