"""What hosts hand over as a message: its text in one place, and what is none is refused in our words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_memory import UsageError
from gateway_memory.edge.content import count_of, instant_of, share_of, text_of, texts_of, well_formed

FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


@dataclass
class Part:
    """As an SDK's object."""

    type: str
    text: str = ""


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        ("我喜欢喝茶", "我喜欢喝茶"),
        ([], ""),
        # OpenAI's Chat Completions
        ([{"type": "text", "text": "我喜欢"}, {"type": "image_url", "image_url": {"url": "data:…"}}], "我喜欢"),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ({"role": "user", "content": "I like tea"}, "I like tea"),
        ({"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}, ""),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "I won't."}]}, "I won't."),
        (
            [{"role": "user", "content": "one"}, {"role": "user", "content": [{"type": "text", "text": "two"}]}],
            "one\ntwo",
        ),
        # OpenAI's Responses
        ([{"type": "input_text", "text": "你好"}, {"type": "input_image", "image_url": "…"}], "你好"),
        ([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "OK"}]}], "OK"),
        ([{"type": "reasoning", "summary": [{"type": "summary_text", "text": "thoughts"}]}], ""),
        ([{"type": "function_call", "name": "f", "arguments": "{}"}], ""),
        # Anthropic's Messages
        ([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello"}], "Hello"),
        ([{"type": "tool_use", "id": "1", "name": "f", "input": {"text": "no"}}], ""),
        ([{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "secret file"}]}], ""),
        (
            [{"type": "document", "source": {"type": "text", "data": "long"}}, {"type": "text", "text": "read it"}],
            "read it",
        ),
        ([Part("text", "an object"), Part("image")], "an object"),
        (("a", "b"), "a\nb"),
        ({"parts": [{"text": "Google's"}]}, "Google's"),
        (
            {"role": "user", "parts": [{"text": "看看"}, {"inline_data": {"mime_type": "image/png", "data": b""}}]},
            "看看",
        ),
        ([{"inlineData": {}}, {"fileData": {"fileUri": "gs://x"}}, {"text": "this"}], "this"),
        ([{"functionCall": {"name": "f"}}, {"function_response": {"name": "f"}}], ""),
        ([{"thought": True, "text": "hm"}, {"text": "Hello", "thought": False}], "Hello"),
        ([{"type": "text", "text": None}], ""),
        ("half \ud83d\ude00 a \ud800 pair", "half 😀 a � pair"),
    ],
)
def test_content_parts_are_their_text(content: Any, text: str) -> None:
    assert text_of(content, "message") == text


@pytest.mark.parametrize("error", [ValueError, RuntimeError, KeyError])
def test_an_answer_that_computes_its_text_in_vain_is_refused(error: type[Exception]) -> None:
    class Blocked:
        @property
        def text(self) -> str:
            raise error

    for content in (Blocked(), [Blocked()]):
        with pytest.raises(UsageError, match=r"^reply is of type Blocked"):
            text_of(content, "reply")


def test_an_observation_takes_what_a_tool_returned() -> None:
    result = [{"type": "tool_result", "content": [{"type": "text", "text": "3 files"}, {"type": "image"}]}]
    assert text_of(result, "content", tools=True) == "3 files"
    assert text_of([{"type": "function_call_output", "output": "done"}], "content", tools=True) == "done"
    assert text_of(result, "message") == ""


@pytest.mark.parametrize(
    "content",
    [5, 0, 1.5, True, b"bytes", object(), [5], [[b"x"]], {}, {"a": 1}, {"type": 7}, [{"type": "text", "text": 5}]],
)
def test_what_is_no_text_is_refused_in_our_words(content: Any) -> None:
    with pytest.raises(UsageError, match=r"^message is of type \w+: expected a string, or content parts"):
        text_of(content, "message")


def test_parts_that_hold_themselves_are_refused() -> None:
    content: list[Any] = []
    content.append(content)
    with pytest.raises(UsageError, match="more than 20 deep"):
        text_of(content, "message")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["type", "text", "content", "role", "x"]), inner)
        ),
    )
)
def test_anything_is_a_text_or_a_usage_error(content: Any) -> None:
    try:
        text = text_of(content, "message")
    except UsageError:
        return
    text.encode()


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_every_string_becomes_valid_unicode(text: str) -> None:
    formed = well_formed(text)
    formed.encode()
    assert formed == text or any("\ud800" <= character <= "\udfff" for character in text)
    assert well_formed(formed) == formed


@pytest.mark.parametrize(
    ("contents", "texts"), [(None, ()), ("one", ("one",)), (["a", "b"], ("a", "b")), ((), ()), ([None], ("",))]
)
def test_a_lone_string_is_a_list_of_one(contents: Any, texts: Sequence[str]) -> None:
    assert texts_of(contents, "todos") == texts


@pytest.mark.parametrize("contents", [5, b"x", {"a": "b"}, [5], iter(["a"])])
def test_what_is_no_list_of_texts_is_refused(contents: Any) -> None:
    with pytest.raises(UsageError, match=r"^todos is of type"):
        texts_of(contents, "todos")


@pytest.mark.parametrize("at", [None, 5, "2026-01-01", FIRST, LAST, FIRST.replace(tzinfo=None)])
def test_a_time_that_no_conversation_has_is_refused(at: Any) -> None:
    with pytest.raises(UsageError, match=r"^at"):
        instant_of(at)


@pytest.mark.parametrize("number", [0, -1, True, None, "5", 1.5, -(10**400)])
def test_a_count_is_a_whole_number_from_one(number: Any) -> None:
    with pytest.raises(UsageError, match=r"^limit"):
        count_of(number, "limit")
    assert count_of(10**5000, "limit") >= 2**31


@pytest.mark.parametrize("number", [-0.1, 1.1, float("nan"), float("inf"), "1", None, 10**400])
def test_a_share_is_a_number_from_zero_to_one(number: Any) -> None:
    with pytest.raises(UsageError, match=r"^confidence"):
        share_of(number, "confidence")
    assert share_of(1, "confidence") == 1.0
