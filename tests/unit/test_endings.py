"""What a record by rules says of a session's end: what was promised or asked, in whose words, and nothing twice."""

import json
from pathlib import Path
from typing import Any

import pytest
from understanding import telling

from extractor import Seen, Summary, SummaryInput, summarize

ENDINGS = [
    json.loads(line) for line in (Path(__file__).parents[1] / "data" / "endings.jsonl").read_text("utf-8").splitlines()
]
ENDED = ("- Talked of last:", "- 最后谈到：")
OPEN = ("- Open or at risk:", "- 还没解决的：")


def recorded(ending: dict[str, Any]) -> Summary:
    """Return the record of a session."""
    seen = [Seen(kind=kind, content=content, tool="".join(tool)) for kind, content, *tool in ending["seen"]]
    summary = summarize(telling(SummaryInput(seen=seen)))
    assert summary
    return summary


def lines_below(text: str, headings: tuple[str, str]) -> list[str]:
    """Return the lines of a section of a record's text."""
    found: list[str] = []
    inside = False
    for line in text.split("\n"):
        inside = line in headings if line.startswith("- ") else inside
        found += [line] if inside and line.startswith("  - ") else []
    return found


def letters(text: str) -> str:
    """Return a text's letters and digits."""
    return "".join(filter(str.isalnum, text.casefold()))


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending["name"])
def test_a_to_do_is_what_somebody_promised_or_was_asked_and_nobody_did(ending: dict[str, Any]) -> None:
    summary = recorded(ending)
    assert len(summary.todos) == len(ending["todos"]), summary.todos
    for todo, part in zip(summary.todos, ending["todos"], strict=True):
        assert part in todo


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending["name"])
def test_a_record_says_where_the_talk_stood_and_no_nonsense(ending: dict[str, Any]) -> None:
    summary = recorded(ending)
    said = "\n".join([summary.topic, summary.detailed, *summary.todos])
    assert all(part in said for part in ending.get("says", ()))
    assert not [part for part in ending.get("no", ()) if part in f"{said}\n{summary.brief}"]
    opened = lines_below(summary.detailed, OPEN)
    assert len(opened) == len(ending.get("open", ()))
    assert all(part in line for line, part in zip(opened, ending.get("open", ()), strict=True))
    if "ended" in ending:
        assert ending["ended"] in " ".join([summary.topic, *lines_below(summary.brief, ENDED)])


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending["name"])
def test_nothing_stands_twice_within_a_record(ending: dict[str, Any]) -> None:
    summary = recorded(ending)
    for text in (summary.brief, summary.detailed):
        lines = [letters(line) for line in text.split("\n") if line.startswith("  - ")]
        assert all(lines), "no line is empty"
        assert len(lines) == 1 or letters(summary.topic) not in lines
        assert not [one for one in lines if sum(one in other for other in lines) > 1]
