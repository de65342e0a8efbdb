"""Editors' hooks: each runs as a short process with few imports, and never fails its editor."""
