"""Finds the memories that a message needs, by words and by meaning, or nothing.

    recaller = Recaller(path_of_index, RecallSettings(), zone=None)
    await recaller.open()
    await recaller.replace_file("owner", "MEMORY.md", stamp, entries)
    request = SearchRequest(scope="owner", query="写个脚本", limit=3, min_score=0.5, now=time.time())
    recall = await recaller.search(request, timeout_seconds=2)
    text = render_block("Relevant Memory", "Notes from earlier sessions.", lines, 500)

Each name is imported when it is first used: a hook, a process of its own, needs next to none of them. numpy is imported
in the threads of an open Recaller alone.
"""

from gateway_memory.ground import lazy

__all__, __getattr__ = lazy(
    __name__,
    {
        ".encoding.encoder": ("GivenEncoder", "TextEncoder"),
        ".recaller": ("Recaller",),
        ".rows.peek": ("Peek", "peek"),
        ".rows.postgres": ("PostgresRows",),
        ".rows.server": ("SEE", "as_psycopg", "storable"),
        ".rows.shards": ("SHARD", "shard_of"),
        ".rows.sql": ("Rows",),
        ".rows.sqlite": ("erase_scope",),
        ".rows.waiting": ("SilentError", "TimeoutConnection", "is_loss"),
        ".search.in_place": ("related",),
        ".settings": ("EmbedderSettings", "RecallSettings"),
        ".text.passages": ("passages_of",),
        ".text.questions": ("Span", "asks_what_was", "talk_of"),
        ".text.render": ("FENCE_END", "FENCE_START", "count_tokens", "excerpt_of", "quoted", "render_block"),
        ".text.words": ("text_overlap", "tokens_of"),
        ".threads": ("consume_exception",),
        ".types": (
            "FOR_GOOD",
            "EmbeddingError",
            "Entry",
            "FileChange",
            "FileEntries",
            "Filter",
            "Hit",
            "Line",
            "Near",
            "Recall",
            "RecallError",
            "RecallOutcome",
            "SearchRequest",
            "Stamp",
            "Stored",
            "Vectors",
        ),
    },
)
