"""What replacing a file's entries means for its rows. Pure, so that every adapter does the same."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from recall.rows.port import SearchTerms
from recall.text.entry_text import indexed_text
from recall.text.topics import traits_of
from recall.text.words import clean_text, single_terms, terms_of, tokens_of
from recall.types import Entry, Stored

__all__ = ["Replacement", "cleaned", "plan_replacement", "prepare", "same_text"]


class Replacement(NamedTuple):
    """What is to be done. left: rows whose ids left the file. gone: the sequences to remove, also of changed texts.

    changed: rows whose text stays, by sequence, with their new attributes and traits. fresh: rows to insert, in this
    order.
    """

    left: tuple[Stored, ...]
    gone: list[int]
    changed: list[tuple[int, Entry, int]]
    fresh: list[tuple[Entry, SearchTerms]]


def plan_replacement(
    known: Sequence[Stored], file: str, entries: Sequence[Entry], prepared: Mapping[str, SearchTerms]
) -> Replacement:
    """Compare a file's entries with what is known: the rows of the file, and those of other files with these ids.

    An unchanged row keeps its sequence and its vector, also where it moved here from another file. A changed text is a
    new row. Of two entries with one id the first counts. New rows are inserted in the order of the entries.
    """
    by_id = {stored.entry.id: stored for stored in known}
    wanted = {entry.id: cleaned(entry) for entry in reversed(entries)}
    left = tuple(stored for id_, stored in by_id.items() if id_ not in wanted)
    gone = [stored.sequence for stored in left]
    changed: list[tuple[int, Entry, int]] = []
    fresh: list[tuple[Entry, SearchTerms]] = []
    for entry in wanted.values():
        stored = by_id.get(entry.id)
        if stored is not None and same_text(stored.entry, entry):
            if stored.entry != entry or stored.file != file:
                changed.append((stored.sequence, entry, traits_of(entry.text, standing=entry.standing)))
            continue
        if stored is not None:
            gone.append(stored.sequence)
        fresh.append((entry, prepared.get(entry.id) or prepare(entry)))
    return Replacement(left, gone, changed, fresh[::-1])


def prepare(entry: Entry) -> SearchTerms:
    """Return what an entry is searched by. Single characters follow its terms, and do not count for its length."""
    text = indexed_text(entry)
    terms = terms_of(tokens_of(text))
    speaker = terms_of(tokens_of(clean_text(entry.speaker, 100)))
    all_terms = terms + single_terms(text)
    return SearchTerms(
        traits=traits_of(entry.text, standing=entry.standing),
        speaker_term=speaker[0] if speaker else 0,
        length=len(terms),
        terms=struct.pack(f"<{len(all_terms)}I", *all_terms),
    )


def same_text(known: Entry | None, entry: Entry) -> bool:
    """Return whether a known row has the search terms and the vector of a cleaned entry."""
    return known is not None and (known.text, known.heading, known.speaker, known.reply) == (
        entry.text,
        entry.heading,
        entry.speaker,
        entry.reply,
    )


def cleaned(entry: Entry) -> Entry:
    """Return an entry without lone surrogates, which no database takes."""
    dirty = {
        name: value.encode("utf-8", "replace").decode()
        for name in ("id", "text", "category", "session", "heading", "speaker", "reply")
        if not (value := getattr(entry, name)).isascii()
    }
    return replace(entry, **dirty) if dirty else entry
