"""Of many callers at once a few go on in each turn of the event loop, in their order; few callers wait for nothing."""

import asyncio
import time

from gateway_memory.context.pace import Pace


async def test_many_are_spread_over_turns_in_their_order() -> None:
    pace, turn = Pace(3), 0
    passed: list[tuple[int, int]] = []

    async def caller(number: int) -> None:
        await pace.turn(60)
        passed.append((turn, number))

    callers = [asyncio.ensure_future(caller(number)) for number in range(10)]
    while len(passed) < len(callers):
        await asyncio.sleep(0)
        turn += 1
    assert [number for _, number in passed] == list(range(10))
    turns = [when for when, _ in passed]
    assert max(turns.count(when) for when in turns) == 3
    assert max(turns) == 4  # the first few, a turn in which it shows who waits, and three more


async def test_a_few_wait_for_nothing() -> None:
    pace = Pace(3)
    for _ in range(20):
        for _ in range(3):
            step = pace.turn(60)
            try:
                step.send(None)
            except StopIteration:
                continue
            raise AssertionError("it waited")
        await asyncio.sleep(0)


async def test_one_that_is_cancelled_leaves_its_place_to_the_next() -> None:
    pace = Pace(1)
    callers = [asyncio.ensure_future(pace.turn(60)) for _ in range(4)]
    await asyncio.sleep(0)
    callers[1].cancel()
    await asyncio.wait_for(asyncio.gather(callers[0], *callers[2:]), 1)


async def test_slow_turns_keep_nobody_past_its_time() -> None:
    pace, passed = Pace(1), 0

    async def caller() -> None:
        nonlocal passed
        await pace.turn(0.02)
        passed += 1

    callers = [asyncio.ensure_future(caller()) for _ in range(50)]
    turns = 0
    while passed < len(callers):
        await asyncio.sleep(0)
        time.sleep(0.01)  # a host that holds its loop
        turns += 1
    assert turns < 10
