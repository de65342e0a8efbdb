"""Whether a message asks for what its asker has told, and where its answer is near, by its vector."""

from dataclasses import replace

import numpy as np
import pytest

from recall.encoding.encoder import bundled_encoder
from recall.search.asker import near_answer, of_asker
from recall.search.query import prepare_query


def odds(message: str, encoder: str | None = None) -> float:
    bundled = bundled_encoder()
    return of_asker(bundled.encode([message])[0], encoder or bundled.name)


@pytest.mark.parametrize(
    "message",
    [
        "老公生日哪天",
        "车停哪儿了",
        "猫吃什么粮",
        "what's the wifi called again",
        "the garage asks what make of van it is",
    ],
)
def test_a_question_of_ones_own_needs_no_word_for_it(message: str) -> None:
    query = prepare_query(message, (), 0.0, None)
    assert query.selves == 0
    assert odds(message) > 0
    assert replace(query, of_asker=odds(message)).wants


@pytest.mark.parametrize("message", ["猫为什么怕黄瓜", "为什么天空是蓝的", "why do cats knead blankets"])
def test_a_question_of_the_world_is_strange_to_its_asker(message: str) -> None:
    assert replace(prepare_query(message, (), 0.0, None), of_asker=odds(message)).strange > 1


def test_what_only_tells_something_is_not_strange() -> None:
    message = "we moved to the coast in spring and the garden is full of slugs"
    assert replace(prepare_query(message, (), 0.0, None), of_asker=odds(message)).strange == 0


@pytest.mark.parametrize(
    ("question", "answer", "beside"),
    [
        (
            "what's my trade?",
            "been welding 38 years and my shoulder wants to complain",
            "I traded in the old car last week",
        ),
        ("who do I report to?", "Gareth is my line manager and he takes things badly", "the report is due on Thursday"),
        ("我对象在哪上班", "老公跑长途的，一走就是十来天", "我今天加班到九点"),
        ("what food is my cat on", "豆包吃鸡肉味的猫粮，别的都不碰", "猫今天又把花瓶打碎了"),
    ],
)
def test_a_question_moves_towards_its_answer(question: str, answer: str, beside: str) -> None:
    encoder = bundled_encoder()
    asked, *lines = (vector / np.linalg.norm(vector) for vector in encoder.encode([question, answer, beside]))
    moved = near_answer(asked, encoder.name)
    assert np.linalg.norm(moved) == pytest.approx(1, abs=1e-5)
    before, after = ([float(vector @ line) for line in lines] for vector in (asked, moved))
    assert after[0] - after[1] > before[0] - before[1]


def test_another_encoders_question_stays_where_it_is() -> None:
    vector = bundled_encoder().encode(["what's my trade?"])[0]
    assert near_answer(vector, "another") is vector


@pytest.mark.parametrize(
    ("message", "own"),
    [
        ("what do I do for a living?", True),
        ("我是干哪行的？", True),
        ("where did Rona move to", True),
        ("when was the first escalator built", False),
        ("猫为什么怕黄瓜", False),
        ("why is it called Nova Scotia", False),
    ],
)
def test_a_question_of_its_asker_is_told_from_one_of_the_world(message: str, *, own: bool) -> None:
    assert odds(message) > 0.8 if own else odds(message) < 0.5
    assert odds(message, "another") == 0
