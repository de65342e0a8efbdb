"""What a session's record says without a model: where the talk stood, what tools did, and what stayed open."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from understanding import telling

from extractor import Seen, Summary, SummaryInput, Turn, extract_rules, summarize
from extractor.model.exchanges import exchanges_of, outline_of

TALKS = [
    json.loads(line) for line in (Path(__file__).parents[1] / "data" / "talks.jsonl").read_text("utf-8").splitlines()
]
HEADINGS = {
    "talked": ("Talked of:", "谈过："),
    "done": ("Done:", "已完成："),
    "ended": ("Talked of last:", "最后谈到："),
    "open": ("Open or at risk:", "还没解决的："),
    "next": ("Next:", "下一步："),
    "learnt": ("Learnt:", "了解到："),
}


def recorded(talk: dict[str, Any]) -> tuple[Summary, list[str]]:
    """Return the record of a conversation, and the facts that the rules find in it."""
    seen = [Seen(kind=kind, content=content, tool="".join(tool)) for kind, content, *tool in talk["seen"]]
    turns = [Turn(id=1, user=each.content, reply="", at=datetime.now(UTC)) for each in seen if each.kind == "user"]
    facts = [candidate.content for turn in turns for candidate in extract_rules(turn)]
    summary = summarize(telling(SummaryInput(seen=seen, facts=facts)))
    assert summary
    return summary, facts


def sections(text: str) -> dict[str, list[str]]:
    """Return the lines of each section of a record's text, by the section's name."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    names = {heading: name for name, headings in HEADINGS.items() for heading in headings}
    for line in text.split("\n"):
        if line.removeprefix("- ") in names:
            lines = found.setdefault(names[line.removeprefix("- ")], [])
        else:
            lines.append(line.removeprefix("  - "))
    return found


@pytest.mark.parametrize("talk", TALKS, ids=lambda talk: talk["name"])
@pytest.mark.parametrize("form", ["brief", "detailed"])
def test_a_record_tells_what_the_session_was_about_and_where_it_ended(talk: dict[str, Any], form: str) -> None:
    summary, facts = recorded(talk)
    told = sections(getattr(summary, form))
    for part in talk["topic"]:
        assert part in summary.topic
    for name in ("done", "open", "next"):
        assert bool(talk.get(name)) == bool(told.get(name)), name
        assert all(any(part in line for line in told[name]) for part in talk.get(name, ()))
    for part in talk.get("ended", ()):
        assert any(part in line for line in (summary.topic, *told.get("ended", ())))
    assert not told.get("talked") or form == "detailed", "what was answered concerns no later session"
    assert form == "brief" or all(any(part in line for line in told["talked"]) for part in talk.get("talked", ()))
    assert set(told.get("learnt", ())) <= set(facts)
    said = [line for name, lines in told.items() if name != "learnt" for line in lines]
    assert not [part for part in talk["no"] if any(part in line for line in said)]


def test_an_answered_question_stays_no_open_one() -> None:
    asked = [(True, "Can you rename the module?"), (False, "I renamed it. Shall I update the docs too?")]
    assert outline_of(exchanges_of(asked)).unanswered == ""
    assert outline_of(exchanges_of(asked[:1])).unanswered == "Can you rename the module?"
    assert outline_of(exchanges_of([(True, "帮我改一下名字")])).unanswered == "帮我改一下名字"
    assert outline_of(exchanges_of([(True, "查一下天气"), (False, "晴。还有什么可以帮你的吗？")])).unanswered == ""


@pytest.mark.parametrize("seen", ["-sleep(1)\n+await until(ready)", '{"rows": 3}', 'sleep\n[{"file": "net.py"}]'])
def test_a_tool_whose_line_would_not_say_what_came_of_it_has_none(seen: str) -> None:
    summary = summarize(SummaryInput(seen=[Seen(kind="user", content="It flakes"), Seen(kind="tool", content=seen)]))
    assert summary
    assert (summary.topic, summary.brief) == ("It flakes", "")


def test_an_assistant_did_what_a_tool_was_called_for() -> None:
    said = [(True, "Move the billing service"), (False, "I moved it to the new cluster.")]
    assert outline_of(exchanges_of(said)).done == ()
    assert outline_of(exchanges_of([said[0], (False, ""), said[1]])).done == ("I moved it to the new cluster.",)
    asked = [(True, "Where does billing run?"), (False, ""), (False, "On the new cluster.")]
    assert outline_of(exchanges_of(asked)).done == ()


@pytest.mark.parametrize(
    ("message", "put_off"),
    [
        ("Let's do the tests tomorrow.", True),
        ("I still have to call the bank.", True),
        ("Remind me to water the plants.", True),
        ("发票我下周再开", True),
        ("合同还没签", False),
        ("刷新令牌还没做，先不管", False),
        ("刷新令牌先不做", False),
        ("Is the invoice still open?", False),
        ("合同还没签吗？", False),
        ("我明天过生日", False),
        ("I like tea.", False),
    ],
)
def test_what_is_put_off_is_to_be_done(message: str, *, put_off: bool) -> None:
    assert bool(outline_of(exchanges_of([(True, message), (False, "OK")])).todos) == put_off


def test_a_long_session_keeps_its_first_and_its_last_lines() -> None:
    seen = [Seen(kind="user", content=f"Please draw picture number {number} of the series") for number in range(400)]
    summary = summarize(SummaryInput(seen=seen))
    assert summary
    assert "number 0 " in summary.topic
    assert "number 399 " in summary.brief


def test_a_stage_summary_of_the_rules_is_not_told_beside_what_it_was_made_of() -> None:
    seen = [Seen(kind="user", content="Please move the billing service"), Seen(kind="assistant", content="I moved it.")]
    stage = summarize(SummaryInput(seen=seen))
    assert stage
    summary = summarize(SummaryInput(seen=seen, stages=[" ".join(stage.whole.split())]))
    assert summary == stage


@given(
    st.lists(
        st.tuples(st.booleans(), st.text(st.sampled_from("abc你好了吗明天再还没帮我done. ,，。？?\n-*"), max_size=60))
    )
)
def test_any_turns_can_be_read(messages: list[tuple[bool, str]]) -> None:
    outline = outline_of(exchanges_of(messages))
    assert all(each.strip() for each in (*outline.asked, *outline.done, *outline.todos))
    assert outline.topic or not outline.asked
