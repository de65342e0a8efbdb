"""Remove forgotten text from other places that repeat it: session records, observations, stage summaries.

A user forgets a line, an exchange or a session. The session's record, or the turn that a line was extracted from, says
the same in other words. A sentence is therefore removed if it contains most of the significant words of forgotten text,
unless it tells of another number, day, thing or name.
Nothing is lost: if it is restored, the sentence is restored too. The functions and classes are pure and work on text.
"""

import html
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from gateway_memory.ground.holds import plain_of
from gateway_memory.ground.tables import tables_in

_SHARE: Final = 0.6
"""The minimum share of the significant words of forgotten text that a sentence must contain …"""
_WITHIN: Final = 0.8
"""… or the minimum share of its own words that must be from forgotten text, if it is only a part of it."""
_FEWEST: Final = 3
_STEM: Final = 5
_RUN: Final = re.compile(r"[^\W_\u2e80-\U0010ffff]+|[^\W_\0-\u2e7f]+")
"""Letters and digits of narrow scripts, or of wide ones."""
_JSON_ESCAPE: Final = re.compile(r"\\+u([0-9a-fA-F]{4})")
_ASKED: Final = re.compile(r"[?？]\s*$")
_NOTED: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?\S*)?")
_THOUSANDS: Final = re.compile(r"(?<=\d)[,，'’\u00a0\u202f](?=\d{3}(?!\d))")
_SENTENCE_END: Final = re.compile(
    r"(?:(?<=[。！？!?；;])|(?<=\.)(?<!\b[A-Z]\.)(?<!\b(?:Dr|Mr|Ms|St|No|vs)\.)(?<!\b(?:Mrs|e\.g|i\.e)\.)(?<!\bProf\.)(?=\s))"
    r"(?![^()（）\n]{0,160}[)）])"
)
"""A title or an initial does not end a sentence: "Dr. Quimby" stays whole. In brackets none ends."""
_CODE: Final = re.compile(r"(?=.*\d)(?!(?:19|20)\d\d$).{4,}")
_TELLING: Final = re.compile(r"[^\x00-\u2e7f]{2}|\w{4,}")
"""A word that can reveal forgotten text by itself, next to a sentence that does: a pair of wide letters, or a stem."""
_WIDE_FROM: Final = "\u2e80"
_TASTE: Final = "\0"
_TABLE: Final = tables_in(__file__)("withheld")
_PATTERNS: Final = dict(_TABLE.compiled("patterns", flags=0))
_NO_TERMS: Final = _TABLE.words("words")
_REMEMBERED: Final = 8192
"""Sentences."""
_NO_TEXTS: Final = ("id", "session_id", "timestamp", "layer", "deleted_at")
_LEAST_TERMS: Final = 2
"""The fewest significant words of a sentence that tells something by itself: "OK, noted." does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """Forgotten text, the time (epoch seconds), and the active text that has replaced it."""

    text: str
    at: float
    replacement: str = ""


class Withheld:
    """Detects and removes sentences that repeat forgotten text.

    talks: the ids of the sessions that were forgotten as a whole, each with its time (epoch seconds).
    """

    def __init__(self, forgotten: Iterable[Forgotten], talks: Mapping[str, float] | None = None) -> None:
        self._talks = dict(talks or {})
        self._at: list[float] = []
        self._texts: list[str] = []
        self._terms: list[frozenset[str]] = []
        self._own: list[frozenset[str]] = []
        self._having: defaultdict[str, list[int]] = defaultdict(list)
        for each in forgotten:
            text, terms, own = _told_by(each.text, each.replacement)
            if own:
                for term in terms:
                    self._having[term].append(len(self._terms))
                self._at.append(each.at)
                self._texts.append(text)
                self._terms.append(terms)
                self._own.append(own)

    def __bool__(self) -> bool:
        return bool(self._terms or self._talks)

    def hides(self, session_id: str, at: float) -> bool:
        """Return whether what a session left at a time (epoch seconds) was forgotten with the session."""
        return at <= self._talks.get(session_id, -1.0)

    def says(self, text: str, *, since: float = 0.0, words: frozenset[str] = frozenset()) -> bool:
        """Return whether a text repeats something that was forgotten at a time (epoch seconds) or later.

        words: words that are sufficient by themselves: see `words_of`.
        """
        return bool(words and not terms_of(text).isdisjoint(words)) or bool(self._said(text, since))

    def words_of(self, *texts: str, since: float = 0.0) -> frozenset[str]:
        """Return the words of the forgotten text that these texts, of one turn or one record, repeat.

        A reply may refer to it with a single word ("OK, tea is noted"), and answer a question with one.
        """
        if not self._terms:
            return frozenset()
        parts = [part for text in texts for line in text.split("\n") for part in (line, *split_sentences(line))]
        parts += [f"{asked} {answer}" for asked, answer in pairwise(filter(str.strip, parts)) if _ASKED.search(asked)]
        numbers = {number for part in parts for number in self._said(part, since)}
        return frozenset(term for number in numbers for term in self._own[number] if _TELLING.fullmatch(term))

    def cut(self, text: str, *, since: float = 0.0, words: frozenset[str] = frozenset()) -> str:
        """Return a text without the sentences that repeat forgotten text, and without lines that do so in several."""
        if not self._terms:
            return text
        lines: list[str] = []
        for line in text.split("\n"):
            parts = [part for part in split_sentences(line) if not self.says(part, since=since, words=words)]
            rest = "".join(parts)
            if (rest.strip() and not self.says(rest, since=since)) or not line.strip():
                lines.append(rest)
        return "\n".join(lines)

    def record(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a session record without forgotten text; that of a forgotten session as a deleted one."""
        session_id = str(row.get("session_id", ""))
        if session_id in self._talks and self.hides(session_id, time_of(row.get("timestamp"))):
            deleted_at = datetime.fromtimestamp(self._talks[session_id], UTC).isoformat()
            kept = {name: row[name] for name in _NO_TEXTS if name in row}
            return {**kept, "topic": "", "summary": "", "deleted_at": row.get("deleted_at") or deleted_at}
        texts = {name: value for name, value in row.items() if name not in _NO_TEXTS}
        words = self.words_of(*(text for value in texts.values() for text in _texts(value)))
        return {name: self._value(value, words) if name in texts else value for name, value in row.items()}

    def _value(self, value: object, words: frozenset[str]) -> object:
        if isinstance(value, str):
            return self.cut(value, words=words)
        if isinstance(value, list | tuple):
            return [item for item in value if not isinstance(item, str) or not self.says(item, words=words)]
        return value

    def _said(self, text: str, since: float) -> list[int]:
        if not self._terms:
            return []
        terms = terms_of(text)
        counts = Counter(number for term in terms for number in self._having.get(term, ()))
        return [
            number
            for number, count in counts.items()
            if self._at[number] >= since and self._is_said(number, count, terms, text)
        ]

    def _is_said(self, number: int, count: int, terms: frozenset[str], text: str) -> bool:
        own = self._own[number] & terms
        if not own:
            return False
        if any(_CODE.fullmatch(term) for term in own):
            return True
        whole = count >= math.ceil(_SHARE * len(self._terms[number]))
        if not whole and (len(terms) < _FEWEST or count < _WITHIN * len(terms)):
            return False
        from extractor import differ  # a hook in whose journal nothing alike was forgotten has no time to import it

        return not differ(self._texts[number], _undated(text))


def time_of(timestamp: object) -> float:
    """Return the time of a record's timestamp in epoch seconds; 0 for one that is none."""
    try:
        return datetime.fromisoformat(str(timestamp)).timestamp()
    except ValueError:
        return 0.0


@lru_cache(maxsize=_REMEMBERED)
def split_sentences(line: str) -> tuple[str, ...]:
    """Return a line cut behind each sentence; together the parts are the line."""
    return tuple(_SENTENCE_END.split(line))


@lru_cache(maxsize=_REMEMBERED)
def sentences_of(text: str) -> tuple[str, ...]:
    """Return the sentences of what was said in a turn that tell something by themselves."""
    parts = (part.strip() for line in text.split("\n") for part in split_sentences(line))
    return tuple(dict.fromkeys(part for part in parts if len(terms_of(part)) >= _LEAST_TERMS))


def _texts(value: object) -> list[str]:
    if isinstance(value, list | tuple):
        return [item for item in value if isinstance(item, str)]
    return [value] if isinstance(value, str) else []


def terms_of(text: str) -> frozenset[str]:
    """Return the significant words of a text: stems, and pairs of characters in scripts without spaces."""
    return frozenset().union(*map(_terms_of_part, split_sentences(text)))


@lru_cache(maxsize=_REMEMBERED)  # each session's end looks through all records again, most of which are as they were
def _terms_of_part(text: str) -> frozenset[str]:
    terms: set[str] = set()
    for run in _RUN.findall(_plain(text).casefold()):
        if run < _WIDE_FROM:
            terms.update(_terms_in(run))
            continue
        if _PATTERNS["taste Chinese"].search(run):
            terms.add(_TASTE)
        for part in _PATTERNS["no terms Chinese"].sub(" ", _PATTERNS["taste Chinese"].sub(" ", run)).split():
            terms.update(part[at : at + 2] for at in range(max(1, len(part) - 1)))
    return frozenset(terms)


@lru_cache(maxsize=_REMEMBERED)
def _told_by(text: str, replacement: str) -> tuple[str, frozenset[str], frozenset[str]]:
    """Return what a forgotten text tells without its days, its words, and those that its replacement has not."""
    plain = plain_of(text)  # who said it did not say the day that its line notes
    terms = terms_of(plain)
    return _undated(plain), terms, terms - terms_of(plain_of(replacement))


def _undated(text: str) -> str:
    """Return a text as it reads, without the days on which something was noted: they tell nothing of what was said."""
    return _NOTED.sub(" ", _plain(text))


def _plain(text: str) -> str:
    """Decode escapes of JSON and HTML, which tool output contains, and join the digits of numbers."""
    text = _THOUSANDS.sub("", text)
    if "\\u" in text:
        text = _JSON_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    return html.unescape(text) if "&" in text else text


@lru_cache(maxsize=_REMEMBERED)
def _terms_in(word: str) -> tuple[str, ...]:
    if word in _NO_TERMS:
        return ()
    if _PATTERNS["taste"].fullmatch(word):
        return (_TASTE,)
    return (word,) if any(letter.isdigit() for letter in word) else (word.removesuffix("s")[:_STEM],)


def canonical(row: Mapping[str, Any]) -> str:
    """Return a record as one string that does not depend on the format of its line."""
    return json.dumps(row, ensure_ascii=True, sort_keys=True)
