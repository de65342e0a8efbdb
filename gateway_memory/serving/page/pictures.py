"""Pictures of what happened over time: how recall went each day, and which memories replaced which."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from gateway_memory.serving.page.visit import Shown, Visit
from gateway_memory.store.record import UNWRITTEN, MemoryRecord

__all__ = ["Bar", "Line", "over_time", "stacked", "timeline"]

OUTCOMES: Final = ("full", "partial", "empty", "timeout")
_DAYS: Final = 28
_REPLIES: Final = 2000
_LINES: Final = 30
_WIDTH, _HEIGHT = 560.0, 120.0
_LEAST_WIDTH: Final = 3.0
_HIDDEN: Final = frozenset({"forgotten", "undone", "deleted", "retracted"})
"""States of memories whose text is not shown."""
_DAY_SECONDS: Final = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A part of a day's column, in the units of the picture. name: the outcome."""

    name: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A memory's time, from when it was learnt to when it was replaced, in the units of the picture.

    standing: whether it still holds. since, until: YYYY-MM-DD, "" for today. by: the id of the memory that replaced it.
    """

    id: str
    text: str
    x: float
    width: float
    standing: bool
    since: str
    until: str
    by: str


async def over_time(visit: Visit) -> Shown:
    """How recall went on each of the last days, and the newest memories with what they replaced."""
    today = visit.today()
    days = [today - timedelta(days=ago) for ago in reversed(range(_DAYS))]
    counts: dict[date, Counter[str]] = {day: Counter() for day in days}
    since = visit.memory.now().timestamp() - (_DAYS + 1) * _DAY_SECONDS
    for told in await visit.memory.browsing.outcomes(visit.session, since=since, limit=_REPLIES):
        day = visit.local(told[0]).date()
        if day in counts:
            counts[day][told[1]] += 1
    bars, most = stacked([counts[day] for day in days])
    table = [(day, counts[day]) for day in days if counts[day]]
    lines = timeline(
        await visit.memory.browsing.lives(visit.session, limit=2 * _LINES),
        now=visit.memory.now().timestamp(),
        day_of=lambda at: visit.local(at).date().isoformat(),
    )
    picture = {"width": _WIDTH, "height": _HEIGHT, "bars": bars, "most": most, "first": days[0], "last": days[-1]}
    return Shown("over_time.html", {"picture": picture, "outcomes": OUTCOMES, "table": table, "lines": lines})


def stacked(counts: Sequence[Counter[str]]) -> tuple[list[Bar], int]:
    """Return the bars of columns that stand side by side, and the number that the highest one stands for."""
    most = max((sum(count.values()) for count in counts), default=0)
    if not most:
        return [], 0
    step, bars = _WIDTH / len(counts), []
    for column, count in enumerate(counts):
        top = _HEIGHT
        for name in OUTCOMES:
            height = _HEIGHT * count[name] / most
            if height:
                top -= height
                bars.append(Bar(name=name, x=column * step + 1, y=top, width=step - 2, height=height))
    return bars, most


def timeline(
    lives: Sequence[tuple[MemoryRecord, str, str, float]], *, now: float, day_of: Callable[[float], str]
) -> list[Line]:
    """Return a line for each memory, oldest first, the newest few.

    lives: each memory with its state, the memory that replaced it, and when it ended (epoch seconds, 0: it stands).
    """
    told = [each for each in lives if each[1] not in _HIDDEN and each[0].category not in UNWRITTEN]
    shown = sorted((each for each in told if each[0].type != "S"), key=lambda each: each[0].at)[-_LINES:]
    first = min((each[0].at for each in shown), default=now)
    span = max(now - first, _DAY_SECONDS)
    lines = []
    for record, state, by, ended in shown:
        until = ended or now
        x = _WIDTH * (record.at - first) / span
        width = max(_LEAST_WIDTH, _WIDTH * (until - record.at) / span)
        lines.append(
            Line(
                id=record.id,
                text=record.text,
                x=min(x, _WIDTH - _LEAST_WIDTH),
                width=min(width, _WIDTH - min(x, _WIDTH - _LEAST_WIDTH)),
                standing=state == "active",
                since=day_of(record.at),
                until=day_of(ended) if ended else "",
                by=by,
            )
        )
    return lines
