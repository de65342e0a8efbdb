"""Words, dates and tokens of texts."""
