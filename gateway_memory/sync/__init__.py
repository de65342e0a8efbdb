"""Files changed by hand: the index follows, and the sessions hear of it."""
