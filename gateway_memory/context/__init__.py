"""What a session is told before a reply, and when it starts."""
