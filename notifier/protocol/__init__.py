"""The messages between gateways, and events as JSON."""
