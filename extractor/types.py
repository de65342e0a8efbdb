"""The extractor's values: its input, the result of each step, and its errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, TypeAlias

from gateway_memory.ground.calendar import Span
from gateway_memory.ground.holds import Holds

MemoryType: TypeAlias = Literal["W", "B", "O"]
Importance: TypeAlias = Literal["high", "normal"]
Action: TypeAlias = Literal["add", "skip", "update", "supersede"]
Doubt: TypeAlias = Literal["", "unsure", "not_said", "contradicts", "about_owner", "imported", "all"]
"""Why a person should look at a candidate before it is kept; "" for no reason."""
Reason: TypeAlias = Literal[
    "priority_keyword",
    "decision",
    "informative",
    "empty",
    "greeting",
    "small_talk",
    "too_short",
    "code_or_tool_output",
    "one_off_order",
    "debugging",
    "question_only",
    "uninformative",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One user message and its reply. Both have already been through `clean`.

    speaker: where several people speak, the name of the one who did.
    """

    id: int
    user: str
    reply: str
    at: datetime
    speaker: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """A message that may be stored. secrets: how many were masked, by kind ("openai key")."""

    text: str
    private_spans: int
    secrets: Mapping[str, int]
    injected_blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A possible memory, before it is merged with the known ones.

    content: one line. explicit: the user said "remember". importance "high" earns a line in MEMORY.md
    (`memory_md_threshold`); "normal" goes to the day's log. confidence: 0..1.
    cues: words and short questions by which somebody may ask for it: searched, and never told.
    supersedes: ids of memories that it replaces, according to a host or a model. holds: when it holds, None: as its
    words tell.
    expires: its last day, where a host knows no more.
    turn, quote: the turn and the user's words from which a model read it; 0 and "" with the rules.
    doubt: why a person should review it, if that was seen when it was read.
    sentence: the sentence it comes from, which may tell of a change that `content` leaves out; "" if unknown.
    only_as: no rule has read it, and it is kept only as one of these: a "statement" or a "wish", if `understood` finds
    one in it, a "part" that tells something beside an order or a question, or a "change" of a known memory, whose
    category it then has. The "whole" of a message may be one wish. Empty for what was read.
    telling: how much its vector tells of a change, None where it is unknown.
    """

    content: str
    category: str
    type: MemoryType
    importance: Importance
    confidence: float
    entities: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    explicit: bool = False
    supersedes: tuple[str, ...] = ()
    expires: date | None = None
    holds: Holds | None = None
    turn: int = 0
    quote: str = ""
    doubt: Doubt = ""
    sentence: str = ""
    only_as: frozenset[str] = frozenset()
    telling: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The cost of model calls. calls: requests that were answered."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether a batch is worth the debounced stage. score: 0..1, kept from 0.5 on."""

    keep: bool
    reason: Reason
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A memory near a candidate. cosine: -1..1, None without an encoder. overlap: word Jaccard, 0..1.

    protected: a line of MEMORY.md, which only an explicit or highly important candidate may change.
    same_message: it was stated in the candidate's own message, whose statements rarely change each other.
    on: the days on which it happens, by the note at its end, which is no part of its text.
    vectors: the encoder's name, and the unit vectors of the candidate's content and of the memory; None if unknown.
    """

    id: str
    text: str
    cosine: float | None
    overlap: float
    importance: Importance
    protected: bool = False
    same_message: bool = False
    on: tuple[Span, ...] = ()
    vectors: tuple[str, tuple[float, ...], tuple[float, ...]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A memory that the rules kept from a turn, which a model that reads the turn may take back. turn: its id."""

    id: str
    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do with a candidate. target: the memory that it repeats, updates or supersedes; None for "add".

    against: the protected line that it contradicts and may not change, or "".
    outdates: the memory that stays beside it and may no longer hold, or "".
    asks: the memory that stays beside it, and of which its person is asked whether it still holds, or "".
    """

    action: Action
    target: str | None
    reason: str
    against: str = ""
    outdates: str = ""
    asks: str = ""


class ExtractorError(Exception):
    """The extractor could not do its work."""


class ModelError(ExtractorError):
    """The model returned no usable answer.

    kind: "timeout", "connection", "overloaded", "rate_limit", "refused" (a key, a model, a request), "too_long" (for
    the model's context), "truncated", "unreadable", "redirects", "too_large" (an answer, or one that is compressed) or
    "circuit_open".
    usage: the cost of the failed attempts. Its text never quotes a message.
    """

    def __init__(
        self,
        kind: str,
        *,
        retryable: bool = False,
        retry_after_seconds: float | None = None,
        format_refused: bool = False,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(f"the model gave no usable answer: {kind}")
        self.kind = kind
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds
        self.format_refused = format_refused
        self.usage = usage or Usage()
