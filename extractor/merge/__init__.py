"""Merges candidates with the known memories."""
