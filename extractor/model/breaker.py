"""A circuit breaker: a provider that keeps failing is left alone for a while. Sans I/O; time is an argument."""

__all__ = ["Breaker"]


class Breaker:
    """Opens after so many failures in a row; after `open_seconds` it lets one call through, which decides anew.

    Times are seconds of any one monotonic clock.
    """

    def __init__(self, *, failures: int = 3, open_seconds: float = 300.0) -> None:
        self._failures = failures
        self._open_seconds = open_seconds
        self._failed = 0
        self._tried_at = 0.0

    def allows(self, now: float) -> bool:
        """Whether a call may be made now; one that may, while it is open, is the only one for `open_seconds`."""
        if self._failed < self._failures:
            return True
        if now - self._tried_at < self._open_seconds:
            return False
        self._tried_at = now
        return True

    def succeeded(self) -> None:
        """A call was answered."""
        self._failed = 0

    def failed(self, now: float) -> None:
        """A call failed for good."""
        self._failed += 1
        self._tried_at = now
