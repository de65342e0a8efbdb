"""Which messages ask for the talk of a time, and which for something of the world."""

from datetime import UTC, date, datetime

import pytest

from recall import talk_of
from recall.search.query import prepare_query

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC).timestamp()  # a Monday


@pytest.mark.parametrize(
    ("text", "first", "days"),
    [
        ("What did we talk about last Tuesday?", date(2026, 11, 17), 1),
        ("Hey! What did we discuss on 30 April?", date(2026, 4, 30), 1),
        ("remind me what I said yesterday", date(2026, 11, 22), 1),
        ("what did you tell me about Kafka last week?", date(2026, 11, 16), 7),
        ("what did we decide last Friday?", date(2026, 11, 20), 1),
        ("Summarize our conversation on Monday", date(2026, 11, 16), 1),
        ("what did we talk about on 30 December?", date(2025, 12, 30), 1),
        ("上周三我们聊了什么", date(2026, 11, 18), 1),
        ("上周三聊了什么？", date(2026, 11, 18), 1),
        ("4月30日我们讨论了哪些内容", date(2026, 4, 30), 1),
        ("昨天我跟你说过什么", date(2026, 11, 22), 1),
        ("前天你给我推荐了什么书", date(2026, 11, 21), 1),
        ("上个月我们聊过什么", date(2026, 10, 1), 31),
    ],
)
def test_the_talk_of_a_time_is_asked_for(text: str, first: date, days: int) -> None:
    span = talk_of(text, NOW, UTC)
    assert span is not None
    assert datetime.fromtimestamp(span.start, UTC).date() == first
    assert round((span.end - span.start) / 86400) == days


@pytest.mark.parametrize(
    "text",
    [
        "What did we talk about?",
        "Yesterday I said hello to Bob",
        "I told you yesterday that I like tea",
        "What did Melanie say on 3 May?",
        "Can you tell me the weather for last Tuesday?",
        "We went over the plan yesterday. What should we focus on now?",
        "what happened last Tuesday?",
        "What did we talk about in 2024?",
        "我昨天和老板谈了加薪",
        "昨天我们聊得很开心",
        "上周三小明和小红说了什么",
        "What did we say on 12 March 2031?",
        "x" * 200 + " what did we discuss yesterday?",
    ],
)
def test_other_messages_ask_for_no_time(text: str) -> None:
    assert talk_of(text, NOW, UTC) is None


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("what is the capital of Peru?", False),
        ("What's the longest river in Africa?", False),
        ("how do I reverse a list in Python?", False),
        ("what is the name of Caroline's sister?", True),
        ("what does Melanie do on Fridays?", True),
    ],
)
def test_a_question_about_the_world_names_nobody(message: str, *, named: bool) -> None:
    assert bool(prepare_query(message, (), NOW, UTC).names) == named
