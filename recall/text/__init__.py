"""What the other folders know of words, dates and tokens."""
