"""Whether a message asks for what its asker has told, by its vector."""

from dataclasses import replace

import pytest

from recall.encoding.encoder import bundled_encoder
from recall.search.asker import of_asker
from recall.search.query import Query, prepare_query


def read(message: str, encoder: str | None = None) -> Query:
    bundled = bundled_encoder()
    query = prepare_query(message, (), 0.0, None)
    return of_asker(query, bundled.encode([message])[0], encoder or bundled.name)


@pytest.mark.parametrize("message", ["老公生日哪天", "车停哪儿了", "猫吃什么粮", "what's the wifi called again"])
def test_a_question_of_ones_own_needs_no_word_for_it(message: str) -> None:
    assert prepare_query(message, (), 0.0, None).selves == 0
    assert read(message).selves == 1


@pytest.mark.parametrize("message", ["猫为什么怕黄瓜", "为什么天空是蓝的", "why do cats knead blankets"])
def test_a_question_of_the_world_is_strange_to_its_asker(message: str) -> None:
    assert read(message).strange > 1


def test_of_another_encoders_vector_nothing_is_known() -> None:
    query = prepare_query("猫为什么怕黄瓜", (), 0.0, None)
    assert read("猫为什么怕黄瓜", "another") == query == replace(query, strange=0.0)
