"""Starts and ends of sessions, and what is saved of them."""
