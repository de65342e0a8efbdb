"""Trains where what a message asks to keep begins and ends: `python benchmarks/train_asked.py [--left-out]`.

It writes extractor/tables/asked.txt from the rows of benchmarks/said/ that ask to keep something and say what: a
softmax over the boundaries of a message, one for the beginning and one for the end, by the words around them. What is
asked for can be anything, so each message is learnt, too, around what others tell. `--left-out` prints first of how
many rows of each hand the words are found exactly, and in how many they are held whole, when trained on the others.
"""

import argparse
import json
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from train_meanings import SAID, lines_of, packed

from extractor.asked import BOUNDARIES, PLACES, around, best_span, words_in
from extractor.language.kind import is_chinese

STEPS, PACE, RIDGE = 200, 0.05, 2e-3
OTHERS = 4
LONGEST_OTHER = 90  # characters
ABOUT = "Where what a message asks to keep begins and ends, by the words around a boundary: step, a byte a weight."
TARGET = SAID.parents[1] / "extractor" / "tables" / "asked.txt"

Vector = NDArray[np.float64]
Row = dict[str, Any]


def hands() -> tuple[list[Row], list[str]]:
    """The rows that say what they ask for, each with its hand, and what others tell."""
    rows = [
        {**json.loads(line), "hand": path.stem}
        for path in sorted(SAID.glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    told = [row["text"] for row in rows if row["act"] in ("tell", "change", "wish") and row.get("keep")]
    asking = [row for row in rows if row["act"] == "note" and row.get("what", "") in row["text"] and row.get("what")]
    return asking, [text for text in told if len(text) <= LONGEST_OTHER]


def with_others(rows: Sequence[Row], told: Sequence[str]) -> list[Row]:
    """The rows, and each again around what others tell in its language."""
    drawn, found = random.Random(1), list(rows)
    by_language = {chinese: [text for text in told if is_chinese(text) == chinese] for chinese in (True, False)}
    for row in rows:
        before, _, after = row["text"].partition(row["what"])
        for _ in range(OTHERS):
            what = drawn.choice(by_language[is_chinese(row["text"])]).strip(" .。!！")
            found.append({"text": f"{before}{what}{after}", "what": what})
    return found


def boundaries(row: Row) -> tuple[list[list[int]], tuple[int, int]]:
    """The places around each boundary of a message, and the numbers of the two that are right."""
    start = row["text"].index(row["what"])
    end = start + len(row["what"])
    found = words_in(row["text"])
    begins = next((number for number, (_, at, _) in enumerate(found) if at >= start), 0)
    ends = max((number for number, (_, _, at) in enumerate(found, 1) if at <= end), default=len(found))
    words = [word for word, _, _ in found]
    return [around(words, at) for at in range(len(words) + 1)], (begins, ends)


def fitted(rows: Sequence[Row]) -> list[Vector]:
    """The weights of the places for the beginning, and for the end, by Adam."""
    given = [boundaries(row) for row in rows]
    of_row = np.concatenate([np.full(len(places), number) for number, (places, _) in enumerate(given)])
    each = [places for all_places, _ in given for places in all_places]
    of_boundary = np.repeat(np.arange(len(each)), [len(places) for places in each])
    places = np.concatenate([np.array(one) for one in each])
    first = np.r_[0, np.cumsum([len(all_places) for all_places, _ in given])[:-1]]
    solutions = []
    for which in range(2):
        right = np.zeros(len(each))
        right[first + [wanted[which] for _, wanted in given]] = 1
        weights, mean, square = (np.zeros(PLACES) for _ in range(3))
        for step in range(1, STEPS + 1):
            scores = np.bincount(of_boundary, weights[places], len(each))
            grown = np.exp(scores - np.maximum.reduceat(scores, first)[of_row])
            share = grown / np.bincount(of_row, grown)[of_row]
            slope = np.bincount(places, (share - right)[of_boundary], PLACES) / len(rows) + RIDGE * weights
            mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
            weights = weights - PACE * mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        solutions.append(weights)
    return solutions


def write(solutions: Sequence[Vector]) -> None:
    """Write the table. Both have one step, so that their sums can be added."""
    most = max(float(np.abs(each).max()) for each in solutions)
    directions = {name: packed(np.r_[each, 0.0], most) for name, each in zip(BOUNDARIES, solutions, strict=True)}
    TARGET.write_text("\n".join(lines_of(directions, ABOUT, "asked")) + "\n", "utf-8")


def main() -> None:
    """Fit the weights and write their table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--left-out", action="store_true")
    rows, told = hands()
    for hand in sorted({row["hand"] for row in rows}) if parser.parse_args().left_out else ():
        begins, ends = fitted(with_others([row for row in rows if row["hand"] != hand], told))
        spans = [(row, best_span(row["text"], begins.tolist(), ends.tolist())) for row in rows if row["hand"] == hand]
        said = [(plain(row["what"]), plain(row["text"][span.start : span.stop])) for row, span in spans]
        exact, whole = sum(what == found for what, found in said), sum(what in found for what, found in said)
        print(f"{hand}: {exact} exactly, {whole} whole, of {len(said)}", flush=True)
    write(fitted(with_others(rows, told)))


def plain(text: str) -> str:
    """The letters of a text."""
    return "".join(filter(str.isalnum, text.casefold()))


if __name__ == "__main__":
    main()
