"""The journal: turns that wait, plans, history, sessions and events, in SQLite."""
