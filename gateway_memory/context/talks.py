"""What was talked about at a time that a message asks for: records and exchanges, or that there is nothing."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Final

from gateway_memory.edge.phrases import language_of, say
from gateway_memory.runtime.clock import day_of
from gateway_memory.store.markdown import one_line
from recall import Hit, Span, count_tokens, excerpt_of

__all__ = ["record_lines", "said_nothing"]

_SHARE: Final = 2
"""The records get half of the budget."""


def record_lines(records: Sequence[Hit], query: str, zone: tzinfo | None, max_tokens: int) -> list[str]:
    """Return a line for each record of a session, oldest first: its day, and what the session was about."""
    lines = []
    for record in sorted(records, key=lambda hit: hit.at):
        line, text = f"({day_of(record.at, zone)}) ", one_line(record.text)
        frame = say(language_of(text), "session_was", text="")
        left = max_tokens // _SHARE // len(records) - count_tokens(line + frame)
        if said := excerpt_of(text, query, left):
            lines.append(line + say(language_of(text), "session_was", text=said))
    return lines


def said_nothing(query: str, span: Span, zone: tzinfo | None) -> str:
    """Return that nothing is remembered from a span, in the query's language."""
    first, last = day_of(span.start, zone), day_of(span.end - 1, zone)
    language = language_of(query)
    days = first if first == last else say(language, "days_from_to", first=first, last=last)
    return say(language, "said_nothing", days=days)
