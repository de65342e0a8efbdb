"""The adapter for PostgreSQL: many hosts share one memory. It needs the extra `postgres`."""
