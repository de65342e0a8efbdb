"""What moves in or out: import, export, deletion."""
