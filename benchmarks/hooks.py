"""What an editor waits for: the hooks and the search as whole processes, beside a bare `python -c pass`.

    python benchmarks/hooks.py --memories 10000 --runs 20

Also how long the opening's last record takes to find in a sessions.jsonl of 100 and of 100,000 records.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gateway_memory.store.session_log import SessionRecord

NAMES = "billing login search cache export import audit report mobile web queue worker index backup mail chat".split()
VERBS = "uses needs replaces calls blocks writes reads moves".split()


def main() -> None:
    """Print each measurement's p50 and p95 in milliseconds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=20)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / ".memory"
        fill(workspace, args.memories)
        write_log(workspace / "sessions.jsonl", 100)
        entry = [sys.executable, "-m", "gateway_memory.entry"]
        place = ["--workspace", str(workspace)]
        given = json.dumps({"conversation_id": "bench"}).encode()
        search = [*entry, "search", *place, "billing cache", "--max-results", "5"]
        subprocess.run([*search, "--semantic"], check=True, capture_output=True)  # noqa: S603 - ours; it makes the index
        show("python -c pass", args.runs, lambda: process([sys.executable, "-c", "pass"]))
        start = [*entry, "hook", "sessionStart", *place]
        show(f"hook sessionStart, {args.memories} memories", args.runs, lambda: process(start, given))
        write_log(workspace / "sessions.jsonl", 100_000)
        show("hook sessionStart, 100,000 sessions", args.runs, lambda: process(start, given))
        show("search by words", args.runs, lambda: process(search))
        show("search --semantic", max(3, args.runs // 4), lambda: process([*search, "--semantic"]))


def fill(workspace: Path, memories: int) -> None:
    """Write a workspace: MEMORY.md of 60 lines, the rest over a year of days."""
    chance = random.Random(7)
    (workspace / "memory").mkdir(parents=True)
    days: dict[str, list[str]] = {}
    for number in range(memories):
        day = datetime.now(UTC) - timedelta(days=number % 365)
        text = f"- The {chance.choice(NAMES)} service {chance.choice(VERBS)} the {chance.choice(NAMES)} number {number}"
        days.setdefault("" if number < 60 else f"{day:%Y-%m-%d}", []).append(text)
    for name, lines in days.items():
        path = workspace / (f"memory/{name}.md" if name else "MEMORY.md")
        path.write_text("\n".join(lines) + "\n", "utf-8")


def write_log(path: Path, records: int) -> None:
    """Write a sessions.jsonl of so many records of about 500 bytes."""
    with path.open("wb") as stream:
        for number in range(records):
            record = SessionRecord(
                id=f"sum-{number}",
                session_id=f"session-{number}",
                topic="billing cache",
                summary=f"session {number}: " + "what was done " * 25,
                timestamp="2026-01-01T00:00:00Z",
            )
            stream.write(record.to_line())


def process(command: list[str], given: bytes = b"") -> None:
    """Run a process to its end."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run(command, input=given, check=True, capture_output=True, env=environment)  # noqa: S603 - ours


def show(name: str, runs: int, work: Callable[[], None]) -> None:
    """Measure and print one line; the first run warms the disk and is left out."""
    times = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1000)
    times = sorted(times[1:])
    print(f"{name:<42} p50 {statistics.median(times):7.0f} ms   p95 {times[int(len(times) * 0.95)]:7.0f} ms")


if __name__ == "__main__":
    main()
