"""What says something that was forgotten, and what does not."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_memory.store.journal.sqlite import apply_steps
from gateway_memory.store.journal.withheld import withheld
from gateway_memory.store.withheld import Forgotten, Withheld

SAYS = [
    ("I'm allergic to peanuts", "The user is allergic to peanuts."),
    ("I'm allergic to peanuts", "Allergies: peanuts"),
    ("I like tea", "User likes tea"),
    ("I like tea", "She enjoys tea in the morning"),
    ("My locker code is 88231", "Opened it with 88231 at once"),
    ("The staging server is called Falcon and stands in Oslo", "staging server Falcon"),
    ("我喜欢喝茶", "用户偏好喝茶"),
    ("我喜欢喝茶", "忘掉我喜欢喝茶"),
    ("我对花生过敏", "用户有花生过敏史"),
    ("我的狗叫豆豆", "狗叫豆豆，三岁"),
    ("我喜欢喝茶", '{"note": "\\u6211\\u559c\\u6b22\\u559d\\u8336"}'),
    ("I like tea & cake", "likes tea &amp; cake"),
    ("I earn 73219 dollars a year", "Salary: $73,219"),
]
SAYS_NOT = [
    ("I'm allergic to peanuts", "The build is green again"),
    ("I like tea", "User likes coffee"),
    ("I like tea", "We had tea at the office"),
    ("My flight is on 3 May 2026", "The release of 2026 is planned"),
    ("我喜欢喝茶", "用户喜欢咖啡"),
    ("我对花生过敏", "今天部署了新版本"),
]


def hidden(text: str, **values: float | str) -> Withheld:
    return Withheld(
        [Forgotten(text=text, at=float(values.get("at", 5)), replacement=str(values.get("replacement", "")))]
    )


@pytest.mark.parametrize(("forgotten", "text"), SAYS)
def test_the_same_in_other_words_is_withheld(forgotten: str, text: str) -> None:
    assert hidden(forgotten).says(text)
    assert hidden(forgotten).cut(f"We met. {text}\nThe rest").endswith("The rest")
    assert text not in hidden(forgotten).cut(text)


@pytest.mark.parametrize(("forgotten", "text"), SAYS_NOT)
def test_what_only_shares_a_word_is_told(forgotten: str, text: str) -> None:
    assert not hidden(forgotten).says(text)
    assert hidden(forgotten).cut(text) == text


def test_what_stands_again_in_its_place_is_told() -> None:
    moved = hidden("I live in Munich with my cat", replacement="I live in Berlin with my cat")
    assert moved.says("lives in Munich with a cat")
    assert not moved.says("lives in Berlin with a cat")
    assert not hidden("I like tea", replacement="The user likes tea").says("likes tea")


def test_what_is_said_after_it_was_forgotten_counts_again() -> None:
    assert hidden("I like tea", at=5).says("I like tea", since=5)
    assert not hidden("I like tea", at=5).says("I like tea", since=6)


def test_beside_a_sentence_that_says_it_a_word_of_it_is_enough() -> None:
    row = {
        "id": "numbat",
        "topic": "I like numbats",
        "summary": "OK, numbat noted. The cat sleeps.",
        "todos": ["Numbat!"],
    }
    assert hidden("I like numbats").record(row) == {
        "id": "numbat", "topic": "", "summary": " The cat sleeps.", "todos": [],
    }  # fmt: skip
    alone = {"summary": "OK, numbat noted."}
    assert hidden("I like numbats and wombats").record(alone) == alone


@given(st.text(max_size=60), st.text(max_size=200))
def test_what_is_left_says_nothing_of_it_and_is_part_of_the_text(forgotten: str, text: str) -> None:
    kept = hidden(forgotten).cut(text)
    assert not any(hidden(forgotten).says(line) for line in kept.split("\n"))
    letters = iter(text)
    assert all(letter in letters for letter in kept)
    assert hidden(forgotten).cut(kept) == kept


@given(st.text(max_size=100))
def test_without_anything_forgotten_all_is_told(text: str) -> None:
    assert Withheld([]).cut(text) == text
    assert not Withheld([]).says(text)


def test_what_is_remembered_again_is_no_longer_withheld() -> None:
    database = sqlite3.connect(":memory:")
    apply_steps(database, Path(":memory:"))

    def add(identity: str, text: str, state: str) -> None:
        values = (
            "owner",
            identity,
            text,
            "MEMORY.md",
            "W",
            "",
            "normal",
            1.0,
            "[]",
            "",
            1.0,
            state,
            "",
            2.0,
            0,
            "",
            "",
            "",
        )
        database.execute(f"INSERT INTO memories VALUES ({','.join('?' * len(values))})", values)

    assert not withheld(database, "owner")
    for number, state in enumerate(("forgotten", "undone", "deleted", "superseded", "expired", "active")):
        add(f"id{number}", f"I own wombat {'abcdef'[number] * 6}", state)
    found = withheld(database, "owner")
    assert [found.says(f"wombat {letter * 6}") for letter in "abcdef"] == [True, True, True, False, False, False]
    assert not withheld(database, "user:zoe")
    add("again", "I own wombat aaaaaa", "active")
    assert not withheld(database, "owner").says("wombat aaaaaa")
