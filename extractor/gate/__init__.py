"""The prefilter: whether a batch of turns is worth a model call."""
