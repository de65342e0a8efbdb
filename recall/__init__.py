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

__all__, __getattr__ = lazy(__name__, __file__)
