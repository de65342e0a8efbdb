"""A mind that changed, in plain words: what is said last holds, and nothing else is lost. From message to decision."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from extractor import Candidate, Known, Turn, decide, extract_rules, with_unread
from recall import text_overlap


def kept(message: str) -> list[Candidate]:
    """What is kept of a message, if each of its sentences is worth it."""
    turn = Turn(id=1, user=message, reply="", at=datetime(2026, 1, 5, tzinfo=UTC))
    found = with_unread(turn, extract_rules(turn))
    return [replace(each, importance="high", only_as=frozenset()) if each.only_as else each for each in found]


def becomes(before: str, after: str) -> list[str]:
    """What the later message's candidates do to the earlier one's, which stands protected where it weighed enough."""
    (old,) = kept(before)
    actions: list[str] = []
    for candidate in kept(after):
        known = Known(
            id="m1",
            text=old.content,
            cosine=None,
            overlap=text_overlap(old.content, candidate.content),
            importance=old.importance,
            protected=old.importance == "high",
        )
        actions.append(decide(candidate, [known]).action)
    return actions


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # another time
        ("Remember that the tank check is Monday 9am", "Remember that the tank check is Friday 4pm"),
        ("Remember that the tank check is Monday 9am", "The tank check is now Friday 4pm"),
        ("Remember that the tank check is Monday 9am", "The tank check was moved to Friday 4pm"),
        ("记住泳池检修是周一上午九点", "记住泳池检修是周五下午四点"),
        ("记住泳池检修是周一上午九点", "泳池检修改到周五下午四点了"),
        ("Remember that the shed code is 4411", "Remember that the shed code is 5522"),
        # another count, another age
        ("I'm 41", "I'm 42 now"),
        ("I have two dogs", "I have three dogs now"),
        ("我今年41岁", "我现在42岁了"),
        ("我养了两只鹦鹉", "我现在养了三只鹦鹉"),
        # another address to be reached at
        ("My phone number is 555-1234", "My new phone number is 555-9876"),
        ("My email is ann@example.org", "My email changed to bea@example.org"),
        ("My email address is ann@example.org", "My new email is bea@example.org"),
        ("我的邮箱是 ann@example.org", "我的邮箱换成 bea@example.org 了"),
        ("我的手机号是 13800001111", "我换手机号了，新号码是 13900002222"),
        ("我的手机号是 13800001111", "我的新手机号是 13900002222"),
        # so no more
        ("I'm vegan", "I'm not vegan anymore"),
        ("I'm a vegetarian", "I'm no longer a vegetarian"),
        ("I'm allergic to walnuts", "I'm not allergic to walnuts"),
        ("I'm allergic to walnuts", "I'm not allergic to walnuts after all"),
        ("I'm married to Robin", "I got divorced"),
        ("我吃素", "我不吃素了"),
        ("我对核桃过敏", "我对核桃不过敏"),
        ("我对核桃过敏", "我不对核桃过敏了"),
        ("我结婚了", "我离婚了"),
        # another choice
        ("We decided to use Kafka for the events", "We decided to use Pulsar for the events"),
        ("我们决定消息队列用 RabbitMQ", "我们决定消息队列用 Pulsar"),
        ("我们决定消息队列用 RabbitMQ", "消息队列不用 RabbitMQ 了，改用 Pulsar"),
        ("I prefer dark mode", "I prefer light mode"),
        ("我最喜欢的语言是 Kotlin", "我最喜欢的语言现在是 Scala"),
        ("I hate long meetings", "I like long quiet meetings now"),
        ("我讨厌长会议", "我现在喜欢长会议了"),
        # another home
        ("I live in Cork", "I moved to Galway last month"),
        ("我住在厦门", "我上个月搬到南京了"),
    ],
)
def test_what_is_said_last_takes_the_place_of_what_was_said(before: str, after: str) -> None:
    assert becomes(before, after) == ["supersede"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Remember that the tank check is Monday 9am", "Remember that the roof check is Friday 4pm"),
        ("Remember that the tank check is on Monday", "Remember that the tank check is at 4pm"),
        ("Remember that the tank check is Monday 9am", "Remember that the tank check is a lot of work"),
        ("记住泳池检修是周一上午九点", "记住屋顶检修是周五下午四点"),
        ("I have two dogs", "I have three cats now"),
        ("I have two dogs", "I have two cats"),
        ("我养了两只鹦鹉", "我养了三只猫"),
        ("My phone number is 555-1234", "My work email is bea@example.org"),
        ("记住我的公司邮箱是 ann@example.org", "我的新邮箱是 bea@example.org"),
        ("I'm allergic to walnuts", "I'm not allergic to peanuts"),
        ("我对核桃过敏", "我对花生不过敏"),
        ("I'm married to Robin", "I'm left-handed"),
        ("We decided to use Redis for the cache", "We decided to use Pulsar for the events"),
        ("我们决定缓存用 Redis", "我们决定消息队列用 Pulsar"),
        ("I love Python", "I love Rust"),
        ("I live in Cork", "I live in the basement"),
        ("I live in Cork", "I've moved to Linux now"),
        ("我住在厦门", "我住在八楼"),
        ("我住在厦门", "我住在学校附近"),
    ],
)
def test_what_speaks_of_something_else_stands_beside_it(before: str, after: str) -> None:
    assert becomes(before, after) == ["add"]


@pytest.mark.parametrize(
    "message",
    ["We decided today to use Pulsar", "We decided to use Pulsar today", "我们今天决定用 Pulsar", "I moved to Galway"],
)
def test_what_is_said_today_and_lasts_is_kept(message: str) -> None:
    assert [candidate.content for candidate in kept(message)] == [message]
