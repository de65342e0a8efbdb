"""What replacing a file's entries means for its rows. Pure, so that every adapter does the same."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gateway_memory.ground.holds import plain_of
from recall.rows.tables import SearchTerms
from recall.text.row_texts import indexed_text
from recall.text.topics import traits_of
from recall.text.words import clean_text, single_terms, terms_of, tokens_of
from recall.types import Entry, FileEntries, Stored


class Replacement(NamedTuple):
    """What is to be done. left: rows whose ids left their file. gone: the sequences to remove, also of changed texts.

    changed: rows whose text stays, by sequence, with their file, new attributes and traits. fresh: rows to insert, with
    their file, in this order.
    """

    left: list[Stored]
    gone: list[int]
    changed: list[tuple[int, str, Entry, int]]
    fresh: list[tuple[str, Entry, SearchTerms]]


def plan_replacements(
    known: Sequence[Stored], files: Sequence[FileEntries], prepared: Mapping[str, SearchTerms]
) -> Replacement:
    """Compare the entries of files with what is known: their rows, and those of other files with these ids.

    An unchanged row keeps its sequence and its vector, also where it moved here from another file. A changed text is a
    new row. Of two entries with one id the first counts. New rows are inserted in the order of the entries.
    """
    plan = Replacement([], [], [], [])
    rows = {stored.entry.id: stored for stored in known}
    for file in files:
        entries = {entry.id: cleaned(entry) for entry in reversed(file.entries)}
        left = [row for id_, row in rows.items() if row.file == file.name and id_ not in entries]
        plan.gone.extend(stored.sequence for stored in left)
        plan.left.extend(left)
        fresh: list[tuple[str, Entry, SearchTerms]] = []
        for entry in entries.values():
            stored = rows.get(entry.id)
            if stored is not None and same_text(stored.entry, entry):
                if stored.entry != entry or stored.file != file.name:
                    traits = traits_of(entry.text, standing=entry.standing)
                    plan.changed.append((stored.sequence, file.name, entry, traits))
                    rows[entry.id] = replace(stored, entry=entry, file=file.name)
                continue
            if stored is not None:
                plan.gone.append(stored.sequence)
                del rows[entry.id]
            fresh.append((file.name, entry, prepared.get(entry.id) or prepare(entry)))
        for stored in left:
            del rows[stored.entry.id]
        plan.fresh.extend(reversed(fresh))
    return plan


def prepare(entry: Entry) -> SearchTerms:
    """Return what an entry is searched by.

    The days that are noted at its end and single characters follow its terms, and do not count for its length: nobody
    has said them.
    """
    text = indexed_text(entry)
    said = plain_of(entry.text) if entry.kind == "item" else entry.text
    terms = terms_of(tokens_of(text if said == entry.text else indexed_text(replace(entry, text=said))))
    noted = terms_of(tokens_of(entry.text[len(said) :]))
    speaker = terms_of(tokens_of(clean_text(entry.speaker, 100)))
    all_terms = terms + noted + single_terms(text)
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
