"""A provider that keeps failing is left alone for a while, and then tried with one call."""

from gateway_memory.ground.network import Breaker


def test_it_opens_after_failures_in_a_row_and_closes_after_one_success() -> None:
    breaker = Breaker(failures=3, open_seconds=10)
    for _ in range(2):
        breaker.failed(0.0)
    assert breaker.allows(0.0)
    breaker.succeeded()
    for _ in range(3):
        assert breaker.allows(1.0)
        breaker.failed(1.0)
    assert not breaker.allows(10.9)
    assert breaker.allows(11.0)
    assert not breaker.allows(11.1), "one call decides"
    breaker.succeeded()
    assert breaker.allows(11.2)
