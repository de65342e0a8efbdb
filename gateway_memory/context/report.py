"""Records what was considered for a reply, and what became of it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from typing import Final

from gateway_memory.context.finder import still_holding
from gateway_memory.store.report import Considered, Fate, ReplyReport
from recall import Hit, Recall

__all__ = ["Reporter"]

_TERMS: Final = frozenset(
    "words meaning recency importance form speaker date turn task version".split()
)  # the summands of a rank; the rest is left out
_MILLISECONDS: Final = 1000.0


class Reporter:
    """Gathers the report of one reply.

    told: the hits that the context tells, best first. held: those that the session's context holds already.
    """

    def __init__(self) -> None:
        self.milliseconds: dict[str, float] = {}
        self.found: Recall | None = None
        self.told: list[Hit] = []
        self.held: list[Hit] = []
        self.cut: list[Hit] = []
        self._started = time.perf_counter()

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add the block's duration to that of a part."""
        started = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - started) * _MILLISECONDS
            self.milliseconds[part] = self.milliseconds.get(part, 0.0) + spent

    def report(
        self, outcome: str, now: datetime, zone: tzinfo | None, *, least: float, least_episode: float
    ) -> ReplyReport:
        """Return the report. least, least_episode: the scores from which a memory and an exchange are told."""
        hits = self.found.hits if self.found else ()
        holding = {hit.id for hit in still_holding(hits, now, zone)}
        known: dict[str, Fate] = {hit.id: "over_budget" for hit in self.cut}
        known |= {hit.id: "held" for hit in self.held}
        known |= {hit.id: "told" for hit in self.told}

        def fate(hit: Hit) -> Fate:
            if hit.id in known:
                return known[hit.id]
            if hit.id not in holding:
                return "over"
            return "weak" if hit.score < (least_episode if hit.kind == "episode" else least) else "over_limit"

        rows = [_considered(hit, fate(hit)) for hit in hits]
        rows.sort(key=lambda row: row.fate not in ("told", "held"))  # those that count stand first, each group by score
        rows += [_considered(hit, "weak") for hit in (self.found.weak if self.found else ())]
        stages = self.found.stages if self.found else {}
        parts = {name: seconds * _MILLISECONDS for name, seconds in stages.items()}
        total = (time.perf_counter() - self._started) * _MILLISECONDS
        return ReplyReport(outcome=outcome, milliseconds={**parts, **self.milliseconds, "total": total}, rows=rows)


def _considered(hit: Hit, fate: Fate) -> Considered:
    terms = {name: value for name, value in hit.parts.items() if name in _TERMS}
    return Considered(id=hit.id, fate=fate, score=hit.score, terms=terms)
