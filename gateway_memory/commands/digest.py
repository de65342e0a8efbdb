"""`/memory digest`: what was learnt, changed and forgotten in the last days."""

from collections.abc import Mapping
from typing import Any, Final

from gateway_memory.commands.answers import NotDone, iso_time, phrase
from gateway_memory.commands.feedback import counted
from gateway_memory.commands.ports import CommandPorts
from gateway_memory.context.digest import digest_since
from gateway_memory.edge.phrases import say
from gateway_memory.session import Session

__all__ = ["digest", "digest_record"]

_DAYS: Final[Mapping[str, int]] = {
    "": 1,
    "day": 1,
    "今天": 1,
    "week": 7,
    "本周": 7,
    "一周": 7,
    "month": 30,
    "一个月": 30,
}
_DAY_SECONDS: Final = 86400.0
_LISTED: Final = 20


async def digest(ports: CommandPorts, session: Session, rest: str) -> str:
    """Answer what was learnt, changed and forgotten. rest: day (the default), week or month."""
    found = await digest_record(ports, session, rest)
    lines = [say(session.language, "digest_title", since=found["since"][:10], **found["counts"])]
    for part in ("learnt", "changed"):
        shown = found[part][:_LISTED]
        if shown:
            lines.append(say(session.language, f"digest_{part}"))
            lines += [f"- {each['id']} · {each['text']}" for each in shown]
        if len(found[part]) > len(shown):
            lines.append(say(session.language, "digest_more", number=len(found[part]) - len(shown)))
    if found["waiting"]:
        lines.append(say(session.language, "digest_waits", number=found["waiting"]))
    if any(found["feedback"].values()):
        lines.append(phrase(session, "digest_feedback", **found["feedback"]))
    if found["reviews"]:
        lines.append(phrase(session, "digest_reviews", number=found["reviews"]))
    return "\n".join(lines)


async def digest_record(ports: CommandPorts, session: Session, rest: str) -> dict[str, Any]:
    """Return what was learnt, changed and forgotten as JSON values, newest first. What was forgotten is only counted.

    Raises:
        NotDone: that is no such time.
    """
    days = _DAYS.get(rest.strip().lower())
    if days is None:
        raise NotDone(phrase(session, "digest_usage"))
    since = ports.memory.now().timestamp() - days * _DAY_SECONDS
    found = await digest_since(ports.storage, session.scope, since)
    listed = {
        part: [{"id": memory.id, "text": memory.text} for memory in memories]
        for part, memories in (("learnt", found.learnt), ("changed", found.changed))
    }
    queue = await ports.storage.turns.queue()
    return {
        "since": iso_time(since, ports.memory.zone),
        **listed,
        "counts": {
            "learnt": len(found.learnt),
            "changed": len(found.changed),
            "forgotten": found.forgotten,
            "expired": found.expired,
        },
        "waiting": queue.rules + queue.batch,
        "reviews": found.reviews,
        "feedback": await counted(ports, session, since=since),
    }
