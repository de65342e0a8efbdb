"""Answers as servers give them: whatever stands around the object, it is read without a second call."""

import json
from typing import Any

import pytest

from extractor.model.answers import read_object

ENTRY = {"quote": "moved to Friday", "content": "The user's lesson is on Friday.", "category": "fact"}
ANSWER: dict[str, Any] = {"entries": [ENTRY]}
TEXT = json.dumps(ANSWER)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"\ufeff{TEXT}",
        f'<think>\nThe user {{talks}} about {{"lessons": 1}}.\n</think>\n\n{TEXT}',
        f"<think>Maybe {json.dumps({'entries': []})}?</think>{TEXT}",
        f"Here are the facts:\n```json\n{TEXT}\n```\nLet me know if you need more.",
        f"Based on the talk {{about lessons}}, here it is: {TEXT}",
        f"```json {TEXT} ```",
        f'```\n{{"note": "none"}}\n```\n```json\n{TEXT}\n```',
        json.dumps([ENTRY]),
        f"{TEXT}}}",
        f"{{{TEXT}}}",
        TEXT.replace("}]}", "},],}"),
        str(ANSWER).replace('"', "'").replace("user's", "user\\'s"),
        json.dumps({"result": ANSWER}),
        json.dumps({**ANSWER, "score": float("nan")}),
        TEXT.replace(": ", ":\n\t"),
    ],
)
def test_the_object_is_read_from_whatever_stands_around_it(text: str) -> None:
    (entry,) = read_object(text, "entries")["entries"]
    assert entry["content"] == ENTRY["content"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing to note",
        "{",
        "[" * 100_000,
        '{"a":' * 50_000,
        '{"b": 1}',
        "[1, 2]",
        '"entries"',
        "{'entries'",
        "9" * 5000,
    ],
)
@pytest.mark.lengthy
def test_an_answer_without_the_object_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"\Ano JSON object with \"entries\"\Z"):
        read_object(text, "entries")
