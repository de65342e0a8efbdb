"""Models: requests, prompts, and checks of their answers."""
