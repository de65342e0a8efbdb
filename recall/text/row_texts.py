"""The texts of an entry that are indexed and encoded."""

from recall.text.words import clean_text
from recall.types import Entry

LONGEST_EMBEDDED = 600
LONGEST_ROW = 4000


def indexed_text(entry: Entry) -> str:
    """Return the text from which an entry's terms are taken."""
    parts = (entry.speaker, entry.heading, entry.text, entry.reply)
    return clean_text("\n".join(part for part in parts if part), LONGEST_ROW)


def embedded_text(entry: Entry) -> str:
    """Return the text that is encoded. It names the speaker: a bare "thanks" is near to every other one."""
    said = ": ".join(part for part in (entry.speaker, entry.heading, entry.text) if part)
    return clean_text("\n".join(part for part in (said, entry.reply) if part), LONGEST_EMBEDDED)
