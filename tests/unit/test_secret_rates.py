"""The score by which secrets are masked keeps its rates, on families that had no part in the fit."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from extractor import clean

CORPUS = [
    json.loads(row)
    for row in (Path(__file__).parents[2] / "benchmarks" / "masking.jsonl").read_text("utf-8").splitlines()
]
NAMED = [
    "the temporary password they gave me was {zxc874100!}",
    "the pw for the zip file's {GDOw6P66b0yJ1}",
    "Type {582464} when the ATM asks for the PIN",
    "passport 号码是 {G90458306}",
    "eth private key {0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318}",
    "curl -b 'session={9f8a7b6c5d4e3f2a1b0c}' https://intra.example/report",
    "my 秘钥 is {kd82-hs91-lq03}",
    "我的秘钥：{kd82-hs91-lq03}",
    "password (wifi): {Sparrow5521}",
    "write this down: {tornado ribbon glance oxygen velvet maple carbon drift sausage elbow pioneer umbrella}",
]
INNOCENT = [
    "令牌环网络是7562年代的技术",
    "the password policy requires 12 characters",
    "my pin number is hard to remember",
    "the code review took 3 hours",
    "token ring",
    "key question 2",
    "my order number is 4539578763621486",
    "our area code is 0161",
]


@pytest.mark.parametrize("sentence", NAMED)
def test_a_stated_secret_is_masked(sentence: str) -> None:
    secret = sentence[sentence.index("{") + 1 : sentence.index("}")]
    cleaned = clean(sentence.replace("{", "").replace("}", ""))
    assert secret not in cleaned.text
    assert cleaned.secrets


@pytest.mark.parametrize("sentence", INNOCENT)
def test_what_only_looks_like_a_secret_stays(sentence: str) -> None:
    assert clean(sentence).text == sentence


@pytest.mark.parametrize(("kind", "most"), [("named", 0.05), ("innocent", 0.015)])
@pytest.mark.parametrize("held_out", [False, True])
def test_the_rates_of_the_corpus_hold(kind: str, most: float, *, held_out: bool) -> None:
    rows = [row for row in CORPUS if row["kind"] == kind and bool(row.get("held_out")) == held_out]
    wrong = Counter(_is_wrong(row) for row in rows)[True]
    assert len(rows) > 100
    assert wrong <= most * len(rows)


@pytest.mark.lengthy
def test_text_that_names_secrets_at_every_word_takes_linear_time() -> None:
    def work(length: int) -> float:
        text = ("the door code, pin or password of my card is in the safe 12 and " * (length // 64))[:length]
        started = time.process_time()
        clean(text)
        return time.process_time() - started

    small = max(0.005, min(work(10_000) for _ in range(2)))
    assert work(80_000) < 8 * 6 * small


def _is_wrong(row: dict[str, object]) -> bool:
    text, cleaned = str(row["text"]), clean(str(row["text"])).text
    secrets = row.get("secrets")
    return any(str(each) in cleaned for each in secrets) if isinstance(secrets, list) else cleaned != text.strip()
