"""How long a reply waits for its memory, and what else it costs, at a number of memories.

    python benchmarks/latency.py --memories 1000 10000 100000 [--messages 200] [--json]
    python benchmarks/latency.py --memories 1000000 --scopes 1000

Prints before_reply, and after_reply beside a bare commit to the same disk (p50, p95, p99); before_reply beside the bare
floors of the same run (encoder + numpy product + bare postings, one after the other), and what each of its stages
takes; fifty at once; the longest stall of the event loop, resident memory, the time to open, and the memories that are
indexed and embedded in a second. Replies and floors are measured in turn, some messages each. Beside the stalls stands
that of a loop that does nothing while the bare encoder works in a thread; and what is left of each when the time is
taken off in which processes that do nothing were not woken either: so much at least is not the machine's. Machines are
noisy: compare the ratios, not the milliseconds.

--scopes: the memories are spread over so many people. A hundred of them speak; the others rest, and one that rested is
loaded when it speaks. --texts: so many distinct texts (default: 20,000 where there are scopes, else all differ).
Repeated ones are encoded once, so that a million needn't take an hour; "embedded" then says what writing takes.
--episodes: beside each memory so many exchanges stay as they were said, each of two sides, in sessions of ten; the
floors are those of the memories alone.

The store is made by one process and measured by another, which starts when all is made: its resident memory is that of
one that only serves, and no system has taken pages from it while it waited.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from latency_table import table

HERE = Path(__file__).parent
DISTINCT_TEXTS = 20_000


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, nargs="+", default=[10_000], metavar="N", help="one run for each")
    parser.add_argument("--scopes", type=int, default=1, help="over so many people (default: the owner alone)")
    parser.add_argument("--texts", type=int, help="so many distinct ones")
    parser.add_argument("--episodes", type=int, default=0, help="for each memory (default: %(default)s)")
    parser.add_argument("--messages", type=int, default=200, help="of each length (default: %(default)s)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    for memories in args.memories:
        texts = args.texts or (DISTINCT_TEXTS if args.scopes > 1 else memories)
        result: dict[str, Any] = {
            "memories": memories,
            "scopes": args.scopes,
            "episodes": memories * args.episodes,
            "distinct_texts": min(texts, memories),
        }
        with tempfile.TemporaryDirectory() as folder:
            numbers = (memories, args.scopes, texts)
            built = run("building.py", folder, *numbers, args.episodes)
            os.sync()  # what was built is not still being written while it is opened
            served = run("serving.py", folder, *numbers, args.messages)
        result |= built | served | {"stalls": built["stalls"] | served["stalls"]}
        print(json.dumps(result, indent=1) if args.json else table(result), flush=True)
    return 0


def run(program: str, *arguments: object) -> dict[str, Any]:
    """Run a part of the benchmark in a process of its own, and return what it has measured."""
    command = [sys.executable, str(HERE / program), *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own arguments
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


if __name__ == "__main__":
    raise SystemExit(main())
