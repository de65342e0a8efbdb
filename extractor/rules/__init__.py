"""Rules that extract explicit statements from a turn, without a model."""
