"""What lines say already, so that a model is told each sentence once."""

import re
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from extractor import is_greeting, points_back, polarity, statement_words
from gateway_memory.ground.holds import plain_of
from gateway_memory.store.withheld import split_sentences

_Clause = tuple[frozenset[str], bool | None]
_CLAUSE_END: Final = re.compile(r"[,，;；:：—]+(?=\D|$)")
_NO_LETTERS: Final = re.compile(r"[\W_]+")

_LABEL: Final = re.compile(r"\A(?:-\s*)?\([^()]{1,60}\)\s*")
"""In front of a memory in a block: its id and its day."""
_MOST_OF_IT: Final = 0.6
_REMEMBERED: Final = 4096
"""Sentences."""
_MOST_READ: Final = 64
"""Thousands of sessions are open at a time, of which few are replied to: what was told to the others stays text."""


@dataclass(slots=True)
class _Read:
    """What lines say. having: the numbers of the lines with a word. letters: of each sentence."""

    lines: list[list[_Clause]] = field(default_factory=list)
    having: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    letters: set[str] = field(default_factory=set)

    def add(self, lines: Iterable[str]) -> None:
        """Read lines."""
        for labelled in lines:
            line = _LABEL.sub("", labelled)
            clauses = [each for part in split_sentences(line) for each in _clauses_of(part)]
            for word in frozenset().union(*(words for words, _ in clauses)):
                self.having[word].add(len(self.lines))
            self.lines.append(clauses)
            self.letters |= {_letters(part) for part in split_sentences(plain_of(line))} - {""}


class Told:
    """Lines that were told. A sentence repeats one that has all significant words of each of its clauses.

    It repeats one that it holds, too, if that is most of it: "Don't forget that the bell is broken".

    after: what was told before, which is not changed.
    """

    def __init__(self, lines: Iterable[str] = (), *, after: "Iterable[Told]" = ()) -> None:
        self._before = tuple(after)
        self._texts: list[str] = []
        self._read: _Read | None = None
        """What the lines say: read when it is asked for, and again where others were asked since."""
        self.add(lines)

    def add(self, lines: Iterable[str]) -> None:
        """Add lines."""
        added = list(lines)
        self._texts += added
        if read := self._read:  # another thread may drop it
            read.add(added)

    def _reading(self) -> "_Read":
        """Return what the lines say. Beyond `_MOST_READ`, what was asked for least recently keeps its text alone."""
        read = self._read
        if read is None:
            read = _Read()
            read.add(self._texts)
            self._read = read
        with _READING:
            _READ[self] = None
            _READ.move_to_end(self)
            if len(_READ) > _MOST_READ:
                _READ.popitem(last=False)[0]._read = None  # noqa: SLF001 - of the same class
        return read

    def says(self, sentence: str) -> bool:
        """Return whether one line says a sentence, in the same words and with the same yes or no."""
        clauses = _clauses_of(sentence)
        if len(clauses) > 1 and len(clauses[0][0]) == 1:
            clauses = clauses[1:]  # "Actually, I moved to Linz"
        if not clauses:
            return False
        read, letters = self._reading(), _letters(sentence)
        if any(line in letters and len(line) >= _MOST_OF_IT * len(letters) for line in read.letters):
            return True
        words = frozenset().union(*(each for each, _ in clauses))
        having = set.intersection(*(read.having.get(word, set()) for word in words))
        if any(all(_has(read.lines[number], clause) for clause in clauses) for number in having):
            return True
        return any(before.says(sentence) for before in self._before)

    def fresh(self, text: str, *, alone: bool = False) -> str:
        """Return a text without the sentences that the lines say; "" where nothing is left that tells something.

        alone: it stands where what is left out cannot be seen, so that what points back to it is left out as well.
        """
        whole = split_sentences(text)
        parts: list[str] = []
        is_cut = False
        for part in whole:
            is_cut = self.says(part) or (alone and is_cut and points_back(part.strip().lower()))
            parts += [] if is_cut else [part]
        if len(parts) == len(whole):
            return text
        return "".join(parts).strip() if any(map(statement_words, parts)) else ""


_READ: Final[OrderedDict[Told, None]] = OrderedDict()
"""Those that are read, the least recently asked first."""
_READING: Final = threading.Lock()


def _letters(text: str) -> str:
    return _NO_LETTERS.sub("", text.casefold())


@lru_cache(maxsize=_REMEMBERED)
def _clauses_of(sentence: str) -> tuple[_Clause, ...]:
    """Return the significant words of each clause that has some and is no greeting, and whether it is negated."""
    parts = [part for part in _CLAUSE_END.split(sentence) if not is_greeting(part)]
    return tuple((words, polarity(part)) for part in parts if (words := statement_words(part)))


def _has(line: Sequence[_Clause], clause: _Clause) -> bool:
    """Return whether a line says a clause: in one of its clauses, or in all of them together."""
    words, side = clause
    if len(words) == 1 and not any(words == each for each, _ in line):
        return False  # one word is the subject of many sentences: "moved the database" says more than where it runs
    return any(words <= each and side == other for each, other in line) or {other for _, other in line} == {side}
