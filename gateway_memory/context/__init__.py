"""What a session is given before a reply, and at its start."""
