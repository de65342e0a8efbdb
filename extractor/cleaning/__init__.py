"""What must never be stored: private spans, secrets, text that commands the machine."""
