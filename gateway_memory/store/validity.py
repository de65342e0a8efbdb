"""Whether what was said in a scope still holds when it is told, if not, why, and whether it was told already. Pure.

Whoever tells something asks here: an opening, a reply, a list, a page. A sentence has the fate of what says the same:
what was forgotten, waits for a review, was replaced, is over, or is doubted.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from extractor import is_mostly_chinese
from gateway_memory.ground.calendar import ONE_DAY
from gateway_memory.ground.holds import dated, is_over, is_over_whenever_said, plain_of
from gateway_memory.ground.tables import tables_in
from gateway_memory.ground.times import date_of
from gateway_memory.store.withheld import Forgotten, Withheld, split_sentences

State = Literal["", "doubted", "over"]
"""Of a memory that may be told. "doubted": something newer may say otherwise. "over": its time is past."""
Telling = Literal["lasting", "said", "quoted", "past"]
"""How what was said is told: as what holds today; as what was said on a day, without the plans that are over by now; as
a quotation with its day, plans and all; or for a question about the past, with what was replaced since."""
Fate = Literal["pending", "replaced", "over", "doubted"]
_FATES: Final[tuple[Fate, ...]] = ("pending", "replaced", "over", "doubted")
_TABLE: Final = tables_in(__file__)("validity")
_MARKS: Final = {name: dict(_TABLE.texts(name)) for name in ("doubted", "over")}
_SCOPES_KEPT: Final = 256
_END: Final = re.compile(r"[.。!！?？;；…\s]*$")


class Today(NamedTuple):
    """When something is told, in epoch seconds, and the zone in which days are counted (None: the machine's)."""

    at: float
    zone: tzinfo | None

    @property
    def day(self) -> date:
        """The day on which it is told."""
        return self.day_of(self.at)

    def day_of(self, at: float) -> date:
        """Return the day of a time in epoch seconds."""
        return date_of(at, self.zone)

    def end_of(self, day: str) -> float:
        """Return when a day, YYYY-MM-DD, is over, in epoch seconds."""
        last = date.fromisoformat(day)
        return datetime(last.year, last.month, last.day, 23, 59, 59, tzinfo=self.zone).timestamp()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lapsed:
    """A text that does not hold, or may not. id: of the active memory that has it, or ""."""

    fate: Fate
    forgotten: Forgotten
    id: str = ""


class Validity:
    """What holds in a scope on a day.

    today: None where a person looks at what was said: then all of it may be told that was not forgotten.
    """

    def __init__(self, forgotten: Withheld, lapsed: Iterable[Lapsed] = (), today: Today | None = None) -> None:
        rows = list(lapsed)
        self.forgotten = forgotten
        self._today = today
        self._said = {fate: _withheld(tuple(row.forgotten for row in rows if row.fate == fate)) for fate in _FATES}
        self._states: dict[str, State] = {
            row.id: row.fate for row in rows if row.id and row.fate in ("over", "doubted")
        }

    @property
    def doubted(self) -> frozenset[str]:
        """The ids of the memories that something newer may have made outdated."""
        return frozenset(identity for identity, state in self._states.items() if state == "doubted")

    def state_of(self, identity: str, text: str, at: float | None, *, standing: bool = False) -> State:
        """Return the state of an active memory.

        at: when it was said, None where nobody knows. standing: of a category that has no day.
        """
        return "over" if not standing and self._is_past(text, at) else self._states.get(identity, "")

    def hides(self, texts: Iterable[str], *, at: float) -> bool:
        """Return whether something was forgotten of what was said at a time, in epoch seconds."""
        sides = list(texts)
        return self._unforgotten(sides, at) != [side.strip() for side in sides]

    def cut(self, *texts: str, at: float, how: Telling = "said") -> list[str]:
        """Return what may be told of texts that were said together at a time, in epoch seconds.

        But for questions about the past, doubted sentences are marked.
        """
        pending, replaced = (self._said[fate] for fate in ("pending", "replaced"))
        kept = [pending.cut(text) for text in self._unforgotten(texts, at)]  # also where it was said once more
        if self._today is not None and how != "past":
            kept = [self._today_of(replaced.cut(text, since=at), at, how) for text in kept]
        return [text.strip() for text in kept]

    def record(self, row: Mapping[str, Any], *, at: float) -> dict[str, Any]:
        """Return a session's record with what of it holds. at: when it began, in epoch seconds; 0: nobody knows."""

        def told(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return [text for item in value if isinstance(item, str) for text in self.cut(item, at=at) if text]
            return self.cut(value, at=at)[0]

        named = ("topic", "brief", "summary", "todos", "decisions")
        return {name: told(value) if name in named and value else value for name, value in row.items()}

    def _unforgotten(self, texts: Iterable[str], at: float) -> list[str]:
        sides = list(texts)
        words = self.forgotten.words_of(*sides, since=at)
        return [self.forgotten.cut(side, since=at, words=words).strip() for side in sides]

    def _today_of(self, text: str, at: float, how: Telling) -> str:
        """Return a text without the sentences whose day is past, and with marks on those that are doubted."""
        if how != "quoted":
            text = self._said["over"].cut(text, since=at)
        told = self._quoted if how == "quoted" else self._lasting if how == "lasting" else self._in_a_record
        lines = ([told(part, at) for part in split_sentences(line)] for line in text.split("\n"))
        return "\n".join(map("".join, lines))

    def _quoted(self, sentence: str, at: float) -> str:
        """Return a sentence as it stands behind its day, on which it was true: a plan with the day that was meant."""
        if at and self._today and self._is_past(sentence, at):
            end = _END.search(sentence)
            assert end  # it matches at the end of any text
            return marked(dated(sentence[: end.start()], self._today.day_of(at)) + end[0], "over")
        return marked(sentence, "over") if self._said["over"].says(sentence, since=at) else self._lasting(sentence, at)

    def _in_a_record(self, sentence: str, at: float) -> str:
        """Return a sentence, "" if it is over. What it tells of its own day stays: it is told with it."""
        said = self._today.day_of(at) if self._today and at else None
        is_of_the_day = said is not None and is_over(sentence, said, said + ONE_DAY)
        return self._mark_doubted(sentence, at) if is_of_the_day else self._lasting(sentence, at)

    def _lasting(self, sentence: str, at: float) -> str:
        return "" if self._is_past(sentence, at or None) else self._mark_doubted(sentence, at)

    def _mark_doubted(self, sentence: str, at: float) -> str:
        return marked(sentence, "doubted") if self._said["doubted"].says(sentence, since=at) else sentence

    def _is_past(self, text: str, at: float | None) -> bool:
        if self._today is None or not text.strip():
            return False
        if at is None:
            return is_over_whenever_said(text, self._today.day)
        said, today = self._today.day_of(at), self._today.day
        if plain_of(text) != text:  # its note is of all its sentences
            return is_over(text, said, today)
        return all(is_over(part, said, today) for part in split_sentences(text) if part.strip())


@lru_cache(maxsize=_SCOPES_KEPT)
def _withheld(texts: tuple[Forgotten, ...]) -> Withheld:
    """Return what these texts withhold; each turn asks it of a scope where nothing has changed since."""
    return Withheld(texts)


def marked(text: str, state: State) -> str:
    """Return a text with the mark of its state, in its language and before the stop at its end."""
    if not state:
        return text
    end = _END.search(text)
    assert end  # it matches at the end of any text
    language, before = ("zh", "") if is_mostly_chinese(text) else ("en", " ")
    return f"{text[: end.start()]}{before}{_MARKS[state][language]}{end[0]}"
