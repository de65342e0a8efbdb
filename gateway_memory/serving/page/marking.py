"""What of a text is marked: the words of a quotation that say a memory, and what differs between two sentences.

Pure functions. A text is returned as its pieces in order, each with whether it is marked; together they are the text.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, TypeAlias

Pieces: TypeAlias = Sequence[tuple[str, bool]]

_TOKEN: Final = re.compile(
    r"\d+(?:[.,:/-]\d+)*|[\u3400-\u9fff\uf900-\ufaff]|[^\W\d_]+(?:['’][^\W\d_]+)*|\s+|.", re.DOTALL
)
_LONGEST: Final = 600
"""Tokens of a text that are compared; what follows is not marked."""
_BRIDGED: Final = 3
"""Tokens between two marked runs that are marked with them: a space, a word, a space."""
_LITTLE: Final = frozenset(
    "a an and are as at be but by do for from had has have he her his i in is it its me my of on or our she that the "
    "their they this to user users was we were will with you your".split()
) | frozenset("的了是在我你他她它和也就都这那")
"""Words that say nothing alone."""


def tokens_of(text: str) -> list[str]:
    """Return the numbers, words, Chinese characters, spaces and signs of a text, which together are the text."""
    return _TOKEN.findall(text)


def evidence(text: str, said: str, quote: str = "") -> Pieces:
    """Return what somebody said, with the words marked that say a memory.

    text: the memory. quote: the words from which a model took it, if it named them.
    """
    for sentence in (quote.strip(), text.strip().rstrip(".。")):
        at = said.casefold().find(sentence.casefold()) if len(said.casefold()) == len(said) else -1
        if sentence and at >= 0:
            end = at + len(sentence)
            return _pieces([(said[:at], False), (said[at:end], True), (said[end:], False)])
    spoken, words = tokens_of(said), [_key(each) for each in tokens_of(quote or text)[:_LONGEST]]
    compared = spoken[:_LONGEST]
    matcher = SequenceMatcher(None, [_key(each) for each in compared], words, autojunk=False)
    marked = {
        number
        for block in matcher.get_matching_blocks()
        for number in _telling(compared, block.a, block.a + block.size)
    }
    return _joined(spoken, _bridge(spoken, marked))


def difference(text: str, other: str) -> tuple[Pieces, Pieces]:
    """Return two sentences, with what each has in the place of the other's words marked.

    Where numbers differ, these alone are marked: what stands around them is seldom the doubt.
    """
    ours, theirs = tokens_of(text), tokens_of(other)
    numbers = _numbers(ours) - _numbers(theirs), _numbers(theirs) - _numbers(ours)
    if all(numbers):
        return _only(ours, numbers[0]), _only(theirs, numbers[1])
    one, two = ours[:_LONGEST], theirs[:_LONGEST]
    matcher = SequenceMatcher(None, [_key(each) for each in one], [_key(each) for each in two], autojunk=False)
    marked: tuple[set[int], set[int]] = set(), set()
    for what, first, last, begin, end in matcher.get_opcodes():
        if what != "equal":
            marked[0].update(number for number in range(first, last) if _is_word(one[number]))
            marked[1].update(number for number in range(begin, end) if _is_word(two[number]))
    return _joined(ours, _bridge(ours, marked[0])), _joined(theirs, _bridge(theirs, marked[1]))


def unsaid(text: str, said: Sequence[str]) -> Pieces:
    """Return a sentence, with its numbers marked that were not said; without such, it is whole and unmarked."""
    tokens = tokens_of(text)
    spoken = {number for each in said for number in _numbers(tokens_of(each))}
    return _only(tokens, _numbers(tokens) - spoken)


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubted:
    """The pieces of a memory that waits, of the line that it contradicts, and of the words that it is from."""

    text: Pieces
    against: Pieces
    asked: Pieces


def doubted(text: str, *, against: str, said: tuple[str, str], quote: str) -> Doubted:
    """Return a memory that waits, with what is in doubt marked: what differs from a line, else numbers nobody said.

    In the words that it is from, other numbers are marked where there are such, else the words that say it.

    against: the line of MEMORY.md that it contradicts, or "". said: by the user and the assistant.
    """
    user, _ = said
    if against:
        ours, theirs = difference(text, against)
        return Doubted(text=ours, against=theirs, asked=evidence(text, user, quote))
    pieces = unsaid(text, said) if user else [(text, False)]
    in_doubt = any(marked for _, marked in pieces)
    return Doubted(text=pieces, against=(), asked=unsaid(user, (text,)) if in_doubt else evidence(text, user, quote))


def _numbers(tokens: Sequence[str]) -> set[str]:
    return {_key(token) for token in tokens if token[0].isdigit()}


def _only(tokens: Sequence[str], keys: Collection[str]) -> Pieces:
    return _joined(tokens, {number for number, token in enumerate(tokens) if _key(token) in keys})


def _key(token: str) -> str:
    """Return a token as it is compared: 1,450 is 1450, and case does not count."""
    return token.replace(",", "") if token[0].isdigit() else token.casefold()


def _is_word(token: str) -> bool:
    return token[0].isalnum()


def _telling(tokens: Sequence[str], first: int, last: int) -> range:
    """Return the numbers of a run of tokens, without what says little at its ends."""
    telling = [
        number for number in range(first, last) if _is_word(tokens[number]) and tokens[number].casefold() not in _LITTLE
    ]
    return range(telling[0], telling[-1] + 1) if telling else range(0)


def _bridge(tokens: Sequence[str], marked: Collection[int]) -> set[int]:
    """Return the marked numbers of tokens, with short gaps between two of them filled, without spaces at the ends."""
    result, last = set(marked), None
    for number in sorted(marked):
        if last is not None and number - last <= _BRIDGED and "\n" not in "".join(tokens[last:number]):
            result.update(range(last, number))
        last = number
    return {number for number in result if _is_word(tokens[number]) or ({number - 1, number + 1} <= result)}


def _joined(tokens: Sequence[str], marked: Collection[int]) -> Pieces:
    return _pieces([(token, number in marked) for number, token in enumerate(tokens)])


def _pieces(parts: Sequence[tuple[str, bool]]) -> Pieces:
    """Join neighbours that are both marked, or both not."""
    pieces: list[tuple[str, bool]] = []
    for text, marked in parts:
        if text and pieces and pieces[-1][1] == marked:
            pieces[-1] = pieces[-1][0] + text, marked
        elif text:
            pieces.append((text, marked))
    return pieces
