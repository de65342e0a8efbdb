"""The journal in SQLite: waiting turns, plans, history, sessions and events."""
