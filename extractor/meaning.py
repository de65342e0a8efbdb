"""What a sentence's vector and words tell of it, where no table knows them, in any language the encoder reads."""

import base64
import math
import re
import zlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from operator import mul, sub
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from gateway_memory.ground.tables import Table, simplified

from .categories import traits_of
from .language.sentences import PAUSE
from .tables import table
from .types import Candidate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Kind: TypeAlias = Literal["change", "keep", "wish", "note", "borrowed", "meta", "deed"]
Part: TypeAlias = Literal["unsays", "mends", "introduces"]
"""What a part of a message does to the others: it takes back what was said before it, corrects that, or announces
another's words behind it."""
Act: TypeAlias = Literal[
    "forget",
    "forget_last",
    "forget_today",
    "forget_all",
    "not_note",
    "pause",
    "resume",
    "correct",
    "undo",
    "recall",
    "who_reads",
]
"""What is asked of the memory itself: to forget something, what was said last, all of today, or everything; not to
note the message; to stop noting, or to go on; to correct or bring back something; to tell what it knows, or who can
read it."""
ACTS: Final[tuple[Act, ...]] = get_args(Act)
_TELL: Final = frozenset[Act]({"correct", "resume"})
"""Requests that may tell something: "you have it wrong, my birthday is the 4th of May"."""
TOLD_BESIDE: Final = _TELL | frozenset[Act]({"recall", "who_reads"})
"""Those beside which a message may tell something. A question hides nothing: "I took up judo. What have you on me?"."""
NOTE: Final = "note"
"""What is said in much the same words, and asks to keep something."""
QUESTION: Final = "question"

_TABLE: Final = table("directions")
_SUBJECTS: Final = table("subjects")
_LASTING: Final = _SUBJECTS.numbers("lasting")
_OF_PAIRS: Final = table("changes")
_RELATIONS: Final = {kind: _OF_PAIRS.numbers(f"{kind} by relation") for kind in ("change", "about")}
_ENCODER: Final = dict(_TABLE.texts("encoder"))["name"]


WORDS: Final = 16384
"""The places of words behind a vector's own; words that share one are rare enough."""
TOKEN: Final = re.compile(r"[\u3400-\u9fff]|[^\W\d_\u3400-\u9fff]+(?:'[a-z]+)?|\d+|[^\w\s]")
_WORDS_WEIGH: Final = 2.0
_LENGTH_STEP: Final = 5  # words
_LONGEST_STEP: Final = 6
_REMEMBERED: Final = 1024

# Log-odds. What no rule has read must tell for itself; what a rule has read is dropped only if it tells against it.
# They are for ordinary talk, in which nine of ten messages hold nothing.
_KEEP: Final = 0.2
_KEEP_IN_PART: Final = 0.92  # of some clauses of a sentence, which asks or orders in others
_KEEP_IN_NONE: Final = -2.1  # of a sentence below which no clause of it is worth keeping
_OF_PART: Final = 0.9  # what they count, beside their message
_IMPORTANT: Final = 2.1  # half of what is kept
_KEEP_WITH_IT: Final = 0.6  # of more of them, of which those are a part
_KEEP_BESIDE: Final = 0.1  # of a sentence itself, whose message is worth keeping
_OF_SENTENCE: Final = 0.7  # what a sentence counts, beside its message
_MOST_CLAUSES: Final = 6
_TELLS: Final = -0.4  # of what a talk was about
_ABOUT: Final = -1.0  # of an older line that a statement may change
_KEEP_FOR_A_REASON: Final = -1.5  # of what is noted or wished
_TELLS_OF_CHANGE: Final = 0.6
_KEEP_POINTED_AT: Final = -0.4
_KEEP_READ: Final = -1.3  # of what a rule has read, and what a model shall read
_WISH: Final = 0.2
_NOTE: Final = -0.5
_BORROWED: Final = 0.3
_BORROWED_IN_PART: Final = -0.65  # a clause alone no longer tells that it was supposed
_QUESTION: Final = 0.6
_DEED: Final = 0.1
_DEED_OF_STANDING_ORDER: Final = -1.0
_DOES: Final[Mapping[Part, float]] = {"unsays": -1.4, "mends": -1.7, "introduces": -1.0}
_DOES_ALONE: Final[Mapping[Part, float]] = {"unsays": 0.55, "mends": -1.4}
_OF_MEMORY, _ASKED, _PERHAPS_ASKED = -1.1, 0.0, -1.5
_WIDER: Final[Mapping[str, float]] = {"forget_all": 0.2, "pause": 0.5}  # likelier than any other, which does less
_ASKED_BY_CLAUSE: Final = 1.0
_ASKED_IN_PART: Final = -1.0  # of a clause of a message that surely asks
_MAY_ASK_IN_CLAUSE: Final = -6.0
SPEAKER = re.compile(r"\b(?:i|my|me|we|our|us|mine)\b|[我咱俺]|本人", re.IGNORECASE)
_LONGEST_FRAME: Final = 300  # characters, of which the end has …
_FRAME_END: Final = 100
_CLAUSE_END: Final = re.compile(rf"(?<=[,;:!?，；：！？。…])(?!\d)|(?<=\.)(?=\s)|(?= [-–—]+ )|(?=\bbut\b)|(?={PAUSE})")
_CONFIDENCE: Final = 0.75
_CONFIDENCE_NOTED: Final = 0.9
_LONGEST_WHOLE: Final = 160  # characters
_SHORTEST_RUN: Final = 4  # characters
_AROUND: Final = " .,;:!?…。，；：！？、-–—"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a text tells. change: that something has changed, about 1, or has not, about -1.

    The others are log-odds. keep: that it is worth keeping. wish: that it wishes something of the assistant for good.
    note: that it asks to keep something. borrowed: that it is a text, a part or a supposition, and not its speaker's
    own. meta: that it asks something of the memory itself: "forget what I said". deed: that it orders the assistant to
    do or allow something, rather than wishing how to be answered. asks: what it most likely asks of the memory; None
    where that is most unlikely, or where it rather asks to keep something. question: that it only asks something.
    """

    change: float
    keep: float
    wish: float
    note: float
    borrowed: float
    meta: float
    deed: float
    question: float
    asks: Act | None

    @property
    def may_tell(self) -> bool:
        """Whether it may tell something worth keeping, so that a model reads it; one in five of small talk may."""
        return self.keep >= _KEEP_READ and self.question < _QUESTION

    @property
    def wishes(self) -> bool:
        """Whether it wishes something of the assistant for good, rather than once or out of courtesy."""
        return self.wish >= _WISH and self.keep >= _KEEP_FOR_A_REASON

    @property
    def orders(self) -> bool:
        """Whether it orders the assistant to do or allow something."""
        return self.deed >= _DEED

    @property
    def is_of_manner(self) -> bool:
        """Whether what reads like a standing order surely wishes only how to be answered."""
        return self.deed < _DEED_OF_STANDING_ORDER

    @property
    def tells(self) -> bool:
        """Whether it tells something of its speaker to whoever reads it alone."""
        return self.keep >= _TELLS and self.question < _QUESTION and not _is_of_memory(self, _TELL)


@cache
def direction_of(name: str) -> tuple[float, float, "array[int]"]:
    """Return the step, the intercept and the weights of what a vector tells: a byte for each of its numbers.

    name: a kind, or "asks …" for an act or a note.
    """
    return direction_in(_TABLE, name)


@cache
def direction_in(of: Table, name: str) -> tuple[float, float, "array[int]"]:
    """Return the step, the intercept and the weights of a direction in a table."""
    entries = dict(of.texts(name))
    return float(entries["step"]), float(entries["intercept"]), array("b", base64.b64decode(entries["weights"]))


def meaning_of(text: str, vector: Sequence[float], encoder: str) -> Meaning | None:
    """Return what a sentence tells. encoder: the name of the vector's maker; None for another than the bundled one."""
    if encoder != _ENCODER or len(vector) != len(direction_of("change")[2]):
        return None
    odds = _all_directed(vector, words_of(text))
    asks = None
    if odds["meta"] >= _PERHAPS_ASKED:
        act = max((*ACTS, NOTE), key=lambda act: odds[f"asks {act}"] - _WIDER.get(act, 0.0))
        asks = next((each for each in ACTS if each == act), None)
    return Meaning(**{kind: odds[kind] for kind in get_args(Kind)}, question=odds[QUESTION], asks=asks)


def bare(text: str) -> str:
    """Return a text without the signs around it: what is kept of a sentence has the same vector as its part."""
    return text.strip(_AROUND) or text


def does_of(text: str, vector: Sequence[float], encoder: str, *, alone: bool = False) -> Part | None:
    """Return what a part of a message does to the others; None for nothing, or without the bundled encoder.

    vector: of the `bare` text. alone: it is a message of its own, and may do that to the one before it. It then must be
    plainer.
    """
    if encoder != _ENCODER or len(vector) != len(direction_of("change")[2]):
        return None
    odds = _all_directed(vector, words_of(text))
    above = {part: odds[part] - least for part, least in (_DOES_ALONE if alone else _DOES).items()}
    part = max(above, key=lambda each: above[each])
    return part if above[part] >= 0 else None


def _all_directed(vector: Sequence[float], words: Mapping[int, float]) -> dict[str, float]:
    """Return the log-odds of each direction, by its name. words: as of `words_of`."""
    import numpy as np

    names, steps, intercepts, of_vectors, of_words = _matrices()
    scores = np.vecdot(of_vectors, np.asarray(vector, np.float64))
    places, weights = np.fromiter(words, np.int64, len(words)), np.fromiter(words.values(), np.float64, len(words))
    for rows, numbers in of_words:
        scores[rows] += np.vecdot(numbers[:, places % numbers.shape[1]], weights)
    odds: list[float] = (steps * scores + intercepts).tolist()
    return dict(zip(names, odds, strict=True))


@cache
def _matrices() -> "tuple[Sequence[str], Floats, Floats, Floats, Sequence[tuple[slice, NDArray[np.int8]]]]":
    """Return all directions, those with as many places of words together.

    Their names, steps, intercepts and weights of the vector (directions, dimension); and the weights of words
    (some directions, places), a byte for each, with the rows of their directions.
    """
    import numpy as np

    names = (*get_args(Kind), QUESTION, *get_args(Part), *(f"asks {act}" for act in (*ACTS, NOTE)))
    names = tuple(sorted(names, key=lambda name: len(direction_of(name)[2])))
    steps, intercepts, weights = zip(*map(direction_of, names), strict=True)
    size, lengths = len(direction_of("change")[2]), [len(each) for each in weights]
    rows = {length: slice(lengths.index(length), lengths.index(length) + lengths.count(length)) for length in lengths}
    of_words = [
        (each, np.array([weight[size:] for weight in weights[each]], np.int8))
        for length, each in rows.items()
        if length > size
    ]
    of_vectors = np.array([weight[:size] for weight in weights], np.float64)
    return names, np.array(steps), np.array(intercepts), of_vectors, of_words


@dataclass(frozen=True, slots=True)
class Subject:
    """What a line is about: "home". lasting: how long such lines hold, from 1 (an event) to 2 (for good)."""

    name: str
    lasting: float


def subject_of(vector: Sequence[float], encoder: str) -> Subject | None:
    """Return what a line is about. encoder: the name of the vector's maker; None for another than the bundled one."""
    import numpy as np

    intercepts, weights = _subjects()
    if encoder != _ENCODER or len(vector) != weights.shape[1]:
        return None
    name = list(_LASTING)[int(np.argmax(np.vecdot(weights, np.asarray(vector, np.float64)) + intercepts))]
    return Subject(name, _LASTING[name])


@cache
def _subjects() -> "tuple[Floats, Floats]":
    """Return the intercepts of all subjects, and the weights of the vector (subjects, dimension)."""
    import numpy as np

    steps, intercepts, weights = zip(*(direction_in(_SUBJECTS, f"about {name}") for name in _LASTING), strict=True)
    return np.array(intercepts), np.array(steps)[:, None] * np.array(weights, np.float64)


OF_PAIRS: Final = 4
"""How many numbers a pair of vectors has in each dimension: their product, their distance, the newer and the older."""


def change_of(
    new: str, encoder: str, newer: Sequence[float], older: Sequence[float], relation: Mapping[str, float]
) -> float | None:
    """Return the log-odds that a statement changes an older one rather than standing beside it.

    newer, older: the unit vectors of both; encoder: the name of their maker. None for another than the bundled one.
    relation: what their words have to do with each other (`merge/compare.py`).
    -inf: the older one is about another thing.
    """
    if encoder != _ENCODER or len(newer) != len(older):
        return None
    related = {**relation, "cosine": math.fsum(map(mul, newer, older))}
    columns = [*map(mul, older, newer), *map(abs, map(sub, older, newer)), *newer, *older]
    if (about := _of_pair("about", columns, {}, related)) is None:
        return None
    return _of_pair("change", columns, words_of(new), related) if about >= _ABOUT else float("-inf")


def _of_pair(
    kind: str, columns: Sequence[float], words: Mapping[int, float], related: Mapping[str, float]
) -> float | None:
    step, intercept, weights = direction_in(_OF_PAIRS, kind)
    of_words = weights[len(columns) :]
    if len(of_words) != (WORDS if words else 0):
        return None
    score = math.fsum(map(mul, columns, weights)) + math.fsum(weight * of_words[at] for at, weight in words.items())
    by_relation = _RELATIONS[kind]
    return step * score + math.fsum(by_relation[name] * value for name, value in related.items()) + intercept


@lru_cache(maxsize=_REMEMBERED)  # a sentence is asked about as a part, as what is kept and as what changes another
def words_of(text: str) -> Mapping[int, float]:
    """Return the places (below `WORDS`) of a sentence's words, and what each weighs.

    Words that follow each other have places too, and its beginning, end and length.
    """
    words = TOKEN.findall(simplified(text).lower())
    parts = {f"length {min(_LONGEST_STEP, len(words) // _LENGTH_STEP)}", *words}
    parts.update(map(" ".join, pairwise(words)))
    parts.update(map(" ".join, zip(words, words[1:], words[2:], strict=False)))
    parts.update(f"^{' '.join(words[:number])}" for number in (1, 2))
    parts.update(f"{word}$" for word in words[-1:])
    weight = _WORDS_WEIGH / math.sqrt(len(parts))
    return dict.fromkeys((zlib.crc32(part.encode()) % WORDS for part in parts), weight)


def understood(  # noqa: PLR0911 - one return a rule
    candidate: Candidate, meaning: Meaning | None, of_sentence: Meaning | None, of_message: Meaning | None = None
) -> Candidate | None:
    """Return a candidate of the rules as what it means; None where it says nothing to keep.

    meaning: of its content; of_sentence: of the sentence in which it was stated; of_message: of the whole message.
    Without a meaning, what the rules have read stands alone.
    """
    if meaning is None:
        return _without_meaning(candidate)
    sentence = of_sentence or meaning
    message = of_message or sentence
    candidate = replace(candidate, telling=meaning.change)
    if candidate.quote and candidate.only_as:  # a model found it worth keeping
        keeps = (meaning.keep + sentence.keep) / 2 >= _KEEP_POINTED_AT and not _is_borrowed(sentence)
        return _as_meant(candidate, wishes=meaning.wishes or sentence.wishes, keeps=keeps)
    if _is_of_memory(message, TOLD_BESIDE) or _is_of_memory(sentence, _TELL) or _is_borrowed(message):
        return None
    if "whole" in candidate.only_as:
        return _wish(candidate, candidate.content) if meaning.wishes and meaning.note < _NOTE else None
    if any(each.note >= max(_NOTE, each.wish) for each in (message, sentence)):  # "keep it short" asks to keep nothing
        return _noted(candidate, sentence)
    if min(sentence.question, meaning.question) >= _QUESTION and not candidate.explicit:
        return None
    beside = 0.0 if candidate.explicit else 1 - _OF_SENTENCE
    keep = (1 - beside) * sentence.keep + beside * message.keep
    if keep < _KEEP_READ:  # nor does "make the title shorter" change a memory
        return _only_as_change(candidate) if candidate.only_as and meaning.change >= _TELLS_OF_CHANGE else None
    if candidate.only_as:
        keeps = keep >= _KEEP and sentence.keep >= _KEEP_BESIDE
        important = replace(candidate, importance="high") if keep >= _IMPORTANT else candidate
        return _as_meant(important, wishes=sentence.wishes, keeps=keeps)
    return candidate if candidate.explicit else _confirmed(candidate, meaning, sentence)


def frame_of(message: str) -> str:
    """Return what tells whose words a message is: its beginning and its end."""
    if len(message) <= _LONGEST_FRAME:
        return message
    return f"{message[: _LONGEST_FRAME - _FRAME_END]} {message[-_FRAME_END:]}"


def clauses_of(text: str) -> list[str]:
    """Return the clauses of a text, in whose first or last it may be asked: "off the record, …"; [] for one."""
    clauses = [clause for clause in _CLAUSE_END.split(text) if clause.strip()]
    return clauses if len(clauses) > 1 else []


def runs_of(text: str, meaning: Meaning | None) -> list[str]:
    """Return what stands in some neighbouring clauses of a text, but not in all: "he's my boss, mend this mail".

    meaning: of the text; [] where it tells hardly anything.
    """
    if meaning is None or meaning.keep < _KEEP_IN_NONE:
        return []
    clauses = clauses_of(text)[:_MOST_CLAUSES]
    ends = range(1, len(clauses) + 1)
    runs = (bare("".join(clauses[start:end])) for end in ends for start in range(end))
    return [run for run in runs if len(run) >= _SHORTEST_RUN and run != text] if clauses else []


def told_in_part(candidate: Candidate, message: Meaning | None, runs: Mapping[str, Meaning | None]) -> Candidate | None:
    """Return a sentence that is not kept with the most of its clauses that tell enough together; None without them.

    message: of the whole message; runs: of the `runs_of` the sentence.
    """
    if message is None or _is_of_memory(message, TOLD_BESIDE) or _is_borrowed(message, _BORROWED_IN_PART):
        return None
    telling = {run: each.keep for run, each in runs.items() if each and each.tells and not _is_borrowed(each)}
    most = max(telling.values(), default=_KEEP_BESIDE)
    if most < _KEEP_WITH_IT or _OF_PART * most + (1 - _OF_PART) * message.keep < _KEEP_IN_PART:
        return None
    # With the clauses on which it leans: 主要跑沈阳到广州 is what 老公 does.
    best = max((run for run, keep in telling.items() if keep >= _KEEP_WITH_IT), key=len)
    return replace(candidate, content=best, sentence=best, confidence=_CONFIDENCE, only_as=frozenset())


def asked_of_memory(message: Meaning, clauses: Sequence[Meaning | None]) -> tuple[Act | None, bool]:
    """Return what a message or a clause of it ("off the record, …") asks of the memory itself, and whether surely."""
    if message.asks and message.meta >= _ASKED:
        return message.asks, True
    asking = [each.asks for each in clauses if each and each.asks and each.meta >= _ASKED_BY_CLAUSE]
    if asking and message.note < _NOTE:
        return message.asks or asking[0], True
    return message.asks, False


def asks_by_itself(clause: Meaning, act: Act | None) -> bool:
    """Return whether it is this clause of a message that asks: "forget his name", before ", I've moved out"."""
    return act is not None and clause.asks == act and clause.meta >= _ASKED_IN_PART


def may_ask_in_clause(message: Meaning) -> bool:
    """Return whether a clause of a message may ask something of the memory, though the message does not surely."""
    return _MAY_ASK_IN_CLAUSE <= message.meta < _ASKED


def _is_of_memory(meaning: Meaning, but: frozenset[Act]) -> bool:
    return meaning.asks is not None and meaning.asks not in but and meaning.meta >= _OF_MEMORY


def _is_borrowed(message: Meaning, least: float = _BORROWED) -> bool:
    return message.borrowed >= least and message.borrowed > message.note


def _noted(candidate: Candidate, sentence: Meaning) -> Candidate | None:
    """Return what a message asks to keep, or states beside it."""
    if not candidate.explicit and sentence.keep < _KEEP_FOR_A_REASON:
        return None if not candidate.only_as else _only_as_change(candidate)
    wishes = "wish" in candidate.only_as and sentence.wishes
    as_told = replace(candidate, only_as=frozenset(), importance="high")
    noted = _wish(candidate, candidate.content) if wishes else as_told
    return replace(noted, explicit=True, confidence=max(noted.confidence, _CONFIDENCE_NOTED))


def _without_meaning(candidate: Candidate) -> Candidate | None:
    if not candidate.only_as:
        return candidate
    if candidate.quote:  # what a model pointed at waits, unless it worded it rightly
        return replace(candidate, only_as=frozenset(), doubt="" if candidate.sentence else "not_said")
    return _only_as_change(candidate)


def _confirmed(candidate: Candidate, meaning: Meaning, whole: Meaning) -> Candidate:
    """Return what a rule has read as a wish, if its sentence is one, or with all that the sentence tells."""
    if not traits_of(candidate.category).directive and whole.wishes:
        # "red and green look the same, pick other colours"
        return _wish(candidate, candidate.sentence or candidate.content)
    tells_more = whole.keep >= max(_KEEP, meaning.keep)
    if candidate.sentence and len(candidate.sentence) <= _LONGEST_WHOLE and tells_more:
        return replace(candidate, content=candidate.sentence)
    return candidate


def _as_meant(candidate: Candidate, *, wishes: bool, keeps: bool) -> Candidate | None:
    if "wish" in candidate.only_as and wishes:
        return _wish(candidate, candidate.content)
    if "statement" in candidate.only_as and keeps:
        return replace(candidate, confidence=_CONFIDENCE, only_as=frozenset())
    return _only_as_change(candidate)


def _wish(candidate: Candidate, content: str) -> Candidate:
    wish = replace(candidate, content=content, category="instruction", type="O", importance="high")
    return replace(wish, confidence=_CONFIDENCE, only_as=frozenset())


def _only_as_change(candidate: Candidate) -> Candidate | None:
    only_as = candidate.only_as & {"change"}
    return replace(candidate, only_as=only_as) if only_as else None
