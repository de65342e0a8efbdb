"""The sections of a portrait: each memory in one place, said once, what comes ahead by its day."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from gateway_memory.browsing.sections import Sections, line_of, sections_of
from gateway_memory.context.blocks import told
from gateway_memory.ground.holds import coming
from gateway_memory.store.memory_record import MemoryRecord
from gateway_memory.store.validity import Today, Validity
from gateway_memory.store.withheld import Withheld

TODAY = date(2026, 11, 27)
NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)


def memory(text: str, category: str = "fact", *, ago: float = 1, **values: Any) -> MemoryRecord:
    at = (NOW - timedelta(days=ago)).timestamp()
    return MemoryRecord(
        id=f"m{abs(hash((text, ago))) % 10**7}", text=text, file="f", at=at, category=category, **values
    )


def sections(*memories: MemoryRecord) -> Sections:
    newest = sorted(memories, key=lambda each: -each.at)
    today = Today(NOW.timestamp(), UTC)
    states = told(newest, Validity(Withheld(()), today=today), past=True)
    over = {each.id for each, state in states if state == "over"}
    return sections_of([each for each, _ in states], today=TODAY, day_of=today.day_of, over=over)


def texts(lines: object) -> list[str]:
    return [line.text for line in lines]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("called", "own", "other"),
    [
        ("My name is Daniel", "Daniel lives in Bristol", "Danielle drives the bus"),
        ("我叫林晓", "林晓在杭州上班", "发布窗口是每周四下午"),
    ],
)
def test_what_begins_with_their_own_name_is_about_them(called: str, own: str, other: str) -> None:
    made = sections(memory(called, ago=2), memory(own), memory(other))
    assert own in texts(made.about)
    assert other not in texts(made.about)
    assert own not in texts(sections(memory(own), memory(other)).about), "nothing says whose name it is"


@pytest.mark.parametrize(
    ("texts_", "own", "name"),
    [
        (("I live in Ghent", "My name is Sam", "Prefers tea", "Answer briefly", "My sister Ana is a nurse",
          "We decided to ship Wrenbox on a Pi", "The release window is on Thursdays"), "I live in Ghent", "Sam"),
        (("用户住在杭州", "我叫林晓", "用户喜欢喝乌龙茶", "回答简短一点", "用户的妹妹小雨在苏州当护士",
          "项目“苗圃日记”用 Flutter", "发布窗口是每周四下午"), "住在杭州", "林晓"),
    ],
)  # fmt: skip
def test_each_memory_has_its_place(texts_: tuple[str, ...], own: str, name: str) -> None:
    home, called, liked, wished, related, project, other = texts_
    made = sections(
        memory(home, type="B"), memory(called, ago=2), memory(liked, "preference"), memory(wished, "instruction"),
        memory(related), memory(project, "decision"), memory(other),
    )  # fmt: skip
    assert made.name == name
    assert texts(made.about) == [own, called]
    assert len(made.likes) == len(made.wishes) == len(made.people) == len(made.projects) == len(made.others) == 1
    assert made.people[0].relation in ("sister", "妹妹")
    assert texts(made.people[0].lines)[0] in ("My sister Ana is a nurse", "妹妹小雨在苏州当护士")
    places = [
        made.about,
        made.likes,
        made.wishes,
        made.others,
        *(topic.lines for topic in (*made.people, *made.projects)),
    ]
    ids = [line.id for lines in places for line in lines]
    assert len(ids) == len(set(ids)) == 7


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("我讨厌香菜，点外卖千万别放", 0),
        ("我不喜欢开会，能用文档解决的就别开会", 0),
        ("I hate coriander, never put it in", 0),
        ("我喜欢简短的回答，不要列表", 1),
        ("我不喜欢你用表情", 1),
        ("别再用“亲”叫我了，叫我阿豪就行", 1),
        ("I don't like long answers, never write them", 1),
        ("Always answer in short sentences", 1),
    ],
)
def test_a_taste_with_an_order_behind_it_is_no_wish_about_answers(text: str, wish: int) -> None:
    made = sections(memory(text, "instruction"))
    assert (len(made.wishes), len(made.likes)) == (wish, 1 - wish)


@pytest.mark.parametrize(
    ("text", "wish"),
    [("I prefer short answers, without bullet points", 1), ("我喜欢简短的回答", 1), ("I prefer tea", 0)],
)
def test_a_preference_about_answers_is_a_wish(text: str, wish: int) -> None:
    made = sections(memory(text, "preference"))
    assert (len(made.wishes), len(made.likes)) == (wish, 1 - wish)


def test_what_says_the_same_is_told_once_in_its_newest_words() -> None:
    made = sections(memory("The user prefers tea.", "preference", ago=9), memory("Prefers tea", "preference"))
    assert texts(made.likes) == ["Prefers tea"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The user prefers tea", "Prefers tea"),
        ("The user's sister Ana is a nurse", "Sister Ana is a nurse"),
        ("用户喜欢喝茶", "喜欢喝茶"),
        ("用户7月5日考日语", "7月5日考日语"),
        ("用户的妹妹叫小雨", "妹妹叫小雨"),
        ("The user", "The user"),
        ("User-facing texts are in English", "User-facing texts are in English"),
        ("two\nlines", "Two lines"),
        ("iPhones are fine", "iPhones are fine"),
    ],
)
def test_a_line_leaves_out_whom_all_lines_are_about(text: str, shown: str) -> None:
    assert line_of(memory(text)).text == shown


def test_what_comes_stands_by_its_day_and_what_is_over_comes_last() -> None:
    made = sections(
        memory("The dentist is on 9 December"),
        memory("I'm flying to Perth tomorrow", ago=0),
        memory("The owner lends me the boat", expires="2026-12-03"),
        memory("The car went to the garage on 9 November", ago=20),
        memory("The boiler key hangs in the pantry", ago=40),
        memory("I rented a van", expires="2026-11-20"),
        memory("I like tea on 9 December", "preference"),
        memory("We move in January"),
    )
    assert [(line.days.iso if line.days else "", line.text) for line in made.ahead] == [
        ("2026-11-28", "I'm flying to Perth tomorrow"),
        ("2026-12-03", "The owner lends me the boat"),
        ("2026-12-09", "The dentist is on 9 December"),
        ("2027-01", "We move in January"),
    ]
    assert texts(made.others) == [
        "The boiler key hangs in the pantry",
        "The car went to the garage on 9 November (over)",
    ]
    assert not made.about


def test_summaries_and_what_was_never_a_memory_are_left_out() -> None:
    made = sections(memory("We spoke of Ana", type="S"), memory("My sister Ana", "said"), memory("Turn 3", "exchange"))
    assert made == sections()
    assert not any((made.about, made.people, made.others))


@pytest.mark.parametrize(
    ("text", "stated", "day"),
    [
        ("I'm flying to Perth on 9 January", date(2026, 11, 1), date(2027, 1, 9)),
        ("The user's sister gets married on 2026-12-20.", date(2026, 3, 2), date(2026, 12, 20)),
        ("the car goes to the garage on Friday", date(2026, 11, 25), date(2026, 11, 27)),
        ("周蔓的婚礼改到12月6日在青岛办", date(2026, 11, 2), date(2026, 12, 6)),
        ("我下周五要去体检", TODAY, date(2026, 12, 4)),
        ("From 10 to 14 December I am in Vienna with Marta", TODAY, date(2026, 12, 10)),
        ("the fair is on the 10th and the 14th of December", TODAY, date(2026, 12, 10)),
        ("10-14 December in Vienna", TODAY, date(2026, 12, 10)),
        ("12月10日到14日我和小雨去维也纳", TODAY, date(2026, 12, 10)),
        ("12月10到14号去维也纳", TODAY, date(2026, 12, 10)),
        ("11月25日至29日在外出差", date(2026, 11, 20), TODAY),
        ("in May I moved to Porto", TODAY, None),
        ("the garage called on Friday", date(2026, 11, 25), None),
        ("I have been vegetarian since 2019", TODAY, None),
        ("my birthday is on 14 December", TODAY, None),
        ("we deploy every Thursday", TODAY, None),
        ("trad sessions at Sandy Bell's on Thursdays", TODAY, None),
        ("I work from 9 to 5", TODAY, None),
        ("", TODAY, None),
    ],
)
def test_the_day_that_comes(text: str, stated: date, day: date | None) -> None:
    ahead = coming(text, stated, TODAY)
    assert (ahead and ahead.first) == day
