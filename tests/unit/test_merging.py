"""Two edits of one text: merged line by line, or refused where both changed the same lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_memory.store.patches import merged

BASE = "# Memory\n\n- one\n- two\n- three\n"
TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d", "", "\r"]), max_size=8).map("\n".join)


@pytest.mark.parametrize(
    ("theirs", "mine", "both"),
    [
        (BASE + "- four\n", BASE.replace("one", "1"), BASE.replace("one", "1") + "- four\n"),
        (BASE + "- four\n", BASE.replace("three", "3"), BASE.replace("three", "3") + "- four\n"),  # neighbours
        (BASE.replace("one", "1"), BASE.replace("two", "2"), BASE.replace("one", "1").replace("two", "2")),
        (BASE.replace("- one\n", ""), "- zero\n" + BASE, "- zero\n" + BASE.replace("- one\n", "")),
        (BASE.replace("one", "1"), BASE.replace("one", "1") + "- four\n", BASE.replace("one", "1") + "- four\n"),
        (BASE + "- four\n", BASE.replace("- three\n", "- 3"), BASE.replace("three", "3") + "- four\n"),  # its end
        (BASE + "- four\r\n", BASE.replace("one\n", "one\r\n"), BASE.replace("one\n", "one\r\n") + "- four\r\n"),
    ],
)
def test_edits_of_different_lines_are_both_there(theirs: str, mine: str, both: str) -> None:
    assert merged(BASE, theirs, mine).text == both
    assert merged(BASE, mine, theirs).text == both


@pytest.mark.parametrize(
    ("theirs", "mine", "line"),
    [
        (BASE.replace("two", "2"), BASE.replace("two", "II"), 4),
        (BASE.replace("- two\n", ""), BASE.replace("two", "II"), 4),
        (BASE + "- four\n", BASE + "- vier\n", 6),
        ("", BASE.replace("two", "II"), 4),
        ("", BASE.replace("- two\n", "- two\n- and a half\n"), 5),
        (BASE.replace("- two\n- three\n", "- 2\n"), BASE.replace("- three\n", "- and a half\n- three\n"), 5),
    ],
)
def test_edits_of_the_same_lines_conflict(theirs: str, mine: str, line: int) -> None:
    assert merged(BASE, theirs, mine).conflicts == (line,)
    assert merged(BASE, mine, theirs).conflicts


@given(TEXTS, TEXTS, TEXTS)
def test_an_edit_is_neither_lost_nor_made_up(base: str, theirs: str, mine: str) -> None:
    assert merged(base, base, mine).text == mine
    assert merged(base, theirs, base).text == theirs
    assert merged(base, mine, mine).text == mine
    one, other = merged(base, theirs, mine), merged(base, mine, theirs)
    assert bool(one.conflicts) == bool(other.conflicts)
    assert one.text == other.text
    if not one.conflicts:
        lines = {*base.split("\n"), *theirs.split("\n"), *mine.split("\n")}
        assert set(one.text.split("\n")) <= lines | {""}
