"""Process replies: accept, read, merge and write turns, and undo their changes."""
