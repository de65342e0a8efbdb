"""The prefilter: whether a batch of turns is worth asking a model about."""
