"""Delivery in order and without duplicates: sending, receiving, and gaps."""
