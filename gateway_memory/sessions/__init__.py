"""The start and end of sessions, and the records that are saved of them."""
