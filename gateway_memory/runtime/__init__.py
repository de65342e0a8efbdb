"""What every part runs with: the clock, the shared values, background tasks and threads."""
