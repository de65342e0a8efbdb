"""The public calls of an open memory, in groups."""
