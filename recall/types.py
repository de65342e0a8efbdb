"""The values that go in and out of recall. They are plain, and importing them imports no numpy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Self

FOR_GOOD: Final = "9999-12-31"
"""The last day of a memory that comes again and again, or begins on a day: it is listed with what is coming."""
_HIT_KINDS: Final = {"item": "memory", "paragraph": "note", "episode": "episode"}
"""What a person calls the kinds of entries."""

_OF_ENTRY: Final = ("id", "text", "at", "type", "category", "confidence", "until", "turn", "session")
"""What a hit has of its entry."""

RecallOutcome = Literal["full", "partial", "empty", "timeout"]


class RecallError(Exception):
    """Recall failed, or was used before it was opened or after it was closed."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.__doc__)


class EmbeddingError(RecallError):
    """An embedding server returned no usable vectors.

    kind: "no_key", "timeout", "connection", "overloaded", "rate_limit", "refused" (a key, a model), "bad_request" (a
    text, perhaps), "unreadable", "dimension" (not that of earlier vectors), "redirects", "too_large" (an answer, or one
    that is compressed) or "circuit_open". Its message contains no memory text.
    """

    def __init__(self, kind: str, *, retry_after_seconds: float = 0.0) -> None:
        super().__init__(f"the embedding server gave no usable vectors: {kind}")
        self.kind = kind
        self.retry_after_seconds = retry_after_seconds


class RowsBusyError(RecallError):
    """Another process has the index locked; the same call may soon succeed."""


class RowsDamagedError(RecallError):
    """What the index holds cannot be read, or makes no sense."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A searchable part of a file: a memory line ("item") or a paragraph; or a passage of what was said ("episode").

    at: epoch seconds. heading, speaker, reply: indexed with the text, and not shown. type: S entries (stage summaries)
    are stored and never recalled. importance, confidence: 0 to 1; an importance below .5 marks an episode that the
    assistant said, one of 0 or .5 an episode that is borrowed: a translation, a story. until: the last day on which it
    holds, YYYY-MM-DD; `FOR_GOOD` for what has a day and no last one, "" without any day. standing: a preference or an
    instruction, whatever its words; stored as a part of its traits. turn: the number of the turn that it is a passage
    of, or that it was extracted from; 0 for none.
    """

    id: str
    text: str
    at: float
    kind: Literal["item", "paragraph", "episode"] = "item"
    type: Literal["W", "B", "O", "S"] = "W"
    category: str = ""
    importance: float = 0.5
    confidence: float = 1.0
    session: str = ""
    heading: str = ""
    speaker: str = ""
    reply: str = ""
    until: str = ""
    turn: int = 0
    standing: bool = field(default=False, compare=False)

    def holds_on(self, day: str) -> bool:
        """Return whether it still holds on a day, YYYY-MM-DD."""
        return not self.until or self.until >= day


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """An entry as the index holds it. `sequence` identifies the row: a changed text gets a new, higher one."""

    entry: Entry
    scope: str
    file: str
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which rows a search may return: all that is given must hold.

    since, until: epoch seconds, since <= at < until. session: the session's key. file: the name of its file. text:
    characters that its text has, in upper and lower case as they stand. A type or a category leaves out episodes, which
    have none.
    """

    type: str = ""
    category: str = ""
    session: str = ""
    since: float | None = None
    until: float | None = None
    file: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What is searched in a scope, for a message (`query`).

    limit: the most memories. episodes: the most passages; a passage of a turn from which a found memory comes is left
    out. min_score: of each hit. by_rank: all that is found, in the order of its rank, however little it may be of use.
    now: epoch seconds. preceding: the turns before the message, the oldest first. only:
    which memories may be found. explain: the hits' `parts` hold the terms of their ranks. asked: the query is a search
    on request and no message: it waits for an encoder that is being loaded, and for the vectors of what was just saved,
    and recency counts less. weak: how many of those below `min_score` are returned, apart from the others. unsaid: the
    turns of which no passage may be found.
    """

    scope: str
    query: str
    limit: int
    min_score: float
    now: float
    episodes: int = 0
    preceding: tuple[str, ...] = ()
    only: Filter | None = None
    explain: bool = False
    asked: bool = False
    by_rank: bool = False
    weak: int = 0
    unsaid: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """A file when it was indexed: its modification time, its size in bytes, and a digest of its content."""

    mtime_ns: int
    size: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntries:
    """What a file is to have in the index, in this order. stamp: the file as it was read; None: it is gone."""

    name: str
    stamp: Stamp | None
    entries: Sequence[Entry] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What `replace_files` did. added: new rows, also for a changed text. removed: rows whose ids left the file."""

    added: tuple[Stored, ...] = ()
    removed: tuple[Stored, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that was found, or a passage of what was said.

    kind: "memory", "note" (a paragraph) or "episode"; others are of a host's own search. turn: the turn that it is
    from, or 0. session: the key of the session in which it was said.

    score: calibrated, 0 to 1; .5 means as likely useful as not. related: whether it shares words, meaning, a day or a
    task with the query at all; among unrelated rows, too, one is the nearest. parts, where they were asked for: the
    terms of the rank (`words`, `meaning`, `recency`, `importance`, `form`: length, and whether it asks; `speaker`,
    `date`, `task`, `version`) and their sum `rank`; the log-odds `evidence` that the best rows are useful; `coverage`,
    the share of the query's words; the `cosine`. at, until: see `Entry`. state: "doubted" if something newer may say
    otherwise, "over" if its time is past; then `text` has a mark that says so.
    """

    id: str
    text: str
    score: float
    at: float
    scope: str
    file: str
    kind: str = "memory"
    type: str = "W"
    category: str = ""
    confidence: float = 1.0
    until: str = ""
    turn: int = 0
    session: str = ""
    related: bool = True
    parts: Mapping[str, float] = field(default_factory=dict)
    state: Literal["", "doubted", "over"] = ""

    @classmethod
    def of(
        cls, row: Stored, score: float = 1.0, *, related: bool = True, parts: Mapping[str, float] | None = None
    ) -> Self:
        """Return a row of the index as a hit."""
        entry = row.entry
        return cls(
            **{name: getattr(entry, name) for name in _OF_ENTRY},
            score=score,
            scope=row.scope,
            file=row.file,
            kind=_HIT_KINDS[entry.kind],
            related=related,
            parts=parts or {},
        )

    def is_weak(self, least: float) -> bool:
        """Return whether it probably does not answer what was searched for. least: the least score of what does."""
        return self.score < least or not self.related

    def holds_on(self, day: str) -> bool:
        """Return whether it still holds on a day, YYYY-MM-DD."""
        return not self.until or self.until >= day


class Line(NamedTuple):  # a start creates ten thousand, for which a dataclass takes four times as long
    """A memory for a process that lives a moment. at: epoch seconds. traits: see `topics.traits_of`.

    traits are 0, and category is "", if they are unknown.
    """

    id: str
    text: str
    type: str
    file: str
    at: float
    traits: int = 0
    category: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The answer of a search.

    outcome: "full": lexical and semantic scores were ranked; "partial": something was late or missing, and the rest
    was ranked; "empty": everything was ranked and nothing was good enough; "timeout": nothing was ready in time.
    stages: the seconds that each stage took. weak: the best of what scored below `min_score`, if that was asked for.
    semantic: whether the query was compared by meaning too; False where words alone were searched.
    """

    hits: tuple[Hit, ...] = ()
    weak: tuple[Hit, ...] = ()
    outcome: RecallOutcome = "empty"
    stages: Mapping[str, float] = field(default_factory=dict)
    semantic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A stored memory near a text. cosine: None while it has no vector. overlap: Jaccard of the words, 0 to 1.

    vectors: the encoder's name, and the vectors of the text and the memory; None while one is missing.
    """

    stored: Stored
    cosine: float | None
    overlap: float
    vectors: tuple[str, tuple[float, ...], tuple[float, ...]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """The vectors in the index, over all scopes and whoever made them: `missing` of `rows` have none yet.

    encoder: the name of the encoder that made them; "" while none has made any.
    """

    encoder: str = ""
    rows: int = 0
    missing: int = 0
