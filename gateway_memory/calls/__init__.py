"""The calls that a host makes on an open memory, in groups."""
