"""The rules that read a turn at once: what the user plainly says."""
