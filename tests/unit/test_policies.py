"""Calls that fail are tried again, and a server that keeps failing is left alone for a while."""

from contextlib import suppress

import pytest

from gateway_memory.ground.policies import Breaker, backoff, is_logged, retry


def test_it_opens_after_failures_in_a_row_and_closes_after_one_success() -> None:
    now = 0.0
    breaker = Breaker(failures=3, open_seconds=10, clock=lambda: now)

    def call(error: Exception | None = None) -> str:
        guard = breaker.guard(lambda: OSError("left alone"), lambda raised: isinstance(raised, ValueError))
        with suppress(ValueError, LookupError), guard:
            if error:
                raise error
            return "answered"
        return "failed"

    assert [call(ValueError()), call(ValueError()), call()] == ["failed", "failed", "answered"]
    now = 1.0
    assert [call(ValueError()), call(ValueError()), call(LookupError()), call(ValueError())] == ["failed"] * 4
    now = 10.9
    with pytest.raises(OSError, match="left alone"):
        call()
    now = 11.0
    assert call(ValueError()) == "failed", "one call decides"
    with pytest.raises(OSError, match="left alone"):
        call()
    now = 21.0
    assert call() == "answered"
    assert not breaker.is_open


async def test_work_is_done_again_until_it_succeeds_or_its_pause_says_so() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def work() -> str:
        if len(slept) < 3:
            raise ValueError(len(slept))
        return "done"

    assert await retry(work, lambda _, attempt: attempt / 10, sleep=sleep) == "done"
    assert slept == [0.1, 0.2, 0.3]
    slept.clear()
    with pytest.raises(ValueError, match="1"):
        await retry(work, lambda _, attempt: 0.1 if attempt < 2 else None, sleep=sleep)


def test_pauses_grow_up_to_the_longest_and_are_random() -> None:
    for attempt, most in ((1, 0.5), (2, 1.0), (3, 2.0), (10, 20.0), (100_000, 20.0)):
        pauses = [backoff(attempt, longest=20, least=0.5) for _ in range(50)]
        assert all(most / 2 <= pause <= most for pause in pauses)
        assert len(set(pauses)) > 1
    assert [attempt for attempt in range(1, 20) if is_logged(attempt)] == [1, 2, 4, 8, 16]
