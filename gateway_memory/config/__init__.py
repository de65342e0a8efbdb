"""The settings: declared, read, checked and shown."""
