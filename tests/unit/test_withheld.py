"""What says something that was forgotten, and what does not."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_memory.store.journal.sqlite import apply_steps
from gateway_memory.store.journal.withheld import withheld
from gateway_memory.store.withheld import Forgotten, Withheld, split_sentences

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

# The same words about another day, number, thing or person; and the same in other words, or a part of it.
NEIGHBOURS = [
    ("I went to the market on Monday and bought apples", "I went to the market on Tuesday and bought pears"),
    ("My dentist appointment is on Monday at the clinic", "My physio appointment is on Friday at the clinic"),
    ("We had dinner with Anna at the harbour", "We had dinner with Bruno at the harbour"),
    ("I paid 300 euros for the kitchen table", "I paid 80 euros for the kitchen lamp"),
    ("My locker at the pool is number 14", "My locker at the gym is number 27"),
    ("I take 5 mg of the tablets in the evening", "I take 20 mg of the tablets in the morning"),
    ("The choir sings at the church on 3 May", "The choir sings at the church on 9 June"),
    ("I drink coffee in the garden after lunch", "I drink tea in the garden after lunch"),
    ("My daughter plays football at the park", "My son plays football at the park"),
    ("We rent the second flat on the left", "We rent the cellar on the left since 2019"),
    ("The train to Porto leaves from platform 4", "The train to Lisbon leaves from platform 9"),
    ("I owe Clara money for the concert", "I owe Dmitri money for the concert"),
    ("The meeting with the bank is Wednesday at noon", "The meeting with the school is Thursday at noon"),
    ("We bought two chairs at the flea market", "We bought six plates at the flea market"),
    ("I met Farid at the station last spring", "I met Greta at the station last autumn"),
    ("周一我去菜市场买了苹果", "周二我去菜市场买了梨"),
    ("我周三下午去社区医院打针", "我周五下午去社区医院拿药"),
    ("我花三百块买了一张桌子", "我花八十块买了一盏灯"),
    ("女儿在公园踢足球", "儿子在公园踢足球"),
    ("我早上在阳台喝咖啡", "我早上在阳台喝茶"),
    ("五月三号合唱团在教堂演出", "六月九号合唱团在教堂演出"),
    ("我的储物柜是14号", "我的储物柜是27号"),
    ("去北京的车票花了500块", "去上海的车票花了800块"),
    ("爸爸周六来我家吃饭", "妈妈周日来我家吃饭"),
    ("我晚上吃5毫克的药", "我早上吃20毫克的药"),
    ("下周二和客户开会", "下周四和客户开会"),
    ("我养了两只猫", "我养了三只狗"),
    ("星期六上午学游泳", "星期日上午学网球"),
    ("会议室在3楼左边", "会议室在8楼左边"),
    ("我给房东付了2000块", "我给房东付了3500块"),
]
REWORDED = [
    ("I went to the market on Monday and bought apples", "User went to the market Monday, bought apples"),
    ("I went to the market on Monday and bought apples", "The market on Monday: bought apples"),
    ("My dentist appointment is on Monday at the clinic", "Dentist appointment Monday, clinic"),
    ("We had dinner with Anna at the harbour", "They had dinner with Anna near the harbour"),
    ("I paid 300 euros for the kitchen table", "The kitchen table was paid: 300 euros"),
    ("My locker at the pool is number 14", "Pool locker number: 14"),
    ("I take 5 mg of the tablets at 3 pm", "takes the tablets at 15:00, 5 mg at pm"),
    ("The choir sings at the church on 3 May", "On May 3 the choir sings at church"),
    ("I drink coffee in the garden after lunch", "Prefers coffee in the garden after lunch, not tea"),
    ("My daughter plays football at the park", "daughter plays football in the park every week"),
    ("We rent the second flat on the left", "rents the second flat, left side"),
    ("The train to Porto leaves from platform 4", "train to Porto, platform four"),
    ("I owe Clara money for the concert", "Money owed to Clara for the concert"),
    ("I have two dogs and a parrot", "2 dogs, a parrot"),
    ("I have seven cats in the barn", "2026-03-02: the user told of the cats in the barn"),
    ("The meeting with the bank is Wednesday at noon", "Meeting with the bank (Wed) at noon"),
    ("I met Farid at the station last spring", "Met Farid at the station"),
    ("周一我去菜市场买了苹果", "用户周一去菜市场买了苹果"),
    ("周一我去菜市场买了苹果", "星期一去菜市场买了苹果"),
    ("我周三下午去社区医院打针", "周三下午社区医院打针"),
    ("我花三百块买了一张桌子", "花三百块买了一张桌子"),
    ("女儿在公园踢足球", "用户的女儿在公园踢足球"),
    ("我早上在阳台喝咖啡", "用户早上在阳台喝咖啡，不喝茶"),
    ("五月三号合唱团在教堂演出", "合唱团在教堂演出，五月三号"),
    ("去北京的车票花了500块", "车票花了500块，去北京"),
    ("爸爸周六来我家吃饭", "周六，爸爸来我家吃饭"),
    ("我晚上吃5毫克的药", "用户晚上吃药，五毫克"),
    ("下周二和客户开会", "下周二与客户开会"),
    ("我养了两只猫", "用户养了2只猫"),
    ("我给房东付了2000块", "给房东付了2000块"),
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


@pytest.mark.parametrize(("forgotten", "text"), NEIGHBOURS)
def test_what_tells_of_another_day_number_thing_or_person_is_told(forgotten: str, text: str) -> None:
    assert hidden(forgotten).cut(text) == text


@pytest.mark.parametrize(("forgotten", "text"), REWORDED)
def test_a_rewording_or_a_part_is_withheld(forgotten: str, text: str) -> None:
    assert hidden(forgotten).cut(text) == ""


def test_the_day_of_a_note_is_no_other_number() -> None:
    assert hidden("I have seven cats in the barn").says("2026-03-02T10:15: has cats in the barn")


def test_what_stands_again_in_its_place_is_told() -> None:
    moved = hidden("I live in Munich with my cat", replacement="I live in Berlin with my cat")
    assert moved.says("lives in Munich with a cat")
    assert not moved.says("lives in Berlin with a cat")
    assert not hidden("I like tea", replacement="The user likes tea").says("likes tea")


def test_what_is_said_after_it_was_forgotten_counts_again() -> None:
    assert hidden("I like tea", at=5).says("I like tea", since=5)
    assert not hidden("I like tea", at=5).says("I like tea", since=6)


@pytest.mark.parametrize(
    ("forgotten", "question", "answer"),
    [
        ("my favourite tea is rooibos now", "what tea do I like?", "Rooibos"),
        ("我的门锁密码是四季平安", "我的门锁密码是什么？", "四季平安。"),
    ],
)
def test_an_answer_is_read_with_its_question(forgotten: str, question: str, answer: str) -> None:
    gone = hidden(forgotten)
    words = gone.words_of(question, answer)
    assert gone.cut(answer, words=words) == ""


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
            "[]",
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


def test_no_sentence_ends_within_a_note_of_two_days() -> None:
    line = "The car is away next week; we walk (14–20 December 2026; until Saturday 19 December 2026)."
    assert split_sentences(line) == (line[:26], line[26:])
