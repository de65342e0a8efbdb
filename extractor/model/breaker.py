"""A circuit breaker: a provider that keeps failing is not called for a while. Sans I/O; time is an argument."""

__all__ = ["Breaker"]


class Breaker:
    """Opens after some failures in a row. After `open_seconds` it lets one call through, which closes or reopens it.

    Times are seconds of one monotonic clock.
    """

    def __init__(self, *, failures: int = 3, open_seconds: float = 300.0) -> None:
        self._failures = failures
        self._open_seconds = open_seconds
        self._failed = 0
        self._tried_at = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the provider is not called for a while."""
        return self._failed >= self._failures

    def allows(self, now: float) -> bool:
        """Return whether a call may be made now. While the breaker is open, only one may in each `open_seconds`."""
        if not self.is_open:
            return True
        if now - self._tried_at < self._open_seconds:
            return False
        self._tried_at = now
        return True

    def succeeded(self) -> None:
        """Note that a call was answered."""
        self._failed = 0

    def failed(self, now: float) -> None:
        """Note that a call failed, its retries included."""
        self._failed += 1
        self._tried_at = now
