"""The page: what the memory knows, why it said that, and how to take it back, in a browser on this machine."""
