"""The benchmark of a reader writes what is told without the gold, and counts what was graded."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from editor import environment
from patience import seconds

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "told.py"
SAID = (
    ("I have planted a quince tree behind the shed.", "Water it well in its first summer, and stake it."),
    ("What is the boiling point of water?", "One hundred degrees Celsius at sea level."),
)


def step(name: str, folder: Path, *arguments: str, typed: str = "") -> str:
    command = [sys.executable, str(SCRIPT), name, str(folder), *arguments]
    done = subprocess.run(
        command, check=True, capture_output=True, env=environment(), timeout=seconds(120), input=typed, text=True
    )
    return done.stdout


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_reader_is_told_without_the_gold_and_graded_by_hand(tmp_path: Path) -> None:
    docs = [
        {"kind": "doc", "conv": "c", "id": f"c/{number}", "session": "1", "date": "2023-05-01", "text": user,
         "reply": reply}
        for number, (user, reply) in enumerate(SAID)
    ]  # fmt: skip
    queries = [
        {"kind": "query", "conv": "c", "id": "c/q0", "text": "Which tree did I plant behind the shed?",
         "category": "single_hop", "answer": "the gold", "relevant": ["c/0"]},
        {"kind": "query", "conv": "c", "id": "c/q1", "text": "What is my brother's name?",
         "category": "adversarial", "answer": "no brother was named", "relevant": []},
    ]  # fmt: skip
    data, folder = tmp_path / "data.jsonl", tmp_path / "measured"
    data.write_text("\n".join(map(json.dumps, [*docs, *queries])), "utf-8")
    step("tell", folder, "--data", str(data))
    told = {row["id"]: row for row in rows_of(folder / "told.jsonl")}
    assert "quince" in told["c/q0"]["told"]
    assert told["c/q0"]["date"] == "2023-05-22"
    assert "the gold" not in (folder / "told.jsonl").read_text("utf-8")
    answers = [{"id": "c/q0", "answer": "a quince"}, {"id": "c/q1", "answer": "Peter"}]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)), "utf-8")
    asked = step("grade", folder, typed="y\nn\nreader\n")
    assert "gold: the gold\nanswer: a quince" in asked
    assert rows_of(folder / "grades.jsonl")[1] == {"id": "c/q1", "right": False, "cause": "reader"}
    table = step("table", folder).splitlines()
    assert table[2].startswith("| adversarial | 1 | 0 | 0 of 0 | 0 of 0 |")
    assert table[3].startswith("| single_hop | 1 | 1 | 1 of 1 | 1 of 1 |")
    (folder / "lives" / "c" / "life").touch()
    step("tell", folder, "--data", str(data))
    assert (folder / "lives" / "c" / "life").exists(), "a conversation is told once"
