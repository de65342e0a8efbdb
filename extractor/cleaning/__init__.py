"""Removes what must never be stored: private spans, secrets, text that gives the machine commands."""
