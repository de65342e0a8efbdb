"""Of memories that say nearly the same, the newest stands for all."""

import numpy as np

from recall.ranking import rank


def arranged(
    ranks: list[float], times: list[float], alike: list[tuple[int, int]], coverage: list[float] | None = None
) -> list[int]:
    same = np.eye(len(ranks), dtype=bool)
    for one, other in alike:
        same[one, other] = same[other, one] = True
    if coverage is not None:
        same &= rank.covering_alike(np.array(coverage, np.float32))
    numbers = np.arange(len(ranks))[::-1].copy()
    found = rank.newest_first(np.array(ranks, np.float32), np.array(times), numbers, same)
    return [int(place) for place in np.argsort(-found, kind="stable")]


def test_the_newest_takes_the_best_place_and_the_others_make_room() -> None:
    assert arranged([3.0, 2.8, 2.6, 2.4], [1, 9, 5, 5], [(0, 2), (0, 3)]) == [2, 1, 0, 3]


def test_what_is_not_alike_keeps_its_order() -> None:
    assert arranged([3.0, 2.0, 1.0], [1, 2, 3], []) == [0, 1, 2]


def test_of_one_time_the_later_row_is_newer() -> None:
    assert arranged([3.0, 2.0], [5, 5], [(0, 1)]) == [0, 1]


def test_a_newer_line_that_lacks_what_was_asked_for_is_no_version() -> None:
    assert arranged([3.0, 2.0], [1, 2], [(0, 1)], coverage=[1.0, 0.1]) == [0, 1]
    assert arranged([3.0, 2.0], [1, 2], [(0, 1)], coverage=[1.0, 0.9]) == [1, 0]
