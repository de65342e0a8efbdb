"""Editors' hooks: one short process each, which imports next to nothing and never fails its editor."""
