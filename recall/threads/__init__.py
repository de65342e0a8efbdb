"""The threads that compute."""
