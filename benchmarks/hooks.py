"""What an editor waits for: the hooks and the search as whole processes, beside a bare `python -c pass`.

    python benchmarks/hooks.py --memories 10000 --runs 20

And how long a session takes to start beside a sessions.jsonl of 100 and of 100,000 imported records that nothing has
truncated yet: as a hook, and within a gateway. The two are measured in turns, so that their ratio holds on a busy
machine.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.edge.shell_socket import ask
from gateway_memory.observability.logs import configure_logging
from gateway_memory.store.summaries import SessionRecord, line_of

NAMES = "billing login search cache export import audit report mobile web queue worker index backup mail chat".split()
VERBS = "uses needs replaces calls blocks writes reads moves".split()
FEW, MANY = 100, 100_000
ENTRY = [sys.executable, "-m", "gateway_memory.cli.entry"]


def main() -> None:
    """Print each measurement's p50 and p95 in milliseconds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=20)
    args = parser.parse_args()
    configure_logging(verbose=False)
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder) / "few" / ".memory", Path(folder) / "many" / ".memory"
        fill(few, args.memories)
        search = [*ENTRY, "search", "billing cache", "--max-results", "5", "--workspace", str(few)]
        process([*ENTRY, "list", "--workspace", str(few)])  # which makes the index
        process([*search, "--semantic"])  # which waits for the encoder once
        shutil.copytree(few, many, copy_function=shutil.copy2)
        for workspace, number in ((few, FEW), (many, MANY)):
            path = Path(folder) / f"{number}.jsonl"
            write_log(path, number)
            started = time.perf_counter()
            process([*ENTRY, "import", "jsonl", str(path), "--workspace", str(workspace)])
            print(f"import of {number} summaries: {time.perf_counter() - started:.1f} s")
        show("python -c pass", measure(args.runs, lambda: process([sys.executable, "-c", "pass"])))
        starts = measure(args.runs, lambda: start(few), lambda: start(many))
        show(f"hook sessionStart, {args.memories} memories, {FEW} sessions", starts[:1])
        show(f"hook sessionStart, {args.memories} memories, {MANY} sessions", starts[1:])
        ratio(starts)
        within = asyncio.run(starting(few, many, args.runs))
        show(f"start_session, {FEW} sessions", within[:1])
        show(f"start_session, {MANY} sessions", within[1:])
        ratio(within)
        prompts(few, args)
        asyncio.run(prompts_beside_a_gateway(few, args))
        stops(few, args.runs)
        show("search by words", measure(args.runs, lambda: process(search)))
        show("search --semantic", measure(max(5, args.runs // 2), lambda: process([*search, "--semantic"])))


def prompts(workspace: Path, args: argparse.Namespace) -> None:
    """Print what a prompt waits for, and how many of the questions were answered in time."""
    command = [*ENTRY, "hook", "userPromptSubmit", "--workspace", str(workspace)]
    for name, prompt in (("a question", "which service blocks the billing number 77?"), ("small talk", "thanks!")):
        answers: list[bytes] = []

        def ask(prompt: str = prompt, answers: list[bytes] = answers) -> None:
            event = {"session_id": f"s-{time.time_ns()}", "hook_event_name": "UserPromptSubmit", "prompt": prompt}
            answers.append(process(command, json.dumps(event).encode()))

        show(f"hook userPromptSubmit, {name}, {args.memories} memories", measure(args.runs, ask))
        print(f"  told something: {sum(b'gateway-memory' in answer for answer in answers)} of {len(answers)}")


async def prompts_beside_a_gateway(workspace: Path, args: argparse.Namespace) -> None:
    """Print what a prompt waits for where a gateway has the workspace open, and what of it the socket takes."""
    asked = {"agent": "main", "prompt": "which service blocks the billing number 77?", "limit": 3, "min_score": 0.0}
    async with GatewayMemory(load_config(), workspace) as memory:
        await memory.flush()
        print("beside a gateway:")
        await asyncio.to_thread(prompts, workspace, args)
        times = await asyncio.to_thread(measure, args.runs, lambda: ask(workspace, asked))
        show("  the socket's part", times)


def stops(workspace: Path, runs: int) -> None:
    """Print how long a stop takes that reads new exchanges, and one that finds none."""
    log = workspace.parent / "transcript.jsonl"
    event = {"session_id": "stops", "hook_event_name": "Stop", "transcript_path": str(log)}
    for exchanges in (10, 1000):
        with log.open("w", encoding="utf-8") as stream:
            for number in range(exchanges):
                for role, text in (
                    ("user", f"How is the {NAMES[number % 16]} number {number}?"),
                    ("assistant", "Fine."),
                ):
                    line = {"type": role, "uuid": f"{role}-{number}", "message": {"role": role, "content": text}}
                    stream.write(json.dumps(line) + "\n")

        def stop() -> None:
            process([*ENTRY, "hook", "stop", "--workspace", str(workspace)], json.dumps(event).encode())

        started = time.perf_counter()
        stop()
        print(f"hook stop, {exchanges} exchanges, most of them new: {(time.perf_counter() - started) * 1000:.0f} ms")
        show(f"hook stop, {exchanges} exchanges, none of them new", measure(runs, stop))


def start(workspace: Path) -> None:
    """A session starts in an editor."""
    process([*ENTRY, "hook", "sessionStart", "--workspace", str(workspace)], b'{"conversation_id": "bench"}')


async def starting(few: Path, many: Path, runs: int) -> list[list[float]]:
    """Return the milliseconds that `start_session` takes within a gateway of each workspace, taken in turns."""
    times: list[list[float]] = [[], []]
    async with GatewayMemory(load_config(), few) as one, GatewayMemory(load_config(), many) as two:
        for memory in (one, two):
            await memory.flush()
        for number in range(5 * runs + 1):
            both = list(zip((one, two), times, strict=True))
            for memory, taken in both if number % 2 else reversed(both):
                started = time.perf_counter()
                await memory.start_session(f"session {number}", user=OWNER)
                taken.append((time.perf_counter() - started) * 1000)
    return [taken[1:] for taken in times]


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
            stream.write(line_of(record.fields()))


def process(command: list[str], given: bytes = b"") -> bytes:
    """Run a process to its end, and return what it has written."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, input=given, check=True, capture_output=True, env=environment)  # noqa: S603 - ours
    return done.stdout


def measure(runs: int, *works: Callable[[], object]) -> list[list[float]]:
    """Return the milliseconds of each work, taken in turns; the first round warms the disk and is left out."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(runs + 1):
        for work, taken in zip(works, times, strict=True):
            started = time.perf_counter()
            work()
            taken.append((time.perf_counter() - started) * 1000)
    return [taken[1:] for taken in times]


def show(name: str, times: list[list[float]]) -> None:
    """Print one line."""
    taken = sorted(times[0])
    p50, p95 = statistics.median(taken), taken[int(len(taken) * 0.95)]
    print(f"{name:<58} p50 {p50:7.1f} ms   p95 {p95:7.1f} ms   least {taken[0]:7.1f} ms")


def ratio(times: list[list[float]]) -> None:
    """Print how many times as long the second of two works takes."""
    print(f"  ratio of the p50: {statistics.median(times[1]) / statistics.median(times[0]):.3f}")


if __name__ == "__main__":
    main()
