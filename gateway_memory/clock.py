"""Times as people see them, in the configured zone."""

from datetime import UTC, datetime, tzinfo

__all__ = ["day_of", "local_time"]


def local_time(at: float, zone: tzinfo | None) -> datetime:
    """Return the aware time of an instant in epoch seconds; `zone` None is the host's own, daylight saving included."""
    return datetime.fromtimestamp(at, UTC).astimezone(zone)


def day_of(at: float, zone: tzinfo | None) -> str:
    """Return the day of an instant, as YYYY-MM-DD."""
    return f"{local_time(at, zone):%Y-%m-%d}"
