"""Persistent storage: Markdown documents (the source of truth) and the journal (state that must survive a crash)."""
