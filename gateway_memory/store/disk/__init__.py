"""Documents as files in a workspace: one writer at a time, atomic replacement, and a slot for each process."""
