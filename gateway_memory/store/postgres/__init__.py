"""The adapter for PostgreSQL: many processes share one memory. It needs the extra `postgres`."""
