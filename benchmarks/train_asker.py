"""Trains what a question seeks: `python benchmarks/train_asker.py`. It writes recall/tables/asker.txt.

By the bundled encoder's vector, a logistic regression tells the questions of benchmarks/questions/ that have an answer
or ask for what somebody of one's own life did ("own"), and those that people ask of themselves in benchmarks/said/,
from questions of the world, tasks and all else there.

A map of low rank moves a question's vector towards its answer's: "what do I do for a living?" and "I tune pianos" share
no word. It is fitted by a softmax over all answers, as the mean of some seeds. The pairs of benchmarks/answers/, many
of which are tasks that a fact bears on, count for the map alone.

`--left-out` prints first what both find of each hand when trained on the others. All takes some minutes.
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
SAID, QUESTIONS, ANSWERS = HERE / "said", HERE / "questions", HERE / "answers"
TARGET = HERE.parent / "recall" / "tables" / "asker.txt"
WEIGHS, RIDGE, STEPS = 3.0, 1.0, 15  # of the logistic regression: of the vector, and its steps of Newton's method
OF_OTHERS = ("ask_world", "order", "talk", "tell", "change", "borrowed", "suppose")
MOST = 2500  # rows of each of these
LINE = 100  # characters
LEAN = 0.4  # log-odds: a question that gets no line costs more than a line too many
RANK, SEEDS, ROUNDS, BATCH = 24, 3, 20, 256  # of the map
SHARPNESS, STEP, DECAY = 10.0, 0.01, 0.008  # of its softmax; of Adam (Kingma & Ba 2015), and the penalty of its weights

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


def sought(questions: Floats, answers: Floats, seed: int) -> Floats:
    """The map, (dimension, dimension), that is added to a question's vector; rows of both: unit vectors of pairs."""
    random, size = np.random.default_rng(seed), questions.shape[1]
    parts = [random.normal(size=(size, RANK)) * 0.01, random.normal(size=(size, RANK)) / np.sqrt(size)]
    means, squares = ([np.zeros_like(part) for part in parts] for _ in range(2))
    step = 0
    for _ in range(ROUNDS):
        order = random.permutation(len(questions))
        for start in range(0, len(questions), BATCH):
            at = order[start : start + BATCH]
            given = questions[at]
            inner = given @ parts[1]
            moved = given + inner @ parts[0].T
            lengths = np.linalg.norm(moved, axis=1, keepdims=True)
            unit = moved / lengths
            odds = SHARPNESS * unit @ answers.T
            share = np.exp(odds - odds.max(axis=1, keepdims=True))
            share /= share.sum(axis=1, keepdims=True)
            share[np.arange(len(at)), at] -= 1
            slope = SHARPNESS * share @ answers / len(at)
            slope = (slope - unit * (slope * unit).sum(axis=1, keepdims=True)) / lengths
            step += 1
            for which, gradient in enumerate((slope.T @ inner, given.T @ (slope @ parts[0]))):
                gradient += DECAY * parts[which]  # noqa: PLW2901
                means[which] = 0.9 * means[which] + 0.1 * gradient
                squares[which] = 0.999 * squares[which] + 0.001 * gradient**2
                rate = STEP * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                parts[which] -= rate * means[which] / (np.sqrt(squares[which]) + 1e-8)
    whole: Floats = parts[0] @ parts[1].T
    return whole


def halves(questions: Floats, answers: Floats) -> tuple[Floats, Floats]:
    """Both factors of the seeds' mean map, (RANK, dimension) each: what is read of a question, and what is added."""
    mean = sum(sought(questions, answers, seed) for seed in range(SEEDS)) / SEEDS
    left, sizes, right = np.linalg.svd(np.asarray(mean))
    weights = np.sqrt(sizes[:RANK])[:, None]
    return right[:RANK] * weights, left[:, :RANK].T * weights


def found(questions: Floats, answers: Floats, read: Floats, added: Floats, first: int = 5) -> float:
    """The share of questions whose answer is among the first of all answers."""
    moved = questions + questions @ read.T @ added
    odds = moved @ answers.T
    return float(((odds > np.diag(odds)[:, None]).sum(axis=1) < first).mean())


def packed(numbers: Floats) -> tuple[float, str]:
    """The step and the bytes of numbers."""
    step = float(np.abs(numbers).max()) / 127
    return step, base64.b64encode(np.rint(numbers / step).astype(np.int8).tobytes()).decode()


def wrapped(text: str) -> list[str]:
    """Lines of a table's value."""
    return [f"  {text[start : start + LINE]}" for start in range(0, len(text), LINE)]


def area(scores: Floats, right: NDArray[np.bool_]) -> float:
    """The area under the curve: how often a right row scores above another one."""
    rank = np.argsort(np.argsort(scores)) + 1
    number = int(right.sum())
    return float((rank[right].sum() - number * (number + 1) / 2) / (number * (len(right) - number)))


def main() -> None:
    """Fit all and write their table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--left-out", action="store_true")
    args = parser.parse_args()
    encoder, random = BundledEncoder(), np.random.default_rng(1)
    asked = [row for row in rows_in(QUESTIONS) if "answer" in row or "own" in row]
    once = {row["question"] for row in rows_in(QUESTIONS)}
    said = [{**row, "question": row["text"]} for row in rows_in(SAID) if row["text"] not in once]
    asked += [row for row in said if row["act"] == "ask_self"]
    others = [row for row in rows_in(QUESTIONS) if not ("answer" in row or "own" in row)]
    for act in OF_OTHERS:
        rows = [row for row in said if row["act"] == act]
        rows = [row for row in rows if not (act in ("ask_world", "order") and row.get("keep"))]
        others += [rows[at] for at in random.permutation(len(rows))[:MOST]]
    texts = [row["question"] for row in (*asked, *others)]
    vectors, asks = encode(encoder, texts), np.arange(len(texts)) < len(asked)
    pairs = [row for row in (*asked, *rows_in(ANSWERS)) if "answer" in row]
    questions, answers = (encode(encoder, [row[side] for row in pairs]) for side in ("question", "answer"))
    if args.left_out:
        hands = np.array([row["hand"] for row in (*asked, *others)])
        for hand in sorted(set(hands)):
            own = hands == hand
            if 0 < asks[own].sum() < own.sum():
                solution = asking(vectors[~own], asks[~own])
                print(f"{hand}: {area(vectors[own] @ solution[:-1], asks[own]):.3f}", flush=True)
        hands = np.array([row["hand"] for row in pairs])
        for hand in sorted(set(hands)):
            own, nothing = hands == hand, np.zeros((1, vectors.shape[1]))
            by_map = found(questions[own], answers[own], *halves(questions[~own], answers[~own]))
            print(f"{hand}: {found(questions[own], answers[own], nothing, nothing):.3f} -> {by_map:.3f}", flush=True)
    *direction, intercept = asking(vectors, asks)
    step, weights = packed(np.array(direction))
    lines = [
        "# What a question seeks, by the bundled encoder's vector: whether it is what its asker has told, and where"
    ]
    lines += ["# its answer is near. Made by benchmarks/train_asker.py; do not edit.", ""]
    lines += ["[encoder]", f"name: {BundledEncoder.name}", ""]
    lines += ["[asks]", f"step: {step:.8f}", f"intercept: {intercept + LEAN:.4f}", "weights:", *wrapped(weights)]
    for name, half in zip(("read", "added"), halves(questions, answers), strict=True):
        step, weights = packed(half)
        lines += ["", f"[{name}]", f"step: {step:.8f}", "weights:", *wrapped(weights)]
    TARGET.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
