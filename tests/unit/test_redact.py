"""What never reaches the journal besides secrets: private spans and injected blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractor import clean


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>x</private> b", "a   b"),
        ("a <PRIVATE>x</Private> b", "a   b"),
        ("a <private>x <private>y</private> z</private> b", "a     b"),
        ("a <private>never closed", "a"),
        ("a <private reason='tax'>x</private> b", "a   b"),
        ("a &lt;private&gt;x&lt;/private&gt; b", "a   b"),
        ("a ＜private＞x＜/private＞ b", "a   b"),
        ("a </private> b", "b"),
        ("<private>x</private> mid </private> b", "b"),
        ("a </private> b <private>c", "b"),
        ("a <relevant-memories><private></relevant-memories>x</private> b", None),
    ],
)
def test_private_spans_are_gone(text: str, left: str | None) -> None:
    cleaned = clean(text)
    if left is None:
        assert "secret" not in cleaned.text
    else:
        assert cleaned.text.split() == left.split()
    assert "private" not in cleaned.text.lower() or left is None


@pytest.mark.parametrize(
    "block",
    [
        "<gateway-memory>\n- (k7f3q2a1, 2026-01-05) likes tea\n</gateway-memory>",
        "<relevant-memories>\nlikes tea\n</relevant-memories>",
        "<user_memories>likes tea</user_memories>",
        "[Relevant Memory] notes\n- (k7f3q2a1, 2026-01-05) likes tea",
        "- likes tea <!-- gm:k7f3q2a1 O 0.9 -->",
        'Conversation info (untrusted metadata):\n```json\n{"a": "likes tea"}\n```',
    ],
)
def test_injected_blocks_are_cut_out(block: str) -> None:
    cleaned = clean(f"before\n{block}\nafter")
    assert "likes tea" not in cleaned.text
    assert "before" in cleaned.text
    assert "after" in cleaned.text
    assert cleaned.injected_blocks


@given(st.text(max_size=200), st.text(max_size=40), st.text(max_size=200))
def test_no_private_span_survives_and_cleaning_is_stable(before: str, secret: str, after: str) -> None:
    needle = f"QQ{secret}ZZ7391"
    cleaned = clean(f"{before}<private>{needle}</private>{after}").text
    assert "ZZ7391" not in cleaned
    assert clean(cleaned).text == cleaned
