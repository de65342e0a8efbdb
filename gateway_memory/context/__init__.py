"""Before a reply, and at the start: what a session is told."""
