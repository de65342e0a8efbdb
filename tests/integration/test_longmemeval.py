"""The benchmark on LongMemEval reads its authors' form, and measures what it says."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from editor import environment
from patience import seconds

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "longmemeval.py"
TALK = ("Which tree grows fastest?", "The empress tree, by some metres a year while it is young.")
TREES = (
    ("How old can an oak tree become?", "A thousand years, and a yew tree still more."),
    ("Which tree keeps its leaves in winter?", "A holly tree does, and so does a bay tree."),
    ("Is a palm a tree?", "Not for a botanist: a palm tree has no wood as an oak has."),
    ("When does a pear tree blossom?", "In April, some days before an apple tree."),
    ("How high is the highest tree?", "A redwood tree in California has 116 metres."),
)
WATER = ("What is the boiling point of water?", "One hundred degrees Celsius at sea level, and less in the mountains.")
TOLD = ("I have planted a cherry tree behind the shed.", "Water it well in its first summer, and stake it.")
CUT = ("I have cut down the cherry tree, it was ill.", "What a pity. You could plant a plum there in the autumn.")


def session(*turns: tuple[str, str], evidence: int = -1) -> list[dict[str, Any]]:
    sides: list[dict[str, Any]] = []
    for number, (user, reply) in enumerate(turns):
        labelled = {"has_answer": True} if number == evidence else {}
        sides += [{"role": "user", "content": user} | labelled, {"role": "assistant", "content": reply}]
    return sides


def instance(identity: str, kind: str, question: str, sessions: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return {
        "question_id": identity,
        "question_type": kind,
        "question": question,
        "answer": "…",
        "question_date": "2023/06/01 (Thu) 10:00",
        "haystack_session_ids": list(sessions),
        "haystack_dates": [f"2023/05/{day:02} (Mon) 09:00" for day in range(1, len(sessions) + 1)],
        "haystack_sessions": list(sessions.values()),
        "answer_session_ids": [name for name in sessions if name.startswith("answer")],
    }


def measured(*arguments: str) -> dict[str, dict[str, float]]:
    command = [sys.executable, str(SCRIPT), *arguments, "--json"]
    done = subprocess.run(command, check=True, capture_output=True, env=environment(), timeout=seconds(120))
    figures: dict[str, dict[str, float]] = json.loads(done.stdout)
    return figures


def test_the_authors_form_is_measured_by_the_type_of_the_question(tmp_path: Path) -> None:
    history = {
        "answer_1": session(TALK, TOLD, evidence=1),
        **{f"talk_{number}": session(each, TALK) for number, each in enumerate(TREES)},
        "answer_2": session(CUT, TALK, evidence=0),
        "answer_3": session(WATER),
    }
    instances = [
        instance("q1", "knowledge-update", "What became of my cherry tree?", history),
        instance("q2_abs", "multi-session", "What is my brother's name?", history),
        instance("q3", "multi-session", TALK[0], {f"talk_{n}": session(TALK) for n in range(9)} | {"answer": session(
            ("hm", "Yes?"), evidence=0,
        )}),
    ]  # fmt: skip
    data, run = tmp_path / "lme.json", tmp_path / "run.json"
    data.write_text(json.dumps(instances, indent=1), "utf-8")
    figures = measured("--data", str(data), "--run", str(run), "--told")
    assert set(figures) == {"knowledge-update", "multi-session", "all"}, "an abstention counts nowhere"
    found = figures["knowledge-update"]
    assert found["questions"] == 1
    names = ("sessions any", "sessions all", "exchanges any", "exchanges all", "exchanges R@5", "told")
    assert [found[name] for name in names] == [1, 1, 1, 1, 1, 1]
    assert found["sessions listed"] == 0, "one of them has nothing to find"
    assert "tokens" in found
    assert json.loads(run.read_text("utf-8"))["lme:q1"][:2] in (
        ["lme:q1/6/0", "lme:q1/0/1"],
        ["lme:q1/0/1", "lme:q1/6/0"],
    )
    missed = figures["multi-session"]
    assert (missed["questions"], missed["exchanges any"]) == (1, 0)
    assert figures["all"]["exchanges any"] == 0.5
    assert measured("--data", str(data), "--questions", "1")["all"]["exchanges R@5"] == 1
