"""`/memory coming`: what is ahead, as the memories tell it."""

from datetime import date, timedelta
from typing import Any

from gateway_memory.commands.command import CommandPorts, NotDone, phrase
from gateway_memory.context.coming import DAYS, READ, ahead_of
from gateway_memory.ground import day_of
from gateway_memory.session import Session

_MOST_DAYS = 366


async def coming(ports: CommandPorts, session: Session, rest: str) -> str:
    """Answer what comes in the next days, the soonest first. rest: how many days, two weeks where it is empty."""
    record = await coming_record(ports, session, rest)
    if not record["coming"]:
        return phrase(session, "coming_empty", days=record["days"])
    lines = [f"- {row['id']} · {row['day']} {row['time']}".rstrip() + f" · {row['text']}" for row in record["coming"]]
    return "\n".join([phrase(session, "coming_title", days=record["days"]), *lines])


async def coming_record(ports: CommandPorts, session: Session, rest: str) -> dict[str, Any]:
    """Return what comes as JSON values: each with its day, and its last day and its time where they are known.

    Raises:
        NotDone: that is no number of days.
    """
    words = rest.strip()
    if words and not (words.isdecimal() and 1 <= int(words) <= _MOST_DAYS):
        raise NotDone(phrase(session, "coming_usage"))
    days = int(words or DAYS)
    zone = ports.memory.zone
    today = date.fromisoformat(day_of(ports.memory.now().timestamp(), zone))
    await ports.storage.follower.refresh(session.scope)
    rows = await ports.storage.recaller.coming(session.scope.key, today.isoformat(), READ)
    ahead = ahead_of((row.entry for row in rows), today, today + timedelta(days=days), lambda at: day_of(at, zone))
    listed = [
        {
            "id": each.id,
            "text": each.text,
            "day": each.days.first.isoformat(),
            "last": each.days.last.isoformat(),
            "time": each.time,
        }
        for each in ahead
    ]
    return {"days": days, "coming": listed}
