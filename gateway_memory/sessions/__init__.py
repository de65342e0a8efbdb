"""The sessions of a memory."""
