"""From a message to hits, within a deadline."""
