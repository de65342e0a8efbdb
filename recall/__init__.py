"""Finds the memories that a message needs, by words and by meaning, or nothing.

    recaller = Recaller(path_of_index, RecallSettings(), zone=None)
    await recaller.open()
    await recaller.replace_file("owner", "MEMORY.md", stamp, entries)
    recall = await recaller.search("owner", "写个脚本", limit=3, min_score=0.5, timeout_seconds=2, now=time.time())
    text = render_block("Relevant Memory", "Notes from earlier sessions.", lines, 500)

Importing this package imports no numpy; the index and the encoder load in their own threads when they are opened.
"""

from recall.index.filters import Filter
from recall.recaller import Recaller
from recall.settings import EmbedderSettings, RecallSettings
from recall.text.render import count_tokens, render_block
from recall.text.words import text_overlap
from recall.threads.priority import consume_exception
from recall.types import (
    EmbeddingError,
    Entry,
    FileChange,
    Hit,
    Near,
    Outcome,
    Recall,
    RecallError,
    Stamp,
    Stored,
    Vectors,
)

__all__ = [
    "EmbedderSettings",
    "EmbeddingError",
    "Entry",
    "FileChange",
    "Filter",
    "Hit",
    "Near",
    "Outcome",
    "Recall",
    "RecallError",
    "RecallSettings",
    "Recaller",
    "Stamp",
    "Stored",
    "Vectors",
    "consume_exception",
    "count_tokens",
    "render_block",
    "text_overlap",
]
