"""The ports of the store: protocols with named operations and plain values.

No SQL, connection, path or closure crosses a port, and a port raises only our errors (`StoreError`). The adapters for
documents are Markdown files (`store.disk`) and memory (`store.disk.in_memory`). The adapter for everything else is
SQL (`store.journal`) over SQLite, in a file or in memory. `store.postgres` adapts both for PostgreSQL, where the
journal runs the same queries. The rows of the index are a port of `recall`.
"""
