"""After a reply: turns are accepted, read, merged, written, and can be taken back."""
