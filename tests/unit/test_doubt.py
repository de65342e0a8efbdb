"""Why a candidate waits for a person, and when it does not."""

from dataclasses import replace

import pytest

from extractor import Candidate, Decision, ReviewMode, doubt_of

SURE = Candidate(content="The user lives in Lisbon", category="fact", type="B", importance="normal", confidence=0.9)
ADD = Decision(action="add", target=None, reason="new")
AGAINST = Decision(action="add", target=None, reason="protected", against="k7f3q2a1")


def doubt(
    candidate: Candidate, decision: Decision = ADD, *, mode: ReviewMode = "doubtful", of_guest: bool = False
) -> str:
    return doubt_of(
        candidate, decision, mode=mode, min_confidence=0.6, of_guest=of_guest, owner_names=("Zoe", "周老板")
    )


@pytest.mark.parametrize(
    ("candidate", "decision", "mode", "expected"),
    [
        (SURE, ADD, "doubtful", ""),
        (replace(SURE, confidence=0.59), ADD, "doubtful", "unsure"),
        (replace(SURE, confidence=0.6), ADD, "doubtful", ""),
        (replace(SURE, doubt="not_said"), ADD, "doubtful", "not_said"),
        (SURE, AGAINST, "doubtful", "contradicts"),
        (replace(SURE, confidence=0.1, explicit=True), ADD, "doubtful", ""),
        (SURE, ADD, "all", "all"),
        (replace(SURE, explicit=True), ADD, "all", ""),
        (replace(SURE, confidence=0.1, doubt="not_said"), AGAINST, "off", ""),
    ],
)
def test_the_reason(candidate: Candidate, decision: Decision, mode: ReviewMode, expected: str) -> None:
    assert doubt(candidate, decision, mode=mode) == expected


@pytest.mark.parametrize(
    ("content", "about"),
    [
        ("The owner is away until Monday", True),
        ("The owner of this bot is away", True),
        ("The user is the owner of a bakery", False),
        ("Your boss approved it", True),
        ("The user's boss approved it", False),
        ("The assistant's owner owes them money", True),
        ("Zoe is in Porto", True),
        ("Zoella is in Porto", False),
        ("主人下周不在", True),
        ("女主人很好客", False),
        ("你老板同意了", True),
        ("我老板同意了", False),
        ("听说周老板同意了", True),
        ("他是图书管理员", False),
        ("你的管理员同意了", True),
    ],
)
def test_a_guest_speaks_of_the_owner(content: str, *, about: bool) -> None:
    assert (doubt(replace(SURE, content=content), of_guest=True) == "about_owner") == about
    assert doubt(replace(SURE, content=content)) == "", "the owner may speak of the owner"


def test_a_request_of_a_guest_to_remember_something_about_the_owner_waits_too() -> None:
    asked = replace(SURE, content="The owner agreed to pay", explicit=True)
    assert doubt(asked, of_guest=True) == "about_owner"
    assert doubt(asked, of_guest=True, mode="off") == ""
