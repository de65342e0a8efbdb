"""The threads in which recall computes."""
