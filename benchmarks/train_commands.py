"""Trains which command of `/memory` a person means: `python benchmarks/train_commands.py`.

It writes gateway_memory/commands/meant.txt: a direction of the bundled encoder's vector for each command, by ridge
regression on all their names and help, the guesses of tests/data/guesses*.txt and benchmarks/typed.jsonl, what people
ask of the memory in sentences (benchmarks/said/), and what they ask of themselves (benchmarks/questions/).

`--left-out` prints first how many guesses that no name meets are among three when each file is left out.
"""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from train_asker import QUESTIONS, SAID, Floats, encode, rows_in
from train_meanings import lines_of, packed

from gateway_memory.commands.dispatch import COMMANDS, read
from gateway_memory.edge.phrases import CHAT
from recall.encoding.encoder import BundledEncoder

HERE = Path(__file__).parent
GUESSES = (*sorted((HERE.parent / "tests" / "data").glob("guesses*.txt")), HERE / "typed.jsonl")
TARGET = HERE.parent / "gateway_memory" / "commands" / "meant.txt"
ABOUT = "Which command is meant, in directions of the bundled encoder's vector: step, intercept, a byte a weight."
NAMES = [command.name for command in COMMANDS]
RIDGE, SENTENCES_WEIGH, LONGEST = 0.3, 0.3, 60  # characters of a sentence
COMMAND_OF = {
    **dict.fromkeys(("forget_one", "about_person", "forget_last"), "forget"),
    **dict.fromkeys(("forget_today", "forget_all"), "clear"),
    **dict.fromkeys(("pause", "dont_note_this"), "pause"),
    **{name: name for name in ("resume", "correct", "undo")},
    "recall_all": "list",
    "recall_when": "search",
    **dict.fromkeys(("capability", "note_empty"), "help"),
}
Row = tuple[str, str, str]  # a text, its command, and where it stands


def rows() -> Iterator[Row]:
    """The texts of which commands are learnt."""
    for command in COMMANDS:
        yield from ((text, command.name, "names") for text in (*command.names, *command.help.values()))
    for path in GUESSES:
        for line in path.read_text("utf-8").splitlines():
            if path.suffix == ".jsonl":
                typed = json.loads(line)
                yield typed["text"], typed["command"], path.stem
            elif (parts := re.split(r" {2,}", line))[0].startswith(f"{CHAT} ") and parts[1] in NAMES:
                yield parts[0].removeprefix(CHAT).strip(), parts[1], path.stem
    for row in rows_in(SAID):
        meant = COMMAND_OF.get(row.get("intent", ""), "remember" if row["act"] == "note" else "")
        if meant and len(row["text"]) < LONGEST:
            yield row["text"], meant, "said"
    asked = [row["question"] for row in rows_in(QUESTIONS) if "answer" in row and len(row["question"]) < LONGEST]
    yield from ((text, "search", "said") for text in asked)


def is_named(text: str) -> bool:
    """Whether a guess has the name of a command."""
    typed = read(f"{CHAT} {text}")
    return typed is not None and typed.command is not None


def fitted(vectors: Floats, those: list[Row]) -> Floats:
    """The directions of all commands, (dimension + 1, commands); the intercepts are last."""
    given = np.c_[vectors, np.ones(len(vectors))]
    meant = np.array([[float(command == name) for name in NAMES] for _, command, _ in those])
    weights = np.array([[SENTENCES_WEIGH if where == "said" else 1.0] for *_, where in those])
    weights /= weights.mean()
    return np.linalg.solve(given.T @ (weights * given) + RIDGE * np.eye(given.shape[1]), given.T @ (weights * meant))


def left_out(encoder: BundledEncoder, vectors: Floats, all_rows: list[Row]) -> None:
    """Print how many guesses are among the proposals when their file is left out."""
    for path in GUESSES:
        others = [at for at, (*_, where) in enumerate(all_rows) if where != path.stem]
        solution = fitted(vectors[others], [all_rows[at] for at in others])
        those = [row for row in all_rows if row[2] == path.stem and not is_named(row[0])]
        if not those:
            continue
        first = encode(encoder, [text.split()[0] for text, *_ in those])
        scores = (encode(encoder, [text for text, *_ in those]) + first) @ solution[:-1] + 2 * solution[-1]
        near = [[NAMES[at] for at in np.argsort(-of)[:3]] for of in scores]
        met = sum(command in among for (_, command, _), among in zip(those, near, strict=True))
        print(f"{path.stem}: {met} of {len(those)}", flush=True)


def main() -> None:
    """Fit the directions and write their table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--left-out", action="store_true")
    args = parser.parse_args()
    encoder, all_rows = BundledEncoder(), list(rows())
    vectors = encode(encoder, [text for text, *_ in all_rows])
    if args.left_out:
        left_out(encoder, vectors, all_rows)
    solution = fitted(vectors, all_rows)
    directions = {f"command {name}": packed(solution[:, at]) for at, name in enumerate(NAMES)}
    TARGET.write_text("\n".join(lines_of(directions, ABOUT, "commands")) + "\n", "utf-8")


if __name__ == "__main__":
    main()
