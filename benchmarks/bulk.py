"""Measures import: exchanges and memories a second, resident memory, and how long the event loop stood still.

    python benchmarks/bulk.py [--exchanges 20000] [--memories 20000] [--workspace FOLDER]

An exchange is a message of 20 to 200 characters and a reply of 100 to 600, one in three in Chinese. The import runs in
a process of its own, as `gateway-memory import` does; "taken in" is what is durable and found by its words, "embedded"
what is found by its meaning too.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from corpus import Writer

START = datetime(2024, 1, 1, tzinfo=UTC)
TURNS_A_SESSION = 12


def write_exchanges(path: Path, number: int) -> None:
    """Write so many exchanges as `gateway-memory export` does."""
    writer, choose = Writer(3), random.Random(3)
    with path.open("w", encoding="utf-8") as out:
        for turn in range(number):
            session = turn // TURNS_A_SESSION
            row = {
                "kind": "episode",
                "scope": "owner",
                "at": (START + timedelta(minutes=4 * turn)).isoformat(),
                "session": f"chat-{session}",
                "session_id": f"chat-{session}",
                "user": writer.message(choose.randint(20, 200)),
                "reply": writer.message(choose.randint(100, 600)),
            }
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def write_memories(path: Path, number: int) -> None:
    """Write so many memories as `gateway-memory export` does."""
    writer = Writer(4)
    with path.open("w", encoding="utf-8") as out:
        for count in range(number):
            at = START + timedelta(minutes=5 * count)
            row = {"kind": "memory", "scope": "owner", "text": writer.memory(), "at": at.isoformat(), "type": "W"}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def measure(name: str, source: Path, number: int, workspace: Path, *arguments: str) -> None:
    """Import a file and print how fast that went."""
    command = [sys.executable, "-m", "gateway_memory.cli.entry", "import", "jsonl", str(source), *arguments]
    started = time.perf_counter()
    done = subprocess.run([*command, "--workspace", str(workspace)], check=True, capture_output=True, text=True)  # noqa: S603 - our own program
    seconds = time.perf_counter() - started
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{name}: {number / seconds:.0f} a second ({seconds:.1f} s), at most {most:.0f} MB so far")
    print("  " + done.stdout.strip().replace("\n", "\n  "))


def main() -> int:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exchanges", type=int, default=20_000)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("arguments", nargs="*", help="handed on to `gateway-memory import`")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, number, write in (
            ("memories", given.memories, write_memories),
            ("exchanges", given.exchanges, write_exchanges),
        ):
            if number:
                source = Path(folder) / f"{name}.jsonl"
                write(source, number)
                measure(name, source, number, Path(folder) / name, *given.arguments)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
