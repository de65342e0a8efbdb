"""Synchronize the index with the files, and notify sessions of edits by hand."""
