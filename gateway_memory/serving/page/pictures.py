"""Pictures of what happened over time: what models cost, how recall went, and which memories replaced which."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Final

from extractor import same_text
from gateway_memory.serving.page.viewer import Values, Viewer
from gateway_memory.store.journal.ledger import Spent
from gateway_memory.store.memory_record import UNWRITTEN, MemoryRecord

OUTCOMES: Final = ("full", "partial", "empty", "timeout")
TOKENS: Final = ("input", "output")
_DAYS: Final = 28
_WEEK: Final = 7
_REPLIES_PICTURED: Final = 2000
_LINES: Final = 30
_WIDTH, _HEIGHT = 560.0, 120.0
_LEAST_WIDTH: Final = 3.0
_HIDDEN: Final = frozenset({"forgotten", "undone", "deleted", "retracted"})
"""States of memories whose text is not shown."""
_DAY_SECONDS: Final = 86400.0
_MILLION: Final = 1_000_000
_STEPS: Final = (1, 2, 4, 6, 8, 10)
_SMALL: Final = 0.1
"""US dollars below which more than two decimals are shown."""


async def over_time(viewer: Viewer) -> Values:
    """What models cost and how recall went on each of the last days, and which memories replaced which."""
    today = viewer.today()
    days = [today - timedelta(days=ago) for ago in reversed(range(_DAYS))]
    counts: dict[date, Counter[str]] = {day: Counter() for day in days}
    since = viewer.memory.now().timestamp() - (_DAYS + 1) * _DAY_SECONDS
    for at, outcome in await viewer.memory.browsing.outcomes(viewer.session, since=since, limit=_REPLIES_PICTURED):
        day = viewer.local(at).date()
        if day in counts:
            counts[day][outcome] += 1
    lives = await viewer.memory.browsing.lives(viewer.session, limit=2 * _LINES)
    return {
        "costs": costs(viewer, await viewer.memory.browsing.spent(days[0]), days),
        "recalls": chart(viewer, OUTCOMES, [counts[day] for day in days], days),
        "recall_table": [(day, counts[day]) for day in reversed(days) if counts[day]],
        "lines": timeline(lives, now=viewer.memory.now().timestamp()),
        "width": _WIDTH,
    }


def costs(viewer: Viewer, spent: Mapping[str, Spent], days: Sequence[date]) -> Values:
    """Return what models used: of this week and the one before it in numbers, and of each day as a chart and a table.

    The cost is in US dollars, at the prices that the settings have now.
    """
    settings = viewer.session.settings.auto_extract
    used = {day: spent.get(day.isoformat(), Spent()) for day in days}

    def cost(each: Spent) -> float:
        return (each.input_tokens * settings.input_price + each.output_tokens * settings.output_price) / _MILLION

    def total(of: Sequence[date]) -> Values:
        tokens = sum(used[day].input_tokens + used[day].output_tokens for day in of)
        dollars = sum(cost(used[day]) for day in of)
        return {"calls": sum(used[day].calls for day in of), "tokens": tokens, "cost": money(dollars)}

    columns = [{"input": used[day].input_tokens, "output": used[day].output_tokens} for day in days]
    table = [
        {"day": day, "calls": each.calls, "tokens": each.input_tokens + each.output_tokens, "cost": money(cost(each))}
        for day, each in reversed(used.items())
        if each.calls
    ]
    weeks = [
        {"first": days[end - _WEEK], "last": days[end - 1], **total(days[end - _WEEK : end])}
        for end in range(len(days), 0, -_WEEK)
    ]
    pictured = {"chart": chart(viewer, TOKENS, columns, days), "table": table}
    return {"week": weeks[0], "before": weeks[1], "weeks": weeks, **pictured}


def money(dollars: float) -> str:
    """Return an amount of US dollars as people read it: cents, or more decimals of a small one."""
    return f"{dollars:.2f}" if dollars >= _SMALL or not dollars else f"{dollars:.4f}"


def chart(viewer: Viewer, names: Sequence[str], columns: Sequence[Mapping[str, int]], days: Sequence[date]) -> Values:
    """Return a picture of columns, one a day: its bars, the numbers of its axis from the top, and the days below it.

    A bar: what it counts as `name`, its `day` and `number`, and x, y, width and height in the units of the picture.
    """
    most = round_up(max((sum(column.values()) for column in columns), default=0))
    step, bars = _WIDTH / len(days), []
    for place, (day, column) in enumerate(zip(days, columns, strict=True)):
        top = _HEIGHT
        for name in names:
            height = _HEIGHT * column.get(name, 0) / most
            if height:
                top -= height
                bar = {"name": name, "x": place * step + step * 0.12, "y": top, "width": step * 0.76, "height": height}
                bars.append({**bar, "day": viewer.day(day), "number": column[name]})
    ticks = [f"{tick:,}" for tick in (most, most // 2, 0)]
    labels = [viewer.day(day) for day in (*days[::_WEEK], days[-1])]
    size = {"width": _WIDTH, "height": _HEIGHT}
    return {**size, "names": names, "bars": bars, "ticks": ticks, "labels": labels}


def round_up(number: int) -> int:
    """Return the top of an axis: the next even number that is one of `_STEPS` with zeros behind it."""
    power = int("1".ljust(len(str(max(number, 1))), "0"))
    return next(top for step in _STEPS if (top := step * power) >= number and top % 2 == 0)


def timeline(lives: Sequence[tuple[MemoryRecord, str, str, float]], *, now: float) -> list[dict[str, Any]]:
    """Return a line for each memory, the newest first, of the newest few.

    A line: the memory's id and text, x and width in the units of the picture, `standing`: whether it still holds, since
    and until in epoch seconds, 0 for today, and `by`: the id of the memory that replaced it, with its text.

    lives: each memory with its state, the memory that replaced it, and when it ended (epoch seconds, 0: it stands).
    A memory that replaced one of the same words, as a model's does that agrees with the rules, stands since that one.
    """
    texts = {record.id: record.text for record, *_ in lives}
    since: dict[str, float] = {}
    agreed = set()
    for record, _, by, _ in sorted(lives, key=lambda each: each[0].at):
        if by and same_text(texts.get(by, "")) == same_text(record.text):
            since[by] = min(since.get(record.id, record.at), since.get(by, record.at))
            agreed.add(record.id)
    lives = [
        (replace(record, at=min(record.at, since.get(record.id, record.at))), state, by, ended)
        for record, state, by, ended in lives
        if record.id not in agreed
    ]
    pictured = [each for each in lives if each[1] not in _HIDDEN and each[0].category not in UNWRITTEN]
    pictured = sorted((each for each in pictured if each[0].type != "S"), key=lambda each: each[0].at)[-_LINES:]
    first = min((each[0].at for each in pictured), default=now)
    span = max(now - first, _DAY_SECONDS)
    lines = []
    for record, state, by, ended in reversed(pictured):
        x = min(_WIDTH * (record.at - first) / span, _WIDTH - _LEAST_WIDTH)
        width = max(_LEAST_WIDTH, _WIDTH * ((ended or now) - record.at) / span)
        line: dict[str, Any] = {"id": record.id, "text": record.text, "x": x, "width": min(width, _WIDTH - x)}
        line |= {"standing": state == "active", "by": by, "by_text": texts.get(by, "")}
        line |= {"since": record.at, "until": ended}
        lines.append(line)
    return lines
