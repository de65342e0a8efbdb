"""Finds the memories that a message needs, by words and by meaning, or nothing.

    recaller = Recaller(path_of_index, RecallSettings(), zone=None)
    await recaller.open()
    await recaller.replace_file("owner", "MEMORY.md", stamp, entries)
    recall = await recaller.search("owner", "写个脚本", limit=3, min_score=0.5, timeout_seconds=2, now=time.time())
    text = render_block("Relevant Memory", "Notes from earlier sessions.", lines, 500)

Each name is imported when it is first used: a hook, a process of its own, needs next to none of them. numpy is imported
in the threads of an open Recaller alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recall.encoding.encoder import GivenEncoder, TextEncoder
    from recall.recaller import Recaller
    from recall.rows.peek import Peek, peek
    from recall.rows.postgres import PostgresRows
    from recall.rows.server import SilentError, TimeoutConnection, is_loss
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
        Near,
        Recall,
        RecallError,
        RecallOutcome,
        Stamp,
        Stored,
        Vectors,
    )

__all__ = [
    "FENCE_END",
    "FENCE_START",
    "EmbedderSettings",
    "EmbeddingError",
    "Entry",
    "FileChange",
    "FileEntries",
    "Filter",
    "GivenEncoder",
    "Hit",
    "Near",
    "Peek",
    "PostgresRows",
    "Recall",
    "RecallError",
    "RecallOutcome",
    "RecallSettings",
    "Recaller",
    "Rows",
    "SilentError",
    "Span",
    "Stamp",
    "Stored",
    "TextEncoder",
    "TimeoutConnection",
    "Vectors",
    "asks_what_was",
    "consume_exception",
    "count_tokens",
    "erase_scope",
    "excerpt_of",
    "is_loss",
    "passages_of",
    "peek",
    "quoted",
    "related",
    "render_block",
    "talk_of",
    "text_overlap",
    "tokens_of",
]

_HOMES = {
    "FENCE_END": "text.render",
    "FENCE_START": "text.render",
    "EmbedderSettings": "settings",
    "GivenEncoder": "encoding.encoder",
    "TextEncoder": "encoding.encoder",
    "TimeoutConnection": "rows.server",
    "Peek": "rows.peek",
    "PostgresRows": "rows.postgres",
    "RecallSettings": "settings",
    "Recaller": "recaller",
    "Rows": "rows.sql",
    "SilentError": "rows.server",
    "is_loss": "rows.server",
    "Span": "text.dates",
    "asks_what_was": "text.dates",
    "consume_exception": "threads",
    "count_tokens": "text.render",
    "erase_scope": "rows.sqlite",
    "excerpt_of": "text.passages",
    "passages_of": "text.passages",
    "peek": "rows.peek",
    "quoted": "text.render",
    "related": "search.in_place",
    "render_block": "text.render",
    "talk_of": "text.dates",
    "text_overlap": "text.words",
    "tokens_of": "text.words",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'types')}"), name)
    globals()[name] = value
    return value
