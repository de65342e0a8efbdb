"""In order and once: sending, receiving, and what is missing."""
