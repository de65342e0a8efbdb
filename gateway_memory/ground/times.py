"""Local times and days in the configured zone."""

from datetime import UTC, date, datetime, tzinfo
from typing import Final

_FIRST: Final = datetime(2, 1, 1, tzinfo=UTC).timestamp()
_LAST: Final = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
"""Every zone can represent times between these as a date in Python. Times beyond are shown as one of them."""


def local_now() -> datetime:
    """Return the present time (aware), in the machine's zone."""
    return datetime.now().astimezone()


def local_time(at: float, zone: tzinfo | None) -> datetime:
    """Return the aware time of an instant in epoch seconds. `zone` None is the machine's zone, with daylight saving."""
    return datetime.fromtimestamp(min(_LAST, max(_FIRST, at)), UTC).astimezone(zone)


def date_of(at: float, zone: tzinfo | None) -> date:
    """Return the day of an instant (epoch seconds)."""
    return local_time(at, zone).date()


def day_of(at: float, zone: tzinfo | None) -> str:
    """Return the day of an instant (epoch seconds) as YYYY-MM-DD."""
    return date_of(at, zone).isoformat()  # strftime pads no year


def noon_of(day: str, zone: tzinfo | None) -> float | None:
    """Return noon of a day (YYYY-MM-DD) in epoch seconds, or None if the day does not exist, such as 2026-13-45."""
    try:
        return datetime.strptime(day, "%Y-%m-%d").replace(hour=12, tzinfo=zone).timestamp()
    except (ValueError, OverflowError):  # noon of 0001-01-01 can be out of range
        return None
