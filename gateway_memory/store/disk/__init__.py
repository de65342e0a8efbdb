"""Documents as files in a workspace: one writer at a time, whole files, and a place for each process."""
