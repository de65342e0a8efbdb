"""Tells the other sessions what one of them has learnt: by a bus in the process, by MQTT between processes."""

from gateway_memory.ground import lazy

# What MQTT needs is loaded only where it is switched on.
__all__, __getattr__ = lazy(__name__, __file__)
