"""Secrets in the forms in which people and programs write them, and sentences and code that only look like one.

A row of the table without a secret holds none. kind: what it is called where it is masked. once: nothing else is.
"""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractor import clean

KEY = "sk-" + "a1B2c3D4" * 4  # put together here, so that no scanner takes it for a real one
TABLE = [
    json.loads(row) for row in (Path(__file__).parents[1] / "data" / "secrets.jsonl").read_text("utf-8").splitlines()
]
SECRETS = [*(row for row in TABLE if "secret" in row), {"text": f"use {KEY}", "secret": KEY, "kind": "openai key"}]
INNOCENT = [row["text"] for row in TABLE if "secret" not in row]
ORDINARY = [
    "We met at the station at seven.",
    "The cake needs three eggs and a bit of salt.",
    "我们明天下午三点在图书馆见面。",
    "她每天早上去公园跑步。",
    "Could you shorten this paragraph?",
]


def test_each_secret_is_masked_and_cleaning_again_changes_nothing() -> None:
    left = []
    for row in SECRETS:
        cleaned = clean(row["text"])
        most = 1 if row.get("once") else 2  # a login's name is masked beside its password
        masked = row["secret"] not in cleaned.text and 1 <= sum(cleaned.secrets.values()) <= most
        named = "kind" not in row or (row["kind"] in cleaned.secrets and f"[masked: {row['kind']}]" in cleaned.text)
        if not (masked and named and clean(cleaned.text).text == cleaned.text):
            left.append((row["text"], cleaned.text))
    assert left == []


def test_what_only_speaks_of_a_secret_stays() -> None:
    assert [(text, cleaned) for text in INNOCENT if (cleaned := clean(text).text) != text] == []


@given(st.sampled_from(SECRETS), st.sampled_from(ORDINARY), st.sampled_from(ORDINARY))
def test_a_secret_is_masked_wherever_it_stands_in_a_message(row: dict[str, str], before: str, after: str) -> None:
    cleaned = clean(f"{before}\n\n{row['text']}\n\n{after}").text
    assert row["secret"] not in cleaned
    assert before in cleaned


@pytest.mark.parametrize("secret", ["hunter2-4711", "abc-123-def", "Xq7.tulip!99"])
def test_no_part_of_a_secret_is_left_before_chinese_words(secret: str) -> None:
    forms = [
        "密码是{}密码是{}",
        "密码是{}请记住",
        "我的密码是{}记住它",
        "密码：{}然后登录",
        "密码用{}就行",
        "密码改成{}了",
    ]
    for form in forms:
        left = clean(form.replace("{}", secret)).text
        assert not [part for part in re.split(r"[-.!]", secret) if part in left], left
