"""Trains whether a statement changes an older one: `python benchmarks/train_pairs.py`.

It writes extractor/tables/changes.txt from benchmarks/pairs/, which has a file for each hand that wrote rows of (old,
new, label): a logistic regression over the vectors of both, the words of the newer one and what the words of both
have to do with each other tells those that replace the older one from those that stand beside it, as small talk does
beside any line, and what somebody tells beside the nearest of what they told before ("change"). Which of several older
lines a statement may change at all is told by a second one ("about"), without words: it tells the pairs that replace or
repeat from statements that are paired with another line of the hand. Beside the weights stands what is found of each
hand when trained on the others: the area under the curve, and the share of changes found where 5 and 2 % of the
neighbours are taken for one, and from which log-odds on. tests/data/changed_minds.jsonl is always left out.
"""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
from train_meanings import SAID, Said, Vectors, area, encode, lines_of, logistic, packed

from extractor.language.kind import is_chinese
from extractor.meaning import OF_PAIRS, meaning_of, words_of
from extractor.merge.compare import relation
from recall.encoding.encoder import BundledEncoder

RIDGE = 3.0
WEIGHS = {"product": 8.0, "difference": 3.0, "newer": 2.0, "older": 1.0, "cosine": 3.0, "relation": 1.0}
FALSE = (0.05, 0.02)
CROSSED, TALK, TOLD = "crossed", "talk", "told"
MOST_TOLD = 10  # facts of a hand: a tenth of what pairs tell
NEAREST_TOLD = 3
NEAREST = 10  # older lines, of which one stands before small talk
DRAWN = ((3, 30), (20, 100))  # among the other lines, the nearest first
ABOUT = "Whether a statement changes an older one, by the vectors and words of both."
ROOT = Path(__file__).parent.parent
LEFT_OUT = ROOT / "tests" / "data" / "changed_minds.jsonl"
TARGET = ROOT / "extractor" / "tables" / "changes.txt"
LABELS = {"change": "replaces", "neighbour": "beside", "repeat": "same"}

NAMES = list(relation("", "", 0.0, None))

Row = dict[str, Any]


def hands() -> list[Row]:
    """The rows of all hands, each with its hand, and last those that train nothing."""
    rows = []
    for path in (*sorted((ROOT / "benchmarks" / "pairs").glob("*.jsonl")), LEFT_OUT):
        for row in map(json.loads, path.read_text("utf-8").splitlines()):
            label = row.get("label") or LABELS[row["kind"]]
            old, new = row.get("old") or row["before"], row.get("new") or row["after"]
            rows.append({"old": old, "new": new, "label": label, "hand": path.stem})
    return rows


def features(encoder: BundledEncoder, rows: list[Row]) -> Said:
    """What the regression is given of pairs. Behind the columns of the vectors stand the cosine and the relation."""
    old, new = (encode(encoder, [row[which] for row in rows]) for which in ("old", "new"))
    columns = {"product": old * new, "difference": np.abs(old - new), "newer": new, "older": old}
    columns["cosine"] = (old * new).sum(axis=1, keepdims=True)
    cosines = columns["cosine"][:, 0]
    telling = [
        meaning.change if (meaning := meaning_of(row["new"], vector.tolist(), encoder.name)) else None
        for row, vector in zip(rows, new, strict=True)
    ]
    related = [
        relation(row["new"], row["old"], float(near), change)
        for row, near, change in zip(rows, cosines, telling, strict=True)
    ]
    columns["relation"] = np.array([list(each.values()) for each in related])
    words = [(place, at, weight) for place, row in enumerate(rows) for at, weight in words_of(row["new"]).items()]
    of_row, places, weights = (np.array(column) for column in zip(*words, strict=True))
    vectors = np.hstack([WEIGHS[name] * column for name, column in columns.items()])
    return Said(vectors, of_row, places, weights.astype(np.float64))


def solved(said: Said, rows: list[Row], left_out: str) -> Vectors:
    """What tells a change from a neighbour, in all hands but some."""
    trains = np.array(
        [row["hand"] not in (left_out, LEFT_OUT.stem) and row["label"] in ("replaces", "beside") for row in rows]
    )
    changes = np.array([row["label"] == "replaces" for row in rows])
    return logistic(said.those(trains), changes[trains], RIDGE)


def crossed(encoder: BundledEncoder, rows: list[Row]) -> list[Row]:
    """The statements of each hand with older lines of the same language that belong to others: near ones, and any."""
    drawn, pairs = random.Random(1), []
    for hand in sorted({row["hand"] for row in rows} - {LEFT_OUT.stem}):
        its = [row for row in rows if row["hand"] == hand and row["label"] != "unsure"]
        olds = sorted({row["old"] for row in its})
        near = encode(encoder, [row["new"] for row in its]) @ encode(encoder, olds).T
        for row, cosines in zip(its, near, strict=True):
            others = [olds[place] for place in np.argsort(-cosines) if olds[place] != row["old"]]
            others = [old for old in others if is_chinese(old) == is_chinese(row["new"])]
            pairs += [{**row, "old": drawn.choice(others[start:end]), "label": CROSSED} for start, end in DRAWN]
    return pairs


def talk(encoder: BundledEncoder, rows: list[Row]) -> list[Row]:
    """Small talk, which changes no line, each with a near older line of the pairs."""
    said = [
        row
        for path in sorted(SAID.glob("chat*.jsonl"))
        for row in map(json.loads, path.read_text("utf-8").splitlines())
    ]
    texts = [row["text"] for row in said if row["act"] == "talk"]
    olds = sorted({row["old"] for row in rows if row["hand"] != LEFT_OUT.stem})
    drawn, near = random.Random(1), encode(encoder, texts) @ encode(encoder, olds).T
    return [
        {"old": olds[drawn.choice(np.argsort(-cosines)[:NEAREST])], "new": text, "label": "beside", "hand": TALK}
        for text, cosines in zip(texts, near, strict=True)
    ]


def facts(encoder: BundledEncoder) -> list[Row]:
    """What people tell of their lives, each with a near line of the same hand, beside which it stands."""
    drawn, pairs = random.Random(1), []
    for path in sorted(SAID.glob("*.jsonl")):
        told = [row["text"] for row in map(json.loads, path.read_text("utf-8").splitlines()) if row["act"] == "tell"]
        told = drawn.sample(told, min(MOST_TOLD, len(told)))
        if not told:
            continue
        near = encode(encoder, told) @ encode(encoder, told).T
        for number, (text, cosines) in enumerate(zip(told, near, strict=True)):
            others = [told[place] for place in np.argsort(-cosines)[: NEAREST + 1] if place != number]
            others = [old for old in others if is_chinese(old) == is_chinese(text)][:NEAREST_TOLD]
            pairs += [{"old": drawn.choice(others), "new": text, "label": "beside", "hand": TOLD}] if others else []
    return pairs


def about(said: Said, rows: list[Row]) -> Vectors:
    """What tells the older lines that a statement may change from the others."""
    wordless = Said(said.vectors, said.rows, said.places, np.zeros_like(said.weights))
    label = np.array([row["label"] for row in rows])
    trains = np.isin(label, ("replaces", "same", CROSSED)) & np.array([row["hand"] != LEFT_OUT.stem for row in rows])
    return logistic(wordless.those(trains), (label != CROSSED)[trains], RIDGE)


def report(said: Said, rows: list[Row]) -> list[str]:
    """What is found of each hand when trained on the others."""
    lines = []
    for hand in sorted({row["hand"] for row in rows} - {TALK, TOLD}):
        its = np.array([row["hand"] == hand for row in rows])
        scores = said.those(its).scores(solved(said, rows, hand))
        label = np.array([row["label"] for row in rows])[its]
        change, beside = scores[label == "replaces"], scores[label == "beside"]
        both = np.concatenate([change, beside])
        found = [f"AUC {area(both, np.arange(len(both)) < len(change)):.3f}"]
        for share in FALSE:
            least = float(np.quantile(beside, 1 - share))
            found.append(f"{(change > least).mean():.2f} at {share:.0%} false (from {least:.1f})")
        lines.append(f"{hand}: {', '.join(found)}")
    return lines


def main() -> None:
    """Fit the weights and write their table."""
    encoder = BundledEncoder()
    rows = hands()
    others = crossed(encoder, rows)
    rows += talk(encoder, rows) + facts(encoder)
    every = [*rows, *others]
    all_said = features(encoder, every)
    said = all_said.those(np.arange(len(every)) < len(rows))
    about_lines = [ABOUT, "What is found of each hand when trained on the others:", *report(said, rows)]
    solutions = {"change": solved(said, rows, ""), "about": about(all_said, every)}
    first, last = OF_PAIRS * encoder.dimension, OF_PAIRS * encoder.dimension + 1 + len(NAMES)
    directions, relations = {}, []
    for kind, solution in solutions.items():
        for number, name in enumerate(("product", "difference", "newer", "older")):
            solution[number * encoder.dimension : (number + 1) * encoder.dimension] *= WEIGHS[name]
        cosine, *related = solution[first:last]
        weights = zip(("cosine", *NAMES), (WEIGHS["cosine"] * cosine, *related), strict=True)
        relations += ["", f"[{kind} by relation]", *(f"{name}: {weight:.4f}" for name, weight in weights)]
        of_words = last if kind == "change" else -1
        directions[kind] = packed(np.r_[solution[:first], solution[of_words:]])
    lines = [*lines_of(directions, "\n# ".join(about_lines), "pairs"), *relations]
    TARGET.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
