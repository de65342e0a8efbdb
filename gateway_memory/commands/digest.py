"""`/memory digest`: what was learnt, changed and forgotten in the last days."""

from collections.abc import Mapping
from typing import Any, Final

from gateway_memory.commands.answers import NotDone, iso_time, phrase
from gateway_memory.commands.command import CommandPorts
from gateway_memory.commands.receipts import counted
from gateway_memory.context.digest import digest_since
from gateway_memory.edge.phrases import say
from gateway_memory.sessions.session import Session

_DAYS: Final[Mapping[str, int]] = {
    **dict.fromkeys(("", "day", "今天"), 1),
    **dict.fromkeys(("week", "本周", "一周"), 7),
    **dict.fromkeys(("month", "一个月"), 30),
}
_DAY_SECONDS: Final = 86400.0
_LISTED: Final = 20


async def digest(ports: CommandPorts, session: Session, rest: str) -> str:
    """Answer what was learnt, changed and forgotten. rest: day (the default), week or month."""
    facts = await digest_record(ports, session, rest)
    lines = [say(session.language, "digest_title", since=facts["since"][:10], **facts["counts"])]
    for part in ("learnt", "changed"):
        listed = facts[part][:_LISTED]
        if listed:
            lines.append(say(session.language, f"digest_{part}"))
            lines += [f"- {each['id']} · {each['text']}" for each in listed]
        if len(facts[part]) > len(listed):
            lines.append(say(session.language, "digest_more", number=len(facts[part]) - len(listed)))
    if facts["waiting"]:
        lines.append(say(session.language, "digest_waits", number=facts["waiting"]))
    if any(facts["feedback"].values()):
        lines.append(phrase(session, "digest_feedback", **facts["feedback"]))
    if facts["reviews"]:
        lines.append(phrase(session, "digest_reviews", number=facts["reviews"]))
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
    summary = await digest_since(ports.storage, session.scope, since, await ports.validity(session.scope))
    listed = {
        part: [{"id": memory.id, "text": memory.text} for memory in memories]
        for part, memories in (("learnt", summary.learnt), ("changed", summary.changed))
    }
    queue = await ports.storage.turns.queue()
    return {
        "since": iso_time(since, ports.memory.zone),
        **listed,
        "counts": {
            "learnt": len(summary.learnt),
            "changed": len(summary.changed),
            "forgotten": summary.forgotten,
            "expired": summary.expired,
        },
        "waiting": queue.rules + queue.batch,
        "reviews": summary.reviews,
        "feedback": await counted(ports, session, since=since),
    }
