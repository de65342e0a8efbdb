"""What each rule is good for: `python benchmarks/ablation.py [--heads FILE] [--rows N] [--json]`.

Each pattern of the tables by which sentences are read, and each of its alternatives, is taken out in memory, in turn.
Printed is what that changes of what is kept of messages that the rules were not made from: the rows of some hands of
benchmarks/said/, and the lists in tests/data/said/. The heads were fitted on those hands, too, so that FILE should hold
heads that were not: `python benchmarks/train_meanings.py --without HANDS --to FILE`, with the hands in `HANDS`.

A rule that changes less than one message in two hundred has not earned its place (`MOVES`); a rule for what hosts put
into a turn, for safety or for a memory without an encoder is judged elsewhere. `--alone` reads without vectors.
"""

import argparse
import json
import random
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests" / "programs")]

import understanding  # noqa: E402 - the folder that has it was added above

from extractor import meaning  # noqa: E402
from extractor.rules import borrowed, extract  # noqa: E402
from extractor.rules.language import LANGUAGES  # noqa: E402
from gateway_memory.ground.tables import Patterns, Table, has_han  # noqa: E402

HANDS = "us hob prof friends messenger zh3 tw zh4 chat_zh companion".split()
LISTS = "plain evening contrary note unsaid requests lookalikes".split()
MOVES = 1 / 200
NEVER = re.compile(r"(?!)")
Line = tuple[str, str]


def messages(rows: int) -> list[tuple[str, bool | None]]:
    """Messages, each with whether it tells something to keep; None where only the lines of it count."""
    found: list[tuple[str, bool | None]] = []
    for hand in HANDS:
        lines = (ROOT / "benchmarks" / "said" / f"{hand}.jsonl").read_text("utf-8").splitlines()
        said = [row for row in map(json.loads, lines) if "keep" in row]
        found += [(row["text"], row["keep"] > 0) for row in random.Random(3).sample(said, min(rows, len(said)))]
    for name in (f"said/{each}_{lang}" for each in LISTS for lang in ("en", "zh")):
        lines = (ROOT / "tests" / "data" / f"{name}.jsonl").read_text("utf-8").splitlines()
        found += [(row["text"], None) for row in map(json.loads, lines)]
    return found


def rules() -> Iterator[tuple[str, dict[str, re.Pattern[str]], str]]:
    """The name of each pattern, the dictionary that has it, and its key there."""
    of_language = zip(("en", "zh"), (language.patterns for language in LANGUAGES), strict=True)
    tables: list[tuple[str, Patterns]] = [
        *of_language,
        ("rules", extract._PATTERNS),  # noqa: SLF001 - a rule is taken out where it is used
        ("borrowed", borrowed._PATTERNS),  # noqa: SLF001
    ]
    yield from ((f"{table} {name}", patterns, name) for table, patterns in tables for name in patterns.names)


@contextmanager
def without(patterns: dict[str, re.Pattern[str]], name: str, part: str = "") -> Iterator[None]:
    """Take out a pattern, or one of its alternatives."""
    whole = patterns[name]
    rest = [each for each in alternatives(whole.pattern) if each != part]
    patterns[name] = re.compile("|".join(rest), whole.flags) if part and rest else NEVER
    yield
    patterns[name] = whole


@contextmanager
def without_shape(number: int, shape: int) -> Iterator[None]:
    """Take out one of the kinds of statements of a language."""
    language = LANGUAGES[number]
    whole = language.shapes
    language.__dict__["shapes"] = whole[:shape] + whole[shape + 1 :]
    yield
    language.__dict__["shapes"] = whole


def alternatives(source: str) -> list[str]:
    """The alternatives of a pattern, outside all groups."""
    parts, depth, escaped, of_class = [""], 0, False, False
    for each in source:
        if escaped:
            escaped = False
        elif each == "\\":
            escaped = True
        elif of_class or each == "[":
            of_class = each != "]"
        elif each in "()":
            depth += 1 if each == "(" else -1
        elif each == "|" and not depth:
            parts.append("")
            continue
        parts[-1] += each
    return parts


def lines_of(message: str, *, alone: bool) -> list[Line]:
    """The category and the content of each line that is kept."""
    if alone:
        return [(each.category, each.content) for each in understanding.kept(message, encoder="another")]
    return [(each.category, each.content) for each in understanding.remembered(message)]


def measure(said: list[tuple[str, bool | None]], before: list[list[Line]], *, alone: bool) -> dict[str, Any]:
    """What a change does to the lines of messages, and recall and precision by language."""
    now = [lines_of(message, alone=alone) for message, _ in said]
    pairs = list(zip(before, now, strict=True))
    counts = {
        "kept": sum(not old and bool(new) for old, new in pairs),
        "lost": sum(bool(old) and not new for old, new in pairs),
        "reworded": sum(bool(old and new) and [c for _, c in old] != [c for _, c in new] for old, new in pairs),
        "category": sum(bool(old and new) and [c for c, _ in old] != [c for c, _ in new] for old, new in pairs),
    }
    report: dict[str, Any] = {**counts, "share": sum(old != new for old, new in pairs) / len(said)}
    for lang in ("en", "zh"):
        own = [
            (keep, bool(new))
            for (message, keep), new in zip(said, now, strict=True)
            if keep is not None and has_han(message) is (lang == "zh")
        ]
        right = sum(keep and kept for keep, kept in own)
        report[f"recall {lang}"] = round(right / max(1, sum(bool(keep) for keep, _ in own)), 4)
        report[f"precision {lang}"] = round(right / max(1, sum(kept for _, kept in own)), 4)
    return report


def main() -> None:
    """Print what each rule changes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heads", type=Path)
    parser.add_argument("--rows", type=int, default=150, help="of each hand")
    parser.add_argument("--parts", action="store_true", help="each alternative of a pattern that moves something")
    parser.add_argument("--alone", action="store_true")
    args = parser.parse_args()
    if args.heads:
        vars(meaning)["_TABLE"] = Table(args.heads.read_text("utf-8"))
    said = messages(args.rows)
    started = time.monotonic()
    before = [lines_of(message, alone=args.alone) for message, _ in said]

    def show(name: str) -> float:
        report = measure(said, before, alone=args.alone)
        mark = "" if report["share"] >= MOVES else "moves nothing"
        print(json.dumps({"without": name, **report, "verdict": mark}, ensure_ascii=False), flush=True)
        return float(report["share"])

    show("nothing")
    for name, patterns, key in rules():
        with without(patterns, key):
            share = show(name)
        if args.parts and share >= MOVES:
            for part in alternatives(patterns[key].pattern):
                with without(patterns, key, part):
                    show(f"{name}: {part[:60]}")
    for number, language in enumerate(LANGUAGES):
        for shape, (reading, pattern) in enumerate(language.shapes):
            with without_shape(number, shape):
                show(f"{('en', 'zh')[number]} shape {reading.category}: {pattern.pattern[:40]}")
    print(f"{len(said)} messages, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
