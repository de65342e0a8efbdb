"""Trains which messages ask for what their asker has told: `python benchmarks/train_asker.py`.

It writes recall/tables/asker.txt. By the bundled encoder's vector, a logistic regression tells the questions of
benchmarks/questions/ that have an answer, and those that people ask of themselves in benchmarks/said/, from questions
of the world, tasks and all else there.

`--left-out` prints first what it finds of each hand when trained on the others, and takes a minute.
"""

import argparse
import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall.encoding.encoder import BundledEncoder

HERE = Path(__file__).parent
SAID, QUESTIONS = HERE / "said", HERE / "questions"
TARGET = HERE.parent / "recall" / "tables" / "asker.txt"
WEIGHS, RIDGE, STEPS = 3.0, 1.0, 15  # of the logistic regression: of the vector, and its steps of Newton's method
OF_OTHERS = ("ask_world", "order", "talk", "tell", "change", "borrowed", "suppose")
MOST = 1500  # rows of each of these
LINE = 100  # characters

Floats = NDArray[np.float64]
Row = dict[str, Any]


def rows_in(folder: Path) -> list[Row]:
    """The rows of a folder, each with its hand."""
    return [
        {**json.loads(line), "hand": path.stem}
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]


def encode(encoder: BundledEncoder, texts: list[str]) -> Floats:
    """The unit vectors of texts."""
    parts = [encoder.encode(texts[start : start + 64]) for start in range(0, len(texts), 64)]
    vectors = np.concatenate(parts).astype(np.float64)
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return unit


def asking(vectors: Floats, asks: NDArray[np.bool_]) -> Floats:
    """Ridge logistic regression by Newton's method; the intercept is last."""
    given = np.c_[WEIGHS * vectors, np.ones(len(vectors))]
    solution = np.zeros(given.shape[1])
    penalty = np.r_[np.full(vectors.shape[1], RIDGE), 1e-3]
    for _ in range(STEPS):
        probability = 1 / (1 + np.exp(-given @ solution))
        gradient = given.T @ (probability - asks) + penalty * solution
        curvature = (given.T * (probability * (1 - probability) + 1e-6)) @ given + np.diag(penalty)
        solution -= np.linalg.solve(curvature, gradient)
    solution[:-1] *= WEIGHS
    return np.asarray(solution, np.float64)


def packed(numbers: Floats) -> tuple[float, str]:
    """The step and the bytes of numbers."""
    step = float(np.abs(numbers).max()) / 127
    return step, base64.b64encode(np.rint(numbers / step).astype(np.int8).tobytes()).decode()


def area(scores: Floats, right: NDArray[np.bool_]) -> float:
    """The area under the curve: how often a right row scores above another one."""
    rank = np.argsort(np.argsort(scores)) + 1
    number = int(right.sum())
    return float((rank[right].sum() - number * (number + 1) / 2) / (number * (len(right) - number)))


def main() -> None:
    """Fit both and write their table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--left-out", action="store_true")
    args = parser.parse_args()
    encoder, random = BundledEncoder(), np.random.default_rng(1)
    asked = [row for row in rows_in(QUESTIONS) if "answer" in row]
    asked += [{**row, "question": row["text"]} for row in rows_in(SAID) if row["act"] == "ask_self"]
    others = [row for row in rows_in(QUESTIONS) if "answer" not in row]
    for act in OF_OTHERS:
        rows = [{**row, "question": row["text"]} for row in rows_in(SAID) if row["act"] == act]
        rows = [row for row in rows if not (act in ("ask_world", "order") and row["keep"])]
        others += [rows[at] for at in random.permutation(len(rows))[:MOST]]
    texts = [row["question"] for row in (*asked, *others)]
    vectors, asks = encode(encoder, texts), np.arange(len(texts)) < len(asked)
    if args.left_out:
        hands = np.array([row["hand"] for row in (*asked, *others)])
        for hand in sorted(set(hands)):
            own = hands == hand
            if 0 < asks[own].sum() < own.sum():
                solution = asking(vectors[~own], asks[~own])
                print(f"{hand}: {area(vectors[own] @ solution[:-1], asks[own]):.3f}", flush=True)
    *direction, intercept = asking(vectors, asks)
    step, weights = packed(np.array(direction))
    lines = ["# Which messages ask for what their asker has told: a direction of the bundled encoder's vector."]
    lines += ["# Made by benchmarks/train_asker.py; do not edit.", "", "[encoder]", f"name: {BundledEncoder.name}", ""]
    lines += ["[asks]", f"step: {step:.8f}", f"intercept: {intercept:.4f}", "weights:"]
    lines += (f"  {weights[start : start + LINE]}" for start in range(0, len(weights), LINE))
    TARGET.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
