"""What of a text the page marks: the words that say a memory, and what differs."""

import pytest

from gateway_memory.serving.page.marking import Pieces, difference, doubted, evidence, unsaid


def marked(pieces: Pieces) -> list[str]:
    return [text for text, is_marked in pieces if is_marked]


@pytest.mark.parametrize(
    ("text", "said", "quote", "expected"),
    [
        ("the car goes to the garage on Friday", "Remember that the car goes to the garage on Friday.", "",
         ["the car goes to the garage on Friday"]),
        ("The user's sister lives in Porto", "Oh, my sister lives in Porto now!", "", ["sister lives in Porto"]),
        ("The user lives in Porto", "I like it. We moved to Porto.", "We moved to Porto", ["We moved to Porto"]),
        ("我对花生过敏", "记住我对花生过敏。", "", ["我对花生过敏"]),
        ("用户的房租是每月1500元", "顺便说，我的房租现在是每月1500元", "", ["房租", "每月1500元"]),
        ("The user of the", "It was the best of my days", "", []),
        ("anything", "", "", []),
    ],
)  # fmt: skip
def test_the_words_that_say_a_memory_are_marked(text: str, said: str, quote: str, expected: list[str]) -> None:
    pieces = evidence(text, said, quote)
    assert "".join(piece for piece, _ in pieces) == said
    assert marked(pieces) == expected


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        ("my rent is 1500 euros", "My rent is 1,450 euros a month", (["1500"], ["1,450"])),
        ("my rent is 1450 euros", "My rent is 1,450 euros", ([], [])),
        ("My sister lives in Porto", "My sister lives in Lisbon", (["Porto"], ["Lisbon"])),
        ("房租是1500元", "房租是1450元", (["1500"], ["1450"])),
        ("小雨住在成都", "小雨住在上海", (["成都"], ["上海"])),
    ],
)
def test_what_differs_is_marked_in_both(text: str, other: str, expected: tuple[list[str], list[str]]) -> None:
    ours, theirs = difference(text, other)
    assert ("".join(piece for piece, _ in ours), "".join(piece for piece, _ in theirs)) == (text, other)
    assert (marked(ours), marked(theirs)) == expected


def test_numbers_that_nobody_said_are_marked() -> None:
    assert marked(unsaid("The rent is 1500 euros since 2024", ["my rent is 1450 euros", "since 2024?"])) == ["1500"]
    assert marked(unsaid("The rent is high", ["it is low"])) == []


@pytest.mark.parametrize(
    ("text", "against", "user", "expected"),
    [
        ("The rent is 1500 euros", "", "my rent is 1450 euros", (["1500"], [], ["1450"])),
        (
            "My rent is 1500 euros",
            "My rent is 1450 euros",
            "It is 1500 euros now",
            (["1500"], ["1450"], ["1500 euros"]),
        ),
        ("the owner sings", "", "Remember that the owner sings.", ([], [], ["the owner sings"])),
        ("the owner sings", "", "", ([], [], [])),
    ],
)
def test_what_is_in_doubt_is_marked(text: str, against: str, user: str, expected: tuple[list[str], ...]) -> None:
    found = doubted(text, against=against, said=(user, "OK"), quote="")
    assert (marked(found.text), marked(found.against), marked(found.asked)) == expected


@pytest.mark.lengthy
def test_a_long_text_is_returned_whole() -> None:
    said = "word <b>\n" * 50_000
    assert "".join(piece for piece, _ in evidence("the word", said)) == said
    assert "".join(piece for piece, _ in difference(said, "word")[0]) == said
