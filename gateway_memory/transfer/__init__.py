"""Import, export and deletion."""
