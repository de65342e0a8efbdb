"""Who is speaking: from what a host has verified to the owner, a person or a room, or to a refusal."""
