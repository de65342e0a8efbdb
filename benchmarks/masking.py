"""Measure, and with `--fit` fit, the score by which secrets are masked.

`masking.jsonl` holds sentences: `text`, `language`, `family`, `kind` (`named`: states a secret and names it; `unnamed`;
`innocent`), and the exact `secrets`. Families with `held_out` have no part in the fit. `code_seen` marks sentences that
were written with the code in view. The fit also takes the tables of `tests/data/secrets.jsonl`.

    python benchmarks/masking.py            # rates by kind and language
    python benchmarks/masking.py --failures # and each sentence that fails
    python benchmarks/masking.py --fit      # write extractor/tables/secret_weights.txt
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from extractor import clean
from extractor.cleaning.masking import pairs
from extractor.cleaning.secret_pairs import WEIGHTS as CURRENT
from extractor.cleaning.secret_pairs import Pair

ROOT: Final = Path(__file__).parents[1]
CORPUS: Final = Path(__file__).with_suffix(".jsonl")
FORMS: Final = ROOT / "tests" / "data" / "secrets.jsonl"
WEIGHTS: Final = ROOT / "extractor" / "tables" / "secret_weights.txt"
Row = dict[str, Any]


def rows(path: Path) -> list[Row]:
    """Return the rows of a JSONL file, each with the secrets that it states."""
    read = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [{"secrets": [row["secret"]] if "secret" in row else [], **row} for row in read]


def told(row: Row) -> bool:
    """Whether cleaning leaves one of the row's secrets, or masks something in a row that has none."""
    cleaned = clean(row["text"]).text
    return any(secret in cleaned for secret in row["secrets"]) if row["secrets"] else cleaned != row["text"].strip()


def samples(row: Row) -> Iterator[tuple[Pair, bool]]:
    """Yield each candidate with whether it is (part of) a secret."""
    text = row["text"]
    spans = [(at, at + len(secret)) for secret in row["secrets"] for at in _places(text, secret)]
    for pair in pairs(text):
        yield pair, any(pair.start < end and start < pair.end for start, end in spans)


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def fit(corpus: list[Row], *, ridge: float, rounds: int = 60, weight: float = 1.0) -> dict[str, float]:
    """Logistic regression by Newton's method, with an L2 penalty on all but the bias."""
    found = [(pair, secret, float(row.get("weight", 1))) for row in corpus for pair, secret in samples(row)]
    names = sorted({feature for pair, *_ in found for feature in pair.features})
    column = {name: at for at, name in enumerate(names)}
    matrix = np.zeros((len(found), len(names) + 1))
    matrix[:, -1] = 1
    for at, (pair, *_) in enumerate(found):
        for feature in pair.features:
            matrix[at, column[feature]] += 1
    wanted = np.array([float(secret) for _, secret, _ in found])
    worth = np.array([worth * (1.0 if secret else weight) for _, secret, worth in found])
    penalty = np.full(len(names) + 1, ridge)
    penalty[-1] = 1e-6
    weights = np.zeros(len(names) + 1)
    for _ in range(rounds):
        odds = 1 / (1 + np.exp(-np.clip(matrix @ weights, -30, 30)))
        gradient = matrix.T @ (worth * (odds - wanted)) + penalty * weights
        curve = (matrix * (worth * odds * (1 - odds))[:, None]).T @ matrix + np.diag(penalty)
        step = np.linalg.solve(curve, gradient)
        weights -= step
        if np.abs(step).max() < 1e-6:
            break
    fitted = dict(zip([*names, "bias"], (round(float(each), 2) for each in weights), strict=True))
    return {name: each for name, each in fitted.items() if each}


def written(weights: dict[str, float]) -> str:
    """Return the table of the weights."""
    head = "# The weights of the score of a secret. Made by `benchmarks/masking.py --fit`; do not edit.\n\n[weights]\n"
    return head + "".join(f"{name}: {value:g}\n" for name, value in sorted(weights.items()))


def main() -> None:
    """Print the rates; with `--fit`, fit first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--failures", action="store_true")
    parser.add_argument("--ridge", type=float, default=0.5)
    parser.add_argument("--data", type=Path, default=CORPUS)
    options = parser.parse_args()
    corpus = rows(options.data)
    if options.fit:
        weights = fit([*(row for row in corpus if not row.get("held_out")), *rows(FORMS)], ridge=options.ridge)
        WEIGHTS.write_text(written(weights), "utf-8")
        CURRENT.clear()
        CURRENT.update(weights)
    counts: dict[tuple[bool, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in corpus:
        held, failed = bool(row.get("held_out")), told(row)
        for language in (row["language"], "all"):
            count = counts[held, row["kind"], language]
            count[0] += failed
            count[1] += 1
        if failed and options.failures:
            print(
                "held" if held else "fit ",
                row["kind"],
                row["family"],
                repr(row["text"]),
                "->",
                repr(clean(row["text"]).text),
            )
    print("| families | sentences | language | wrong | of | % |\n|---|---|---|---|---|---|")
    for (held, kind, language), (wrong, total) in sorted(counts.items()):
        part = "held out" if held else "in the fit"
        print(f"| {part} | {kind} | {language} | {wrong} | {total} | {100 * wrong / total:.1f} |")


if __name__ == "__main__":
    main()
