"""Finds the memories that a message needs, by words and by meaning, or nothing.

    recaller = Recaller(path_of_index, RecallSettings(), zone=None)
    await recaller.open()
    await recaller.replace_file("owner", "MEMORY.md", stamp, entries)
    recall = await recaller.search("owner", "写个脚本", limit=3, min_score=0.5, timeout_seconds=2, now=time.time())
    text = render_block("Relevant Memory", "Notes from earlier sessions.", lines, 500)

Each name is imported when it is first used: a hook, a process of its own, needs next to none of them. numpy is imported
in the threads of an open Recaller alone.
"""

from typing import TYPE_CHECKING

from gateway_memory.runtime.ground import lazy

if TYPE_CHECKING:
    from recall.encoding.encoder import GivenEncoder, TextEncoder
    from recall.recaller import Recaller
    from recall.rows.peek import Peek, peek
    from recall.rows.postgres import PostgresRows
    from recall.rows.server import SEE, SilentError, TimeoutConnection, as_psycopg, is_loss, storable
    from recall.rows.sql import Rows
    from recall.rows.sqlite import erase_scope
    from recall.search.in_place import related
    from recall.settings import EmbedderSettings, RecallSettings
    from recall.text.dates import Span, asks_what_was, talk_of
    from recall.text.passages import excerpt_of, passages_of
    from recall.text.render import FENCE_END, FENCE_START, count_tokens, quoted, render_block
    from recall.text.words import text_overlap, tokens_of
    from recall.threads import consume_exception
    from recall.types import (
        EmbeddingError,
        Entry,
        FileChange,
        FileEntries,
        Filter,
        Hit,
        Line,
        Near,
        Recall,
        RecallError,
        RecallOutcome,
        Stamp,
        Stored,
        Vectors,
    )

_HOMES = {
    "encoding.encoder": "GivenEncoder TextEncoder",
    "recaller": "Recaller",
    "rows.peek": "Peek peek",
    "rows.postgres": "PostgresRows",
    "rows.server": "SEE SilentError TimeoutConnection as_psycopg is_loss storable",
    "rows.sql": "Rows",
    "rows.sqlite": "erase_scope",
    "search.in_place": "related",
    "settings": "EmbedderSettings RecallSettings",
    "text.dates": "Span asks_what_was talk_of",
    "text.passages": "excerpt_of passages_of",
    "text.render": "FENCE_END FENCE_START count_tokens quoted render_block",
    "text.words": "text_overlap tokens_of",
    "threads": "consume_exception",
    "types": (
        "EmbeddingError Entry FileChange FileEntries Filter Hit Line Near Recall RecallError RecallOutcome "
        "Stamp Stored Vectors"
    ),
}
"""The public names by the module that has them."""

__all__ = [name for names in _HOMES.values() for name in names.split()]
__getattr__ = lazy(__name__, _HOMES)
