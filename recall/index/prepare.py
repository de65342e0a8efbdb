"""What of an entry is stored and searched by. Pure."""

from dataclasses import replace

import numpy as np

from recall.index.store import IndexedRow
from recall.text.entry_text import indexed_text
from recall.text.topics import traits_of
from recall.text.words import clean_text, single_terms, terms_of, tokens_of
from recall.types import Entry

__all__ = ["cleaned", "prepare", "same_text"]


def prepare(entry: Entry) -> IndexedRow:
    """What an entry is searched by. Its single characters stand behind its terms and don't count for its length."""
    text = indexed_text(entry)
    terms = terms_of(tokens_of(text))
    speaker = terms_of(tokens_of(clean_text(entry.speaker, 100)))
    return IndexedRow(
        traits=traits_of(entry.text, entry.category),
        speaker_term=speaker[0] if speaker else 0,
        length=len(terms),
        terms=np.array(terms + single_terms(text), "<u4").tobytes(),
    )


def same_text(known: Entry | None, entry: Entry) -> bool:
    """Whether words and vector of a known row are those of an entry."""
    if known is None:
        return False
    entry = cleaned(entry)
    return (known.text, known.heading, known.speaker, known.reply) == (
        entry.text,
        entry.heading,
        entry.speaker,
        entry.reply,
    )


def cleaned(entry: Entry) -> Entry:
    """SQLite takes no lone surrogates."""
    dirty = {
        name: value.encode("utf-8", "replace").decode()
        for name in ("id", "text", "category", "session", "heading", "speaker", "reply")
        if not (value := getattr(entry, name)).isascii()
    }
    return replace(entry, **dirty) if dirty else entry
