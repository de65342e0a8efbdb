"""The broker and how we log in to it."""
