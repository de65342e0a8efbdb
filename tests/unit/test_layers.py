"""What is private or secret is found in every layer of encoding, and nothing else goes."""

import html
import json
import time
import urllib.parse
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractor import clean
from extractor.layers import views

SECRET = "Zq7mNeedle91"
TOLD = [
    f"my password is {SECRET}, ok?",
    f"我的密码是{SECRET}，别忘了",
    f"密码：\n{SECRET}\n",
    f'x "password": "a b {SECRET}" y',
    f"<password>{SECRET}</password>",
    f"{SECRET} 是我的密碼",
    f"<private>{SECRET} 生病了</private> and more",
    f"<private>{SECRET} is never closed",
    f"{SECRET} was opened elsewhere</private> and more",
    f"＜ｐｒｉｖａｔｅ＞{SECRET}＜/ｐｒｉｖａｔｅ＞ 好",
    f"<pri\u00advate>{SECRET}</priv\u200date> fine",
    f"<\u00a0private\u00a0>{SECRET}</private> fine",
    f"&lt;private&gt;{SECRET}&lt;/private&gt; fine",
]


def each_letter(form: str) -> Callable[[str], str]:
    return lambda text: "".join(form.format(ord(letter)) if ord(letter) < 0x10000 else letter for letter in text)


ENCODINGS: dict[str, Callable[[str], str]] = {
    "json": lambda text: json.dumps({"content": text}, ensure_ascii=False),
    "json, ascii": lambda text: json.dumps([text]),
    "json, slashes": lambda text: json.dumps({"a": text}).replace("/", "\\/").replace("<", "\\u003c"),
    "every letter": each_letter("\\u{:04x}"),
    "entities": html.escape,
    "decimal entities": each_letter("&#{};"),
    "hexadecimal entities": each_letter("&#x{:X};"),
    "url": urllib.parse.quote,
    "form": urllib.parse.quote_plus,
    "every byte": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "python": repr,
    "python, ascii": ascii,
    "python, bytes": lambda text: repr(text.encode()),
}


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_one_layer_hides_nothing(told: str, encoding: str) -> None:
    assert_says_nothing(ENCODINGS[encoding](told))


@given(st.sampled_from(TOLD), st.lists(st.sampled_from(sorted(ENCODINGS)), max_size=5))
@settings(max_examples=150)
def test_no_nesting_hides_anything(told: str, encodings: list[str]) -> None:
    for name in encodings:
        told = ENCODINGS[name](told)
    if len(told) < 50_000:
        assert_says_nothing(told)


def assert_says_nothing(text: str) -> None:
    cleaned = clean(text)
    assert SECRET not in cleaned.text
    assert not any(SECRET in view.text for view in views(cleaned.text)), "also not for who decodes it"
    assert cleaned.private_spans + sum(cleaned.secrets.values()) >= 1


@given(
    st.lists(st.sampled_from(sorted(ENCODINGS)), max_size=3),
    st.sampled_from(["I like tea & 咖啡", "50% of a+b", "C:\\new"]),
)
def test_what_is_not_private_stays_as_it_is(encodings: list[str], text: str) -> None:
    for name in encodings:
        text = ENCODINGS[name](text)
    assert clean(text).text == text


def test_only_the_encoded_span_goes() -> None:
    told = json.dumps({"note": 'my password is "open sesame 9"', "path": "/src/a.py"})
    cleaned = clean(told).text
    assert json.loads(cleaned) == {"note": 'my password is "[masked: password]"', "path": "/src/a.py"}
    told = json.dumps({"a": "one <private>two</private> three", "b": [1, {"c": "four"}]}).replace("<", "\\u003c")
    assert json.loads(clean(told).text) == {"a": "one   three", "b": [1, {"c": "four"}]}


def test_what_hides_deeper_than_anybody_encodes_is_cut_out() -> None:
    told = f"<private>{SECRET}</private> tail"
    for _ in range(12):
        told = told.replace("<", "&lt;").replace("&", "\\u0026").replace("\\", "%5C")
    assert_hidden = clean(told).text
    assert not any(SECRET in view.text and "<private>" in view.text for view in views(assert_hidden))


@pytest.mark.parametrize(
    "unit",
    [
        "\\",
        "\\u005c",
        "&amp;",
        "%25",
        "a+",
        "\u00ad",
        "ｐ",
        "&lt;private&gt;",
        "\\u003cprivate>",
        "password: ",
        "密码是",
    ],
)
def test_a_megabyte_takes_no_more_than_its_share(unit: str) -> None:
    def seconds(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        started = time.perf_counter()
        clean(text)
        return time.perf_counter() - started

    small = max(0.005, min(seconds(20_000) for _ in range(2)))
    assert seconds(160_000) < 8 * 6 * small, "linear, and some room for a machine that does other things"


def test_in_a_long_text_too_each_place_of_a_line_is_looked_at() -> None:
    filler = "\n".join(f"line {number} says nothing of note & more" for number in range(1500))
    lines = f"password:\nrequired\n{filler}\n{SECRET}\n{filler}\npassword:\n{SECRET}\n{filler}"
    kept = clean(lines).text
    assert kept.count(SECRET) == 1, "only where it stands below its name"
    assert SECRET not in clean(json.dumps({"log": f"{filler}\npassword:\n{SECRET}\n{filler}"})).text
