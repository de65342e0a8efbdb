"""Why a reply was given what it was, and what its message asked of the memory: without any text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from gateway_memory.ground.texts import decoded

if TYPE_CHECKING:
    from extractor import Act

Fate = Literal["told", "held", "over_limit", "over_budget", "weak", "far", "over", "withheld"]
"""What became of a memory for a reply: told; held by the session's context already; good enough, but beyond the number
or the tokens of the settings; below the least score; good enough, but far behind the best one or of another subject; no
longer true on that day; forgotten or replaced since."""
Verdict = Literal["useful", "wrong"]
"""What a person says of a memory in a reply, or of the reply."""

_MOST_ROWS: Final = 16
_DIGITS: Final = 3
_LEAST_TERM: Final = 0.005
_ROW: Final = ("id", "fate", "score", "terms")
"""What a row is as JSON, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """A memory or a passage that was considered for a reply: its score (0 to 1), the terms of its rank, its fate."""

    id: str
    fate: Fate
    score: float
    terms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """A person's verdict of a memory in the reply of a turn; memory "" is the reply as a whole. at: epoch seconds."""

    turn: int
    memory: str
    verdict: Verdict
    at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyReport:
    """One recall. outcome: as in `Context`. milliseconds: of each part, and of `total`. rows: best first."""

    outcome: str
    milliseconds: Mapping[str, float]
    rows: Sequence[Considered] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the report as a small mapping for JSON: at most 16 rows, numbers with three decimals."""
        rows = [
            [row.id, row.fate, round(row.score, _DIGITS), _rounded(row.terms, least=_LEAST_TERM)]
            for row in self.rows[:_MOST_ROWS]
        ]
        return {"outcome": self.outcome, "ms": _rounded(self.milliseconds), "rows": rows}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "ReplyReport":
        """Return the report from the result of `to_json`.

        Raises:
            ValueError, KeyError, TypeError: it is none.
        """
        rows = [dict(zip(_ROW, row, strict=True)) for row in raw["rows"]]
        return decoded(cls, {"outcome": raw["outcome"], "milliseconds": raw["ms"], "rows": rows})


def _rounded(values: Mapping[str, float], *, least: float = 0.0) -> dict[str, float]:
    return {name: round(float(value), _DIGITS) for name, value in values.items() if abs(value) >= least}


OF_SESSION: Final = frozenset({"not_note", "pause", "resume"})
"""What is asked of the session. The turn is not kept, unless the memory goes on with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requested:
    """What a message asks of the memory itself, as the assistant is told it.

    act: what is asked. sure: whether it is; if not, the assistant asks. ids: the memories that are meant, or may be.
    done: whether it is carried out by the turn's `after_reply`; what is not waits for an answer or a command.
    """

    act: "Act"
    sure: bool
    ids: tuple[str, ...] = ()
    done: bool = False
