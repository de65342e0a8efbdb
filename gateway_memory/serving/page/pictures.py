"""Pictures of what happened over time: how recall went each day, and which memories replaced which."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any, Final

from gateway_memory.serving.page.viewer import Values, Viewer
from gateway_memory.store.plan import UNWRITTEN, MemoryRecord

OUTCOMES: Final = ("full", "partial", "empty", "timeout")
_DAYS: Final = 28
_REPLIES_PICTURED: Final = 2000
_LINES: Final = 30
_WIDTH, _HEIGHT = 560.0, 120.0
_LEAST_WIDTH: Final = 3.0
_HIDDEN: Final = frozenset({"forgotten", "undone", "deleted", "retracted"})
"""States of memories whose text is not shown."""
_DAY_SECONDS: Final = 86400.0


async def over_time(viewer: Viewer) -> Values:
    """How recall went on each of the last days, and the newest memories with what they replaced."""
    today = viewer.today()
    days = [today - timedelta(days=ago) for ago in reversed(range(_DAYS))]
    counts: dict[date, Counter[str]] = {day: Counter() for day in days}
    since = viewer.memory.now().timestamp() - (_DAYS + 1) * _DAY_SECONDS
    for at, outcome in await viewer.memory.browsing.outcomes(viewer.session, since=since, limit=_REPLIES_PICTURED):
        day = viewer.local(at).date()
        if day in counts:
            counts[day][outcome] += 1
    bars, most = stacked([counts[day] for day in days])
    table = [(day, counts[day]) for day in days if counts[day]]
    lines = timeline(
        await viewer.memory.browsing.lives(viewer.session, limit=2 * _LINES),
        now=viewer.memory.now().timestamp(),
        day_of=lambda at: viewer.local(at).date().isoformat(),
    )
    picture = {"width": _WIDTH, "height": _HEIGHT, "bars": bars, "most": most, "first": days[0], "last": days[-1]}
    return {"picture": picture, "outcomes": OUTCOMES, "table": table, "lines": lines}


def stacked(counts: Sequence[Counter[str]]) -> tuple[list[dict[str, Any]], int]:
    """Return the bars of columns that stand side by side, and the number that the highest one stands for.

    A bar: the outcome that it counts as `name`, and x, y, width and height in the units of the picture.
    """
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
                bars.append({"name": name, "x": column * step + 1, "y": top, "width": step - 2, "height": height})
    return bars, most


def timeline(
    lives: Sequence[tuple[MemoryRecord, str, str, float]], *, now: float, day_of: Callable[[float], str]
) -> list[dict[str, Any]]:
    """Return a line for each memory, oldest first, the newest few.

    A line: the memory's id and text, x and width in the units of the picture, `standing`: whether it still holds, since
    and until: YYYY-MM-DD, "" for today, and `by`: the id of the memory that replaced it.

    lives: each memory with its state, the memory that replaced it, and when it ended (epoch seconds, 0: it stands).
    """
    pictured = [each for each in lives if each[1] not in _HIDDEN and each[0].category not in UNWRITTEN]
    pictured = sorted((each for each in pictured if each[0].type != "S"), key=lambda each: each[0].at)[-_LINES:]
    first = min((each[0].at for each in pictured), default=now)
    span = max(now - first, _DAY_SECONDS)
    lines = []
    for record, state, by, ended in pictured:
        x = min(_WIDTH * (record.at - first) / span, _WIDTH - _LEAST_WIDTH)
        width = max(_LEAST_WIDTH, _WIDTH * ((ended or now) - record.at) / span)
        line: dict[str, Any] = {"id": record.id, "text": record.text, "x": x, "width": min(width, _WIDTH - x)}
        line |= {"standing": state == "active", "by": by}
        line |= {"since": day_of(record.at), "until": day_of(ended) if ended else ""}
        lines.append(line)
    return lines
