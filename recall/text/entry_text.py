"""Of a memory: the text that is indexed, and the text of which a vector is made."""

from recall.text.words import clean_text
from recall.types import Entry

__all__ = ["LONGEST_EMBEDDED", "LONGEST_ROW", "embedded_text", "indexed_text"]

LONGEST_EMBEDDED = 600


LONGEST_ROW = 4000


def indexed_text(entry: Entry) -> str:
    """What of a row its words are taken from."""
    parts = (entry.speaker, entry.heading, entry.text, entry.reply)
    return clean_text("\n".join(part for part in parts if part), LONGEST_ROW)


def embedded_text(entry: Entry) -> str:
    """What of a row its vector is made of. A bare "thanks" of a chat is nearer to all others than to its speaker."""
    said = ": ".join(part for part in (entry.speaker, entry.heading, entry.text) if part)
    return clean_text("\n".join(part for part in (said, entry.reply) if part), LONGEST_EMBEDDED)
