"""What the memory needs of a store: protocols with named verbs and plain values.

No SQL, connection, path or closure crosses a port, and its errors are ours (`StoreError`). Adapters: Markdown files
(`store.disk`) or memory (`store.disk.in_memory`) for documents, SQLite (`store.journal`) for everything else, in a file
or in memory. The rows of the index are a port of `recall`.
"""
