"""Trains how a sentence's vector tells of a change: `python benchmarks/train_changes.py --pairs FILES --talk FILES`.

Writes extractor/merge/direction.py. `--pairs` are JSON lines (kind, before, after) like tests/data/changed_minds.jsonl,
`--talk` conversations (gzip JSON lines: kind, text), in which hardly anything changes. A ridge regression tells the
vectors of second statements that change the first from all others; half of what those weigh is talk.
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
from recall.encoding.encoder import BundledEncoder

RIDGE = 0.004
TALK = 3000  # sentences of each file
LENGTHS = range(8, 120)  # characters of a sentence
LINE = 100  # characters
ABOUT = "The direction of a change in the bundled encoder's space. Made by benchmarks/train_changes.py; do not edit."
TARGET = Path(__file__).parent.parent / "extractor" / "merge" / "direction.py"

Vectors = NDArray[np.float64]


def talk(path: Path) -> list[str]:
    """Sentences of a file's messages that are no questions."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        texts = [row["text"] for row in map(json.loads, lines) if row["kind"] == "doc"]
    random.Random(1).shuffle(texts)
    found = (said.text for text in texts for said in sentences(text[:1000]) if not said.question)
    return [text for text, _ in zip((text for text in found if len(text) in LENGTHS), range(TALK), strict=False)]


def encode(encoder: BundledEncoder, texts: list[str]) -> Vectors:
    """The unit vectors of texts."""
    parts = [encoder.encode(texts[start : start + 64]) for start in range(0, len(texts), 64)]
    vectors = np.concatenate(parts).astype(np.float64)
    unit: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return unit


def fit(vectors: Vectors, changes: NDArray[np.bool_], weights: Vectors) -> tuple[Vectors, float]:
    """Ridge regression on 1 (a change) and -1, the weights summing to 1; the intercept is not shrunk."""
    mean = weights @ vectors
    centred = vectors - mean
    weighted = centred * weights[:, None]
    ridge = RIDGE * np.eye(vectors.shape[1])
    direction = np.linalg.solve(weighted.T @ centred + ridge, weighted.T @ np.where(changes, 1.0, -1.0))
    return np.asarray(direction, np.float64), float(-mean @ direction)


def module(direction: Vectors, intercept: float) -> Iterator[str]:
    """The lines of the module that holds the result, a byte a weight."""
    step = float(np.abs(direction).max()) / 127
    packed = base64.b64encode(np.rint(direction / step).astype(np.int8).tobytes()).decode()
    yield f'"""{ABOUT}"""'
    yield from ("", '__all__ = ["ENCODER", "INTERCEPT", "PACKED", "STEP"]', "")
    yield from (f'ENCODER = "{BundledEncoder.name}"', f"INTERCEPT = {intercept:.4f}", f"STEP = {step:.6f}")
    yield "PACKED = ("
    yield from (f'    "{packed[start : start + LINE]}"' for start in range(0, len(packed), LINE))
    yield ")"


def main() -> None:
    """Fit the direction and write its module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, nargs="+", required=True)
    parser.add_argument("--talk", type=Path, nargs="+", required=True)
    args = parser.parse_args()
    encoder = BundledEncoder()
    rows = [json.loads(line) for path in args.pairs for line in path.read_text("utf-8").splitlines() if line]
    said = [text for path in args.talk for text in talk(path)]
    vectors = encode(encoder, [*(row["after"] for row in rows), *said])
    changes = np.array([row["kind"] == "change" for row in rows] + [False] * len(said))
    beside = np.arange(len(changes)) < len(rows)
    weights = np.where(changes, 0.5 / changes.sum(), 0.25 / (beside & ~changes).sum())
    weights[~beside] = 0.25 / len(said)
    direction, intercept = fit(vectors, changes, weights)
    TARGET.write_text("\n".join(module(direction, intercept)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
