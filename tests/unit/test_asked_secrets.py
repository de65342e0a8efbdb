"""A secret that answers the question of a reply is masked, though its name stands in the question alone."""

import pytest

from extractor import asked_secrets, clean

QUESTIONS = [
    "Sure. What is the wifi password?",
    "Could you tell me the PIN of your card?",
    "What's the door code?",
    "Which API token should I use?",
    "wifi密码是多少？",
    "你的支付密码是多少？要我帮你保存吗？",
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    ("answer", "secret"),
    [
        ("blaue-Otter-77", "blaue-Otter-77"),
        ("It's blaue-Otter-77, all lower case", "blaue-Otter-77"),
        ("4711", "4711"),
        ("Sure: 2580#", "2580#"),
        ("是 hunter2-xyz", "hunter2-xyz"),
        ("Yes, X7k9-mmQ2. Write it down", "X7k9-mmQ2"),
        ("kater2019", "kater2019"),
    ],
)
def test_a_secret_that_is_the_answer_is_masked(question: str, answer: str, secret: str) -> None:
    cleaned = clean(answer, asked=asked_secrets(question))
    assert secret not in cleaned.text
    assert "[masked: " in cleaned.text
    assert cleaned.secrets


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    "answer",
    [
        "I don't know, ask Ben",
        "Ask Ben, he set it up in 2019",
        "No idea",
        "I changed it yesterday",
        "We moved to Porto in 2021",
        "I was born in 1984",
        "Yes, on 3 May at 14:30",
        "My flight is LH1234 on Friday",
        "I pay 1450 euros rent",
        "At 18:30 I'm home",
        "我不知道，问小王",
    ],
)
def test_what_answers_something_else_stays(question: str, answer: str) -> None:
    assert clean(answer, asked=asked_secrets(question)).text == answer


@pytest.mark.parametrize("reply", ["", "What's your name?", "I can't keep passwords.", "你叫什么名字？"])
def test_a_reply_that_asks_for_no_secret_masks_nothing(reply: str) -> None:
    assert asked_secrets(reply) == ()
