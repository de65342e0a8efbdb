"""What was talked about at a time that a message asks for: records and exchanges, or that there is nothing."""

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Any, Final

from gateway_memory.clock import day_of
from gateway_memory.phrases import language_of, say
from gateway_memory.scope import Scope
from gateway_memory.store.markdown import one_line
from gateway_memory.store.ports.documents import Records
from recall import Span, count_tokens, excerpt_of

__all__ = ["record_lines", "records_of", "said_nothing"]

_MOST_RECORDS: Final = 6
_SHARE: Final = 2
"""The records get half of the budget."""


async def records_of(records: Records, scope: Scope, span: Span) -> list[dict[str, Any]]:
    """Return the records of the sessions that ended in a span, oldest first."""
    return [
        record
        for record in await records.read(scope)
        if not record.get("deleted_at") and span.start <= _ended(record) < span.end
    ]


def record_lines(records: Sequence[dict[str, Any]], query: str, zone: tzinfo | None, max_tokens: int) -> list[str]:
    """Return a line for each of the newest records: its day, and what the session was about."""
    shown = records[-_MOST_RECORDS:]
    lines = []
    for record in shown:
        topic = one_line(str(record.get("topic") or ""))
        brief = one_line(str(record.get("brief") or record.get("summary") or ""))
        text = topic if brief.startswith(topic) and topic else f"{topic} {brief}".strip()
        text = brief if brief.startswith(topic) else text
        line = f"({day_of(_ended(record), zone)}) "
        frame = say(language_of(text), "session_was", text="")
        left = max_tokens // _SHARE // len(shown) - count_tokens(line + frame)
        if said := excerpt_of(text, query, left):
            lines.append(line + say(language_of(text), "session_was", text=said))
    return lines


def said_nothing(query: str, span: Span, zone: tzinfo | None) -> str:
    """Return that nothing is remembered from a span, in the query's language."""
    first, last = day_of(span.start, zone), day_of(span.end - 1, zone)
    language = language_of(query)
    days = first if first == last else say(language, "days_from_to", first=first, last=last)
    return say(language, "said_nothing", days=days)


def _ended(record: dict[str, Any]) -> float:
    """Return when a session was saved, in epoch seconds; 0 if its record does not say."""
    try:
        return datetime.fromisoformat(str(record.get("timestamp"))).timestamp()
    except (ValueError, OverflowError):
        return 0.0
