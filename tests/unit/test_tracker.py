"""Each event once, in order, whatever the order and however often it comes; what is missing is asked for."""

from hypothesis import given
from hypothesis import strategies as st

from notifier.tracker import FIRST_WAIT_SECONDS, LONGEST_SECONDS, REQUESTED_AT_ONCE, Gap, Tracker


def test_what_comes_in_order_is_given_out_at_once() -> None:
    tracker: Tracker[str] = Tracker({"a": 4})
    assert tracker.offer("a", 5, "five", 0) == ["five"]
    assert tracker.offer("a", 5, "five", 0) is None
    assert tracker.offer("a", 3, "three", 0) is None
    assert tracker.offer("b", 1, "one", 0) == ["one"]
    assert tracker.next_due() is None


def test_a_gap_is_requested_after_a_short_wait_and_ever_more_rarely() -> None:
    tracker: Tracker[int] = Tracker({})
    assert tracker.offer("a", 3, 3, 0) == []
    assert tracker.due(0) == []
    now, waits = 0.0, []
    for _ in range(9):
        due = tracker.next_due()
        assert due is not None
        waits.append(due - now)
        now = due
        assert tracker.due(now) == [Gap(origin="a", first=1, last=2)]
        assert tracker.due(now) == []
    assert waits[:4] == [FIRST_WAIT_SECONDS, FIRST_WAIT_SECONDS, 2 * FIRST_WAIT_SECONDS, 4 * FIRST_WAIT_SECONDS]
    assert waits[-1] == LONGEST_SECONDS
    assert tracker.offer("a", 1, 1, now) == [1]
    assert tracker.offer("a", 2, 2, now) == [2, 3]
    assert tracker.next_due() is None


def test_a_head_that_is_ahead_is_a_gap_too_and_a_long_one_is_asked_for_in_pieces() -> None:
    tracker: Tracker[int] = Tracker({"a": 1})
    tracker.head("a", 1000, 0)
    asked: list[int] = []
    now = FIRST_WAIT_SECONDS
    while gaps := tracker.due(now):
        (gap,) = gaps
        assert gap.last - gap.first < REQUESTED_AT_ONCE
        asked += range(gap.first, gap.last + 1)
        for number in range(gap.first, gap.last + 1):
            assert tracker.offer("a", number, number, now) == [number]
    assert asked == list(range(2, 1001)), "an answered question is followed by the next at once"


def test_what_is_gone_is_waited_for_no_longer() -> None:
    tracker: Tracker[int] = Tracker({"a": 1})
    for number in (4, 6, 9):
        assert tracker.offer("a", number, number, 0) == []
    assert tracker.skip("a", 5, 0) == [4, 6]
    assert tracker.received_upto("a") == 6
    assert tracker.skip("a", 3, 0) == []
    assert tracker.skip("a", 10**9, 0) == [9], "nobody can say more is gone than there was"
    assert tracker.received_upto("a") == 9


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 30)), max_size=120),
    st.integers(1, 8),
    st.dictionaries(st.sampled_from("ab"), st.integers(0, 10)),
)
def test_any_order_with_any_repetition_is_given_out_once_in_order(
    arrivals: list[tuple[str, int]], limit: int, start: dict[str, int]
) -> None:
    tracker: Tracker[int] = Tracker(start, limit=limit)
    given_out: dict[str, list[int]] = {"a": [], "b": []}
    for now, (origin, number) in enumerate(arrivals):
        given_out[origin] += tracker.offer(origin, number, number, now) or []
        assert len(tracker._origins[origin].pending) <= limit + 1
    for _ in range(200):  # whoever answers what is asked brings all of it to an end
        due = tracker.next_due()
        if due is None:
            break
        for gap in tracker.due(due):
            for number in range(gap.first, gap.last + 1):
                given_out[gap.origin] += tracker.offer(gap.origin, number, number, due) or []
    assert tracker.next_due() is None
    for origin, numbers in given_out.items():
        highest = max((number for name, number in arrivals if name == origin), default=0)
        assert numbers == list(range(start.get(origin, 0) + 1, highest + 1))
