"""What never reaches the journal: private spans, injected blocks, secrets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractor import clean

KEY = "sk-" + "a1B2c3D4" * 4  # put together here, so that no scanner takes it for a real one


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


@pytest.mark.parametrize(
    ("text", "kind", "secret"),
    [
        (f"use {KEY}", "openai key", KEY),
        ("my password is hunter2!", "password", "hunter2!"),
        ("password: Tr0ub4dor&3", "password", "Tr0ub4dor&3"),
        ("hunter22 is my password", "password", "hunter22"),
        ("wifi密码是 abc12345", "password", "abc12345"),
        ("密码改成了 qwer!2026", "password", "qwer!2026"),
        ("口令：天王盖地虎", "password", "天王盖地虎"),
        ("token=abcd1234efgh5678", "token", "abcd1234efgh5678"),
        ("aws, with secret wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "secret", "wJalrXUtnFEMI"),
        ("log in as ana, pw q9Zz!mmkk", "password", "q9Zz!mmkk"),
        ("pass: Foo99bar", "password", "Foo99bar"),
        ("remember: passphrase is correct horse battery staple9", "password", "battery staple9"),
        ("身份证 110105 19491231 002X", "identity number", "19491231 002X"),
        ("postgres://bob:s3cret@db/x", "password", "s3cret"),
        ("card 4111 1111 1111 1111", "card number", "4111 1111 1111 1111"),
        ("身份证 11010519491231002X", "identity number", "11010519491231002X"),
        ("-----BEGIN PRIVATE KEY-----\nMIIabc\n-----END PRIVATE KEY-----", "private key", "MIIabc"),
    ],
)
def test_secrets_are_masked_with_their_kind(text: str, kind: str, secret: str) -> None:
    cleaned = clean(text)
    assert secret not in cleaned.text
    assert cleaned.secrets == {kind: 1}
    assert f"[masked: {kind}]" in cleaned.text


@pytest.mark.parametrize(
    "text",
    [
        "the password is wrong again",
        "my order number is 4111 1111 1111 1112",
        "密码是什么？",
        "the key is to practise every day",
        "call 13800138000",
        "a token of appreciation",
        "all tests pass python3.11 now",
        "the secret ingredient is cinnamon",
        "my passphrase is too long for this form",
    ],
)
def test_what_only_sounds_secret_stays(text: str) -> None:
    assert clean(text).text == text


@given(st.text(max_size=200), st.text(max_size=40), st.text(max_size=200))
def test_no_private_span_survives_and_cleaning_is_stable(before: str, secret: str, after: str) -> None:
    needle = f"QQ{secret}ZZ7391"
    cleaned = clean(f"{before}<private>{needle}</private>{after}").text
    assert "ZZ7391" not in cleaned
    assert clean(cleaned).text == cleaned
