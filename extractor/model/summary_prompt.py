"""The prompt for a session's summary. Observations are data: JSON within a fence that no text can close."""

from typing import Final

from extractor.cleaning.clean import clean
from extractor.model.summary import SummaryInput

from .prompt import as_data, list_schema, object_schema, text_schema

LONGEST: Final = 24_000
"""Characters of all observations. The first ones tell what was wanted, the last ones where the session ended."""
_LONGEST_EACH: Final = 1_200
SUMMARY_SCHEMA: Final = object_schema(
    **{name: text_schema() for name in ("topic", "wanted", "done", "open", "next")},
    **{name: list_schema(text_schema()) for name in ("decisions", "todos")},
)


def summary_message(given: SummaryInput) -> str:
    """Return the user message, without private observations."""
    rows = [
        {"kind": each.kind, **({"tool": clean(each.tool).text} if each.tool else {}), "text": clean(each.content).text}
        for each in given.seen
        if not each.private
    ]
    rows = [{**row, "text": row["text"][:_LONGEST_EACH]} for row in rows if row["text"]]
    head: list[dict[str, str]] = []
    tail: list[dict[str, str]] = []
    room = LONGEST
    while rows and room > 0:
        part, at = (head, 0) if len(head) <= len(tail) // 3 else (tail, -1)
        part.append(rows.pop(at))
        room -= len(part[-1]["text"])
    data = {
        "facts": [clean(text).text for text in given.facts][-60:],
        "stage_summaries": [clean(text).text for text in given.stages][-30:],
        "seen": [*head, *reversed(tail)],
    }
    return f"<session>\n{as_data(data)}\n</session>"
