"""Where the rows of the index are stored: the port, its adapter for SQLite, and a reader without an index."""
