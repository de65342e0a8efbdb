"""What a sentence's vector and words tell, where no rule reads it."""

from datetime import UTC, datetime

import pytest

from extractor import Candidate, Turn, extract_rules, meaning_of, understood, with_unread
from recall.encoding.encoder import bundled_encoder


def kept(message: str, *, encoder: str | None = None) -> list[tuple[str, str]]:
    """The category and the content of what is kept of a message."""
    bundled = bundled_encoder()
    turn = Turn(id=1, user=message, reply="", at=datetime(2026, 1, 5, tzinfo=UTC))
    found: list[Candidate | None] = []
    for candidate in with_unread(turn, extract_rules(turn)):
        texts = (candidate.content, candidate.sentence or candidate.content, message)
        told = [meaning_of(text, bundled.encode([text])[0].tolist(), encoder or bundled.name) for text in texts]
        found.append(understood(candidate, *told))
    return [(each.category, each.content) for each in found if each and not each.only_as]


@pytest.mark.parametrize(
    "message",
    [
        "Been on insulin since June, type 2",
        "Grew up on my grandparents' goat farm outside Siena",
        "我家老二下个月要去成都上大学了",
        "Je suis infirmière et j'habite à Lyon avec mes deux filles",  # no rule reads it
        "saoirse's birthday is the 22nd of feb and she wants a sewing machine",
        "鞋码37，衣服穿M",
        "宽带是移动的，500兆",
        "我不得行吃海鲜，要发疹子",
    ],
)
def test_a_lasting_statement_is_kept_in_words_that_no_table_knows(message: str) -> None:
    assert message in [content for _, content in kept(message)]


@pytest.mark.parametrize(
    "message",
    [
        "Honestly you can stop apologising to me all the time",
        "I hate it when you repeat my question back at me",
        "每次都先夸我一句真的没必要",
    ],
)
def test_a_wish_stands_in_words_that_no_table_knows(message: str) -> None:
    assert "instruction" in [category for category, _ in kept(message)]


@pytest.mark.parametrize(
    "message",
    [
        "my loop never ends",
        "make the second paragraph shorter",
        "I missed the bus again",
        "the second one is nicer",
        "报错还是一样",
        "这段别用感叹号",
        "Yes, I went there with my brother last week",  # it goes on with a talk, which is remembered as it is
        "My key is [masked: api key], I live by it",
        "Should I learn the cello?",
        "Please change the title to something shorter",
        "If I moved to Porto, I would sell the car",
        "Forget the iron thing",
        "推荐点下午茶喝的",
        "我妈今年多大岁数",
        "翻译：我对花生过敏",
        "帮我润色：我是一名有五年经验的产品经理",
    ],
)
def test_what_only_looks_like_it_is_not_kept(message: str) -> None:
    assert kept(message) == []


def test_a_sentence_is_kept_whole_where_its_rest_tells_more() -> None:
    message = "I'm on sertraline 50mg, have been since January"
    assert [content for _, content in kept(message)] == [message]


def test_what_was_asked_to_be_remembered_is_kept_whatever_it_says() -> None:
    assert kept("Remember: lefty loosey, righty tighty")


def test_without_the_bundled_encoder_the_rules_stand_alone() -> None:
    assert kept("Been on insulin since June, type 2", encoder="another") == []
    assert kept("I live in Lisbon", encoder="another") == [("fact", "I live in Lisbon")]
