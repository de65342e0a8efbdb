"""What is private or secret is found in every layer of encoding, and nothing else goes."""

import json
import time

import pytest
from hiding import ENCODINGS, SECRET, TOLD, encoded, says
from hypothesis import given, settings
from hypothesis import strategies as st

from extractor import clean
from extractor.cleaning.layers import views


@pytest.mark.parametrize("told", TOLD)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_one_layer_hides_nothing(told: str, encoding: str) -> None:
    assert_says_nothing(ENCODINGS[encoding](told))


@given(st.sampled_from(TOLD), st.lists(st.sampled_from(sorted(ENCODINGS)), max_size=5))
@settings(max_examples=150)
@pytest.mark.lengthy
def test_no_nesting_hides_anything(told: str, encodings: list[str]) -> None:
    told = encoded(told, encodings)
    if len(told) < 50_000:
        assert_says_nothing(told)


def assert_says_nothing(text: str) -> None:
    cleaned = clean(text)
    assert SECRET not in cleaned.text
    assert not says(cleaned.text), "also not for who decodes it"
    assert cleaned.private_spans + sum(cleaned.secrets.values()) >= 1


@given(
    st.lists(st.sampled_from(sorted(ENCODINGS)), max_size=3),
    st.sampled_from(["I like tea & 咖啡", "50% of a+b", "C:\\new"]),
)
def test_what_is_not_private_stays_as_it_is(encodings: list[str], text: str) -> None:
    text = encoded(text, encodings)
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
@pytest.mark.lengthy
def test_a_megabyte_takes_no_more_than_its_share(unit: str) -> None:
    def work(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        started = time.process_time()
        clean(text)
        return time.process_time() - started

    small = max(0.005, min(work(20_000) for _ in range(2)))
    assert work(160_000) < 8 * 6 * small, "linear, and some room for a machine that does other things"


def test_in_a_long_text_too_each_place_of_a_line_is_looked_at() -> None:
    filler = "\n".join(f"line {number} says nothing of note & more" for number in range(1500))
    lines = f"password:\nrequired\n{filler}\n{SECRET}\n{filler}\npassword:\n{SECRET}\n{filler}"
    kept = clean(lines).text
    assert kept.count(SECRET) == 1, "only where it stands below its name"
    assert SECRET not in clean(json.dumps({"log": f"{filler}\npassword:\n{SECRET}\n{filler}"})).text
