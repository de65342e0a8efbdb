"""Trains what a sentence tells by its vector and words.

`python benchmarks/train_meanings.py --talk FILES [--pairs FILES] [--said FILES]` writes
extractor/tables/directions.txt; a direction without data stays as it is. `--pairs` are JSON lines (kind, before,
after) like tests/data/changed_minds.jsonl: a ridge regression tells the second statements that change the first from
all others. `--said` are JSON lines (kind, text) like benchmarks/said.jsonl: logistic regressions tell what says
something lasting ("statement") from "once" and "talk", and what is wished for good ("wish") from all else. `--talk`
are conversations (gzip JSON lines: kind, text), in which hardly anything changes or is wished.

Printed is what is found of each fifth of the rows when trained on the others.
"""

import argparse
import base64
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from extractor.language.sentences import sentences
from extractor.meaning import WORDS, Kind, direction_of, words_of
from recall.encoding.encoder import BundledEncoder

RIDGE, LOGISTIC_RIDGE = 0.004, 0.3
TALK = 3000  # sentences of each file
FEWER = 3  # of them, one is taken for a wish's opposite
LENGTHS = range(8, 120)  # characters of a sentence
FOLDS = 5
FALSE = 0.02  # the share of other rows that may be taken for one, in what is printed
LINE = 100  # characters
ABOUT = "What a sentence tells, in directions of its vector and its words: step, intercept, a byte a weight."
TARGET = Path(__file__).parent.parent / "extractor" / "tables" / "directions.txt"

Vectors = NDArray[np.float64]
Direction = tuple[float, float, str]


def talk(path: Path) -> list[str]:
    """Sentences of a file's messages that are no questions."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        texts = [row["text"] for row in map(json.loads, lines) if row["kind"] == "doc"]
    random.Random(1).shuffle(texts)
    found = (said.text for text in texts for said in sentences(text[:1000]) if not said.question)
    return [text for text, _ in zip((text for text in found if len(text) in LENGTHS), range(TALK), strict=False)]


def read(paths: list[Path]) -> list[dict[str, str]]:
    """The rows of JSON lines."""
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines() if line]


def encode(encoder: BundledEncoder, texts: list[str]) -> Vectors:
    """The unit vectors of texts."""
    parts = [encoder.encode(texts[start : start + 64]) for start in range(0, len(texts), 64)]
    vectors = np.concatenate(parts).astype(np.float64)
    unit: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return unit


def regression(vectors: Vectors, changes: NDArray[np.bool_], weights: Vectors) -> Vectors:
    """Ridge regression on 1 (a change) and -1, the weights summing to 1; the intercept, the last, is not shrunk."""
    mean = weights @ vectors
    centred = vectors - mean
    weighted = centred * weights[:, None]
    ridge = RIDGE * np.eye(vectors.shape[1])
    direction = np.linalg.solve(weighted.T @ centred + ridge, weighted.T @ np.where(changes, 1.0, -1.0))
    return np.asarray(np.r_[direction, -mean @ direction], np.float64)


def with_words(vectors: Vectors, texts: list[str]) -> Vectors:
    """Vectors with the words of their texts behind them."""
    words = np.zeros((len(texts), WORDS))
    for row, text in zip(words, texts, strict=True):
        places = words_of(text)
        row[list(places)] = list(places.values())
    return np.asarray(np.c_[vectors, words], np.float64)


def logistic(vectors: Vectors, of_kind: NDArray[np.bool_], weights: Vectors) -> Vectors:
    """Ridge logistic regression by Newton's method; the intercept, which is last, is hardly shrunk.

    There are more weights than rows, so each step solves for the rows (the Woodbury identity).
    """
    rows = np.c_[vectors, np.ones(len(vectors))]
    penalty = np.r_[np.full(vectors.shape[1], LOGISTIC_RIDGE), 1e-3]
    shrunk = rows / penalty
    between = shrunk @ rows.T
    solution = np.zeros(rows.shape[1])
    for _ in range(20):
        probability = 1 / (1 + np.exp(-rows @ solution))
        gradient = rows.T @ (weights * (probability - of_kind)) + penalty * solution
        curvature = between + np.diag(1 / (weights * probability * (1 - probability) + 1e-6))
        step = gradient / penalty - shrunk.T @ np.linalg.solve(curvature, rows @ (gradient / penalty))
        solution -= step
        if np.abs(step).max() < 1e-3:
            break
    return solution


def held_out(vectors: Vectors, of_kind: NDArray[np.bool_], weights: Vectors, rows: int) -> float:
    """The share of a kind's first `rows` that is found at `FALSE`, each fifth by what was trained on the others."""
    fold = np.random.default_rng(1).integers(0, FOLDS, len(vectors))
    scores = np.zeros(len(vectors))
    for number in range(FOLDS):
        other = fold != number
        solution = logistic(vectors[other], of_kind[other], weights[other])
        scores[~other] = vectors[~other] @ solution[:-1] + solution[-1]
    scores, of_kind = scores[:rows], of_kind[:rows]
    least = np.quantile(scores[~of_kind], 1 - FALSE)
    return float((scores[of_kind] > least).mean())


def packed(solution: Vectors) -> Direction:
    """A direction as it is written, a byte a weight."""
    direction, intercept = solution[:-1], float(solution[-1])
    step = float(np.abs(direction).max()) / 127
    return step, intercept, base64.b64encode(np.rint(direction / step).astype(np.int8).tobytes()).decode()


def lines_of(directions: dict[str, Direction]) -> Iterator[str]:
    """The lines of the table that holds the result."""
    yield f"# {ABOUT}"
    yield from ("# Made by benchmarks/train_meanings.py; do not edit.", "", "[encoder]", f"name: {BundledEncoder.name}")
    for kind, (step, intercept, weights) in directions.items():
        yield from ("", f"[{kind}]", f"step: {step:.6f}", f"intercept: {intercept:.4f}", "weights:")
        yield from (f"  {weights[start : start + LINE]}" for start in range(0, len(weights), LINE))


def shipped() -> dict[str, Direction]:
    """The directions of the table as it is."""
    kinds: tuple[Kind, ...] = ("change", "statement", "wish")
    made = {kind: direction_of(kind) for kind in kinds}
    return {
        kind: (step, intercept, base64.b64encode(weights.tobytes()).decode())
        for kind, (step, intercept, weights) in made.items()
    }


def changes(encoder: BundledEncoder, rows: list[dict[str, str]], said: Vectors) -> Direction:
    """The direction of what changes the statement before it; half of what other rows weigh is talk."""
    vectors = np.concatenate([encode(encoder, [row["after"] for row in rows]), said])
    changing = np.array([row["kind"] == "change" for row in rows] + [False] * len(said))
    beside = np.arange(len(changing)) < len(rows)
    weights = np.where(changing, 0.5 / changing.sum(), 0.25 / (beside & ~changing).sum())
    weights[~beside] = 0.25 / len(said)
    return packed(regression(vectors, changing, weights))


def meant(
    encoder: BundledEncoder, rows: list[dict[str, str]], spoken: list[str], said: Vectors
) -> dict[str, Direction]:
    """The directions of a statement, among what is no wish, and of a wish, among all."""
    kinds = np.array([row["kind"] for row in rows])
    texts = [row["text"] for row in rows]
    vectors = with_words(encode(encoder, texts), texts)
    talked = with_words(said[::FEWER], spoken[::FEWER])
    told = kinds != "wish"
    sets = {
        "statement": (vectors[told], kinds[told] == "statement"),
        "wish": (np.concatenate([vectors, talked]), np.r_[kinds == "wish", np.zeros(len(talked), bool)]),
    }
    found: dict[str, Direction] = {}
    for kind, (one, of_kind) in sets.items():
        weights = np.ones(len(one))
        share = held_out(one, of_kind, weights, len(told) if kind == "wish" else int(told.sum()))
        print(f"{kind}: {share:.2f} of {of_kind.sum()} found at {FALSE:.0%} of the other rows")
        found[kind] = packed(logistic(one, of_kind, weights))
    return found


def main() -> None:
    """Fit the directions and write their table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--talk", type=Path, nargs="+", required=True)
    parser.add_argument("--pairs", type=Path, nargs="+")
    parser.add_argument("--said", type=Path, nargs="+")
    args = parser.parse_args()
    encoder = BundledEncoder()
    spoken = [text for path in args.talk for text in talk(path)]
    said = encode(encoder, spoken)
    directions: dict[str, Direction] = shipped()
    if args.pairs:
        directions["change"] = changes(encoder, read(args.pairs), said)
    if args.said:
        directions |= meant(encoder, read(args.said), spoken, said)
    TARGET.write_text("\n".join(lines_of(directions)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
