"""The model that reads a batch, what it is asked, and what of its answer counts."""
