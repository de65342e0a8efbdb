"""Extracts memories from conversations: cleaning, rules, the prefilter, models, and merging with known memories."""

from gateway_memory.ground import lazy

# A hook that only masks a text must not load the rules and the prefilter.
__all__, __getattr__ = lazy(__name__, __file__)
