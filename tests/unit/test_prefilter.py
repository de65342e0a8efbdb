"""Which batches are worth the debounced stage, in both languages, and the reason that is named when not."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from extractor import ExtractorSettings, Turn, judge
from extractor.gate_features import CHINESE, LATIN, REPLY, chinese_features, latin_features, reply_features
from extractor.language.kind import is_chinese, is_mostly_chinese

SETTINGS = ExtractorSettings(min_conversation_length=0)


def turns(*messages: str, reply: str = "") -> list[Turn]:
    at = datetime(2026, 1, 5, tzinfo=UTC)
    return [Turn(id=number, user=message, reply=reply, at=at) for number, message in enumerate(messages)]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("", "empty"),
        ("hello there!", "greeting"),
        ("你好，在吗？", "greeting"),
        ("ok thanks", "small_talk"),
        ("好的，谢谢", "small_talk"),
        ("Restart the server", "one_off_order"),
        ("重启一下服务器", "one_off_order"),
        ("```python\nprint(1)\n```", "code_or_tool_output"),
        ("$ ls -la\n$ cat a.txt", "code_or_tool_output"),
        ("Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'a'", "debugging"),
        ("编译不过，报错 undefined", "debugging"),
        ("2026-01-05 10:00:00 ERROR connection refused\n2026-01-05 10:00:01 INFO retry", "debugging"),
    ],
)
def test_what_holds_nothing_is_dropped_with_its_reason(message: str, reason: str) -> None:
    verdict = judge(turns(message), SETTINGS)
    assert (verdict.keep, verdict.reason) == (False, reason)
    assert verdict.score < 0.5


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("I prefer short answers", "priority_keyword"),
        ("记住我的车位在 B2", "priority_keyword"),
        ("We decided to use Redis", "decision"),
        ("My sister just moved to Lisbon and started a bakery there last spring", "informative"),
        ("上周我和女儿去了青岛看海，她第一次坐高铁", "informative"),
    ],
)
def test_what_may_hold_something_is_kept(message: str, reason: str) -> None:
    verdict = judge(turns(message), SETTINGS)
    assert (verdict.keep, verdict.reason) == (True, reason)
    assert verdict.score >= 0.5


def test_a_short_batch_is_dropped_unless_it_says_a_priority_word() -> None:
    settings = ExtractorSettings(min_conversation_length=200)
    message = "My sister liked Lisbon, and the small museum with the blue tiles, and all of the trams up the hills"
    assert judge(turns(message), settings).reason == "too_short"
    assert judge(turns(message), ExtractorSettings()).reason != "too_short"
    assert judge(turns("My birthday party went fine"), settings).reason != "too_short"


def test_a_chinese_character_counts_as_three() -> None:
    settings = ExtractorSettings()
    assert judge(turns("我妹妹上周搬到里斯本去了，在那边的医院当护士"), settings).reason != "too_short"
    assert judge(turns("我妹妹上周很高兴"), settings).reason == "too_short"
    assert judge(turns("My sister liked Lisbon"), settings).reason == "too_short"


def test_one_good_turn_keeps_a_batch() -> None:
    assert judge(turns("hi", "thanks", "I prefer tea over coffee"), SETTINGS).keep


def test_a_batch_of_nothing_has_the_gravest_reason() -> None:
    assert judge(turns("hi", "restart the server", "thanks"), SETTINGS).reason == "one_off_order"


def test_each_gate_tells_much_from_little() -> None:
    much, little = "I adopted a dog named Biscuit last week with my wife", "wow that's so cool, congrats!"
    assert LATIN.margin(latin_features(much)) > LATIN.margin(latin_features(little))
    assert CHINESE.margin(chinese_features("我是成都人，在成都工作")) > CHINESE.margin(chinese_features("你是哪里人？"))
    noted = "Noted: your budget is 2000 dollars and the schedule starts on Monday."
    taught = "Photosynthesis refers to the process by which plants make sugar. In conclusion, it is important."
    assert REPLY.margin(reply_features(noted)) > REPLY.margin(reply_features(taught))


@pytest.mark.parametrize(
    ("text", "chinese"), [("我喜欢 Python and TypeScript", True), ("I like 寿司 a lot, really", False), ("", False)]
)
def test_the_language_of_a_message(text: str, chinese: bool) -> None:  # noqa: FBT001 - a table's column
    assert is_chinese(text) is chinese


@pytest.mark.parametrize(
    ("text", "chinese"),
    [("我喜欢 Python and TypeScript", False), ("登录接口用 JWT 认证", True), ("私は猫が好きです", False), ("", False)],
)
def test_the_language_to_answer_in(text: str, chinese: bool) -> None:  # noqa: FBT001 - a table's column
    assert is_mostly_chinese(text) is chinese


def test_the_same_words_count_for_more_where_they_answer() -> None:
    (turn,) = turns("Yes, two of them.")
    asked = judge([turn], SETTINGS, "Do you have any pets?").score
    assert asked > judge([turn], SETTINGS, "Goodbye, take care!").score


def test_within_a_batch_the_reply_is_what_a_message_answers() -> None:
    one, two = "Tell me about pets.", "Yes, two of them."
    scores = []
    for reply in ("Do you have any pets?", "Goodbye, take care!"):
        first, second = turns(one, two)
        scores.append(judge([replace(first, reply=reply), second], SETTINGS).score)
    assert scores[0] > scores[1]
