"""Trains what a sentence tells by its vector and words: `python benchmarks/train_meanings.py`.

It writes extractor/tables/directions.txt from benchmarks/said/, which has a file for each hand that wrote rows of
(text, act, keep). Logistic regressions tell what is worth keeping ("keep"), what is wished for good ("wish"), what asks
to keep something ("note": "what" of its row is the part that is asked for, which asks no more), what is not its
speaker's own or only supposed ("borrowed"), what only asks something ("question"), what orders the assistant to do or
allow something ("deed": a guest's "manner", "deed" or "fact" in its row), and what is about the memory itself ("meta"),
and what it asks of it (the "intent" of its row; a "hint" counts for this alone). Of the parts of a message
they tell which takes back what was said before it ("unsays"), corrects it ("mends"), or announces another's words
behind it ("introduces").

It writes extractor/tables/subjects.txt, too: a ridge regression tells what a line is about (the "kind" of its row) by
the vector alone. Beside the weights stand how lasting the lines about it are, and the share of the lines of each hand
that it told rightly when trained on the others. `--subjects` makes this table alone, in a minute.

`--left-out` prints first what each head finds of a hand when trained on all others, and takes ten minutes.
`--without HANDS --to FILE` writes heads that know nothing of some hands, for `benchmarks/ablation.py`.
`--pairs FILES --talk FILES` trains "change", too: pairs are JSON lines (kind, before, after) like
tests/data/changed_minds.jsonl, talk is conversations (gzip JSON lines: kind, text) in which hardly anything changes. A
ridge regression tells the second statements that change the first from all others. Without them that direction stays as
it is.
"""

import argparse
import base64
import gzip
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extractor.language.sentences import sentences
from extractor.meaning import ACTS, NOTE, QUESTION, WORDS, Act, Kind, Part, bare, direction_of, words_of
from extractor.parts import parts_of
from recall.encoding.encoder import BundledEncoder

RIDGE, LOGISTIC_RIDGE = 0.004, 0.33
OF_MANY = 2.0  # the ridge where half of the rows are of a kind, whose words would be learnt by heart
VECTOR_WEIGHS = 3.0  # beside the words
STEPS, STEPS_WITHIN, NEAR = 12, 25, 0.01
TALK = 3000  # sentences of each file
LENGTHS = range(8, 120)  # characters of a sentence
PRECISE = 0.9
WORDS_OF_FEW = 2048  # where there are few rows
WORDS_OF_ACTS, RIDGE_OF_ACTS = 4096, 0.2  # found best on a hand that was left out
ACT_OF: dict[str, Act] = {
    "forget_one": "forget",
    "about_person": "forget",
    "recall_all": "recall",
    "recall_when": "recall",
    "recall_one": "recall",
    "dont_note_this": "not_note",
    "capability": "recall",
    "note_empty": "recall",
}
PART_OF: dict[str, Part] = {"unsay": "unsays", "mend": "mends", "introduce": "introduces"}
PART = "part"  # of a message in which it does nothing to the others
HINT = "hint"  # at something that is asked of the memory: it tells what is asked, but hardly that it is
DEED = "deed"
FACTS_EVERY = 4  # one of so many facts stands beside the orders of guests
LINE = 100  # characters
ABOUT = "What a sentence tells, in directions of its vector and its words: step, intercept, a byte a weight."
SUBJECTS = "What a line is about, in directions of its vector; how lasting such lines are, from 1 to 2 (mean keep)."
SAID = Path(__file__).parent / "said"
TARGET = Path(__file__).parent.parent / "extractor" / "tables" / "directions.txt"
TARGET_OF_SUBJECTS = TARGET.with_name("subjects.txt")

Vectors = NDArray[np.float64]
Which = NDArray[np.bool_]
Direction = tuple[float, float, str]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """The vectors of texts, and their words as (row, place, weight)."""

    vectors: Vectors
    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    weights: Vectors
    words: int = WORDS

    @classmethod
    def of(cls, encoder: BundledEncoder, texts: list[str], encoded: list[str] | None = None) -> "Said":
        """Encode texts. encoded: what has their vectors, where that is not the texts."""
        words = [(row, place, weight) for row, text in enumerate(texts) for place, weight in words_of(text).items()]
        rows, places, weights = (np.array(column) for column in zip(*words, strict=True))
        return cls(VECTOR_WEIGHS * encode(encoder, encoded or texts), rows, places, weights.astype(np.float64))

    def those(self, which: Which) -> "Said":
        """Return some of the texts."""
        number = np.cumsum(which) - 1
        words = which[self.rows]
        return Said(self.vectors[which], number[self.rows[words]], self.places[words], self.weights[words], self.words)

    def folded(self, words: int) -> "Said":
        """Return the texts with fewer places of words."""
        return Said(self.vectors, self.rows, self.places % words, self.weights, words)

    def scores(self, solution: Vectors) -> Vectors:
        """Return the texts' products with a direction; the last weight is its intercept."""
        dimension = self.vectors.shape[1]
        words = np.bincount(self.rows, self.weights * solution[dimension:-1][self.places], len(self.vectors))
        return np.asarray(self.vectors @ solution[:dimension] + words + solution[-1], np.float64)

    def sums(self, values: Vectors) -> Vectors:
        """Return the transpose's product with a value for each text."""
        words = np.bincount(self.places, self.weights * values[self.rows], self.words)
        return np.asarray(np.r_[values @ self.vectors, words, values.sum()], np.float64)


def hands() -> Iterator[Row]:
    """The rows of all hands; what a note asks to keep, and the parts of what is kept, as rows of their own."""
    for path in sorted(SAID.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = {**json.loads(line), "hand": path.stem}
            yield row
            if "what" in row:
                yield {"text": row["what"], "act": "tell", "keep": row["keep"], "hand": path.stem}
            if row.get("keep", 0) > 0:
                parts = (row["text"][part.start : part.stop].strip() for part in parts_of(row["text"]))
                yield from ({"text": part, "act": PART, "hand": path.stem} for part in parts)


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


def regression(vectors: Vectors, targets: Vectors, weights: Vectors) -> Vectors:
    """Ridge regression, the weights summing to 1; the intercept, the last, is not shrunk. targets: one or several."""
    mean = weights @ vectors
    centred = vectors - mean
    weighted = centred * weights[:, None]
    ridge = RIDGE * np.eye(vectors.shape[1])
    direction = np.linalg.solve(weighted.T @ centred + ridge, weighted.T @ targets)
    intercept = weights @ targets - mean @ direction
    return np.asarray(np.concatenate([direction, intercept[None]]), np.float64)


def logistic(said: Said, of_kind: Which, ridge: float = LOGISTIC_RIDGE) -> Vectors:
    """Ridge logistic regression by Newton's method, each step by conjugate gradients; the intercept is last."""
    solution = np.zeros(said.vectors.shape[1] + said.words + 1)
    penalty = np.r_[np.full(len(solution) - 1, ridge), 1e-3]
    for _ in range(STEPS):
        probability = 1 / (1 + np.exp(-said.scores(solution)))
        residual = -(said.sums(probability - of_kind) + penalty * solution)
        curvature = probability * (1 - probability) + 1e-6
        step, along, rest, enough = np.zeros_like(solution), residual.copy(), residual @ residual, 1e-6
        enough *= rest
        for _ in range(STEPS_WITHIN):
            bent = said.sums(curvature * said.scores(along)) + penalty * along
            length = rest / (along @ bent)
            step += length * along
            residual -= length * bent
            before, rest = rest, residual @ residual
            if rest < enough:
                break
            along = residual + rest / before * along
        solution += step
        if np.abs(step).max() < NEAR:
            break
    return solution


def labels_of(rows: list[Row]) -> dict[Kind, tuple[Which, Which]]:
    """The rows from which each head learns, and those that it shall find."""
    labelled = np.array(["keep" in row for row in rows])
    keep = np.array([row.get("keep", 0) > 0 for row in rows])
    act = np.array([row["act"] for row in rows])
    guest = np.array([row.get("guest", "") for row in rows])
    facts = keep & np.isin(act, ("tell", "change")) & (np.arange(len(rows)) % FACTS_EVERY == 0)
    return {
        "keep": (labelled, keep),
        "wish": (labelled, keep & (act == "wish")),
        "note": (labelled, act == "note"),
        "borrowed": (labelled & (act != "unsay"), ~keep & np.isin(act, ("borrowed", "suppose"))),
        "meta": (~np.isin(act, (*PART_OF, PART, HINT)), act == "meta"),
        "deed": ((guest != "") | facts, guest == DEED),
    }


def of_questions(rows: list[Row]) -> tuple[Which, Which]:
    """The same for what only asks, with a question mark or without."""
    labelled = np.array(["keep" in row for row in rows])
    asks = np.array([row["act"] in ("ask_self", "ask_world") and not row.get("keep") for row in rows])
    return labelled, asks


def of_parts(rows: list[Row]) -> tuple[Which, dict[Part, Which]]:
    """The same for what a part of a message does to the others. A change or what is borrowed may do it, too."""
    act = np.array([row["act"] for row in rows])
    own = np.isin(act, (*PART_OF, PART))
    used = own | np.array(["keep" in row for row in rows]) & ~np.isin(act, ("change", "borrowed", "suppose", "meta"))
    return used, {name: act == of_act for of_act, name in PART_OF.items()}


def report(said: Said, rows: list[Row]) -> None:
    """Print what each head finds of a hand when trained on the others: the area under the curve, and recall."""
    written = np.array([row["hand"] for row in rows])
    for hand in sorted(set(written)):
        found = []
        for kind, (used, of_kind) in labels_of(rows).items():
            others, own = used & (written != hand), used & (written == hand)
            solution = logistic(said.those(others), of_kind[others], ridge_of(kind))
            scores, right = said.those(own).scores(solution), of_kind[own]
            if 0 < right.sum() < len(right):
                found.append(f"{kind} {area(scores, right):.3f}, {recall(scores, right):.2f}")
        print(f"{hand}: {'; '.join(found)}", flush=True)


def area(scores: Vectors, right: Which) -> float:
    """The area under the curve: how often a right row scores above another one."""
    rank = np.argsort(np.argsort(scores)) + 1
    number = int(right.sum())
    return float((rank[right].sum() - number * (number + 1) / 2) / (number * (len(right) - number)))


def recall(scores: Vectors, right: Which) -> float:
    """The greatest share of the right rows that is found where `PRECISE` of what is found is right."""
    hits = np.cumsum(right[np.argsort(-scores)])
    precise = hits / np.arange(1, len(hits) + 1) >= PRECISE
    return float(hits[precise].max() / right.sum()) if precise.any() else 0.0


def packed(solution: Vectors, most: float = 0.0) -> Direction:
    """A direction as it is written, a byte a weight. most: of the weights that share its step, 0 for its own."""
    direction, intercept = solution[:-1], float(solution[-1])
    step = (most or float(np.abs(direction).max())) / 127
    return step, intercept, base64.b64encode(np.rint(direction / step).astype(np.int8).tobytes()).decode()


def acts(said: Said, rows: list[Row]) -> dict[str, Direction]:
    """The directions of what is asked of the memory, each among all that is asked, also to keep something."""
    intents = [row.get("intent", NOTE if row["act"] == NOTE else "") for row in rows]
    asked = np.array([intent != "" for intent in intents])
    act = np.array([ACT_OF.get(intent, intent) for intent in intents if intent])
    those = said.those(asked).folded(WORDS_OF_ACTS)
    return {f"asks {each}": fitted(those, act == each, RIDGE_OF_ACTS) for each in (*ACTS, NOTE)}


def ridge_of(kind: str) -> float:
    """The ridge with which a kind is found best in a hand that was left out."""
    return OF_MANY if kind in ("keep", QUESTION) else LOGISTIC_RIDGE


def fitted(said: Said, of_kind: Which, ridge: float = LOGISTIC_RIDGE) -> Direction:
    """The direction of a kind."""
    solution = logistic(said, of_kind, ridge)
    solution[: said.vectors.shape[1]] *= VECTOR_WEIGHS
    return packed(solution)


def lines_of(directions: Mapping[str, Direction], about: str = ABOUT, maker: str = "meanings") -> Iterator[str]:
    """The lines of the table that holds the result."""
    yield f"# {about}"
    yield from (f"# Made by benchmarks/train_{maker}.py; do not edit.", "", "[encoder]", f"name: {BundledEncoder.name}")
    for kind, (step, intercept, weights) in directions.items():
        yield from ("", f"[{kind}]", f"step: {step:.6f}", f"intercept: {intercept:.4f}", "weights:")
        yield from (f"  {weights[start : start + LINE]}" for start in range(0, len(weights), LINE))


def shipped(kind: Kind) -> Direction:
    """A direction of the table as it is."""
    step, intercept, weights = direction_of(kind)
    return step, intercept, base64.b64encode(weights.tobytes()).decode()


def changes(encoder: BundledEncoder, rows: list[Row], spoken: list[str]) -> Direction:
    """The direction of what changes the statement before it; half of what other rows weigh is talk."""
    vectors = encode(encoder, [*(row["after"] for row in rows), *spoken])
    changing = np.array([row["kind"] == "change" for row in rows] + [False] * len(spoken))
    beside = np.arange(len(changing)) < len(rows)
    weights = np.where(changing, 0.5 / changing.sum(), 0.25 / (beside & ~changing).sum())
    weights[~beside] = 0.25 / len(spoken)
    return packed(regression(vectors, np.where(changing, 1.0, -1.0), weights))


def subjects(encoder: BundledEncoder, rows: list[Row]) -> Iterator[str]:
    """The lines of the table of subjects; prints what is told rightly of each hand when trained on the others."""
    rows = [row for row in rows if "kind" in row and (row["keep"] or row["act"] == "ask_self")]
    vectors, kept = encode(encoder, [row["text"] for row in rows]), np.array([row["keep"] > 0 for row in rows])
    names, number = np.unique([row["kind"] for row in rows], return_inverse=True)
    hand = np.array([row["hand"] for row in rows])

    def solution(of: Which) -> Vectors:
        weights = 1 / np.sqrt(np.bincount(number[of], minlength=len(names)))[number[of]]
        return regression(vectors[of], np.eye(len(names))[number[of]], weights / weights.sum())

    right = {}
    for each in sorted(set(hand)):
        direction, own = solution(hand != each), (hand == each) & kept
        told = np.argmax(vectors[own] @ direction[:-1] + direction[-1], axis=1) == number[own]
        right[each] = float(told.mean())
        print(f"{each}: {right[each]:.2f} of {own.sum()} told what they are about", flush=True)
    whole = solution(np.ones(len(rows), np.bool_))
    most = float(np.abs(whole[:-1]).max())
    directions = {f"about {name}": packed(column, most) for name, column in zip(names, whole.T, strict=True)}
    yield from lines_of(directions, SUBJECTS)
    keep = np.array([row["keep"] for row in rows])
    yield from ("", "[lasting]")
    yield from (f"{name}: {keep[kept & (number == at)].mean():.2f}" for at, name in enumerate(names))
    yield from ("", "[left out]", *(f"{each}: {share:.3f}" for each, share in right.items()))


def main() -> None:
    """Fit the directions and write their table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--left-out", action="store_true")
    parser.add_argument("--subjects", action="store_true")
    parser.add_argument("--without", nargs="+", default=[])
    parser.add_argument("--to", type=Path, default=TARGET)
    parser.add_argument("--pairs", type=Path, nargs="+", default=[])
    parser.add_argument("--talk", type=Path, nargs="+", default=[])
    args = parser.parse_args()
    encoder, rows = BundledEncoder(), [row for row in hands() if row["hand"] not in args.without]
    if args.to == TARGET:
        TARGET_OF_SUBJECTS.write_text("\n".join(subjects(encoder, rows)) + "\n", "utf-8")
    if args.subjects:
        return
    said = Said.of(encoder, [row["text"] for row in rows])
    if args.left_out:
        report(said, rows)
    directions: dict[str, Direction] = {"change": shipped("change")}
    if args.pairs and args.talk:
        pairs = [json.loads(line) for path in args.pairs for line in path.read_text("utf-8").splitlines()]
        directions["change"] = changes(encoder, pairs, [text for path in args.talk for text in talk(path)])
    for kind, (used, of_kind) in labels_of(rows).items():
        directions[kind] = fitted(said.those(used), of_kind[used], ridge_of(kind))
    used, asks = of_questions(rows)
    directions[QUESTION] = fitted(said.those(used).folded(WORDS_OF_FEW), asks[used], ridge_of(QUESTION))
    used, of_part = of_parts(rows)
    texts = [row["text"] for row, each in zip(rows, used, strict=True) if each]
    parts = Said.of(encoder, texts, list(map(bare, texts))).folded(WORDS_OF_FEW)
    directions |= {part: fitted(parts, which[used]) for part, which in of_part.items()}
    directions |= acts(said, rows)
    args.to.write_text("\n".join(lines_of(directions)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
