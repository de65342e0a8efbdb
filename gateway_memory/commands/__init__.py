"""What a person types in the chat: `/memory …`."""
