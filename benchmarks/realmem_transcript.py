"""Turn a gate file into a transcript for `gateway-memory replay`.

    python benchmarks/realmem_transcript.py gate.jsonl.gz > transcript.jsonl

The gate file is JSON lines (maybe gzipped) of conv, session, turn, role and text. Each user turn is paired with the
assistant's turn that follows it in its session; a lone one gets an empty other half, so that no turn of the file is
lost. `conv` becomes the person, so that each persona has a memory of its own.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON lines file."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            if line.strip():
                yield json.loads(line)


def pairs(items: Iterator[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """Yield the turns of a transcript."""
    waiting: dict[str, Any] | None = None

    def turn(user: dict[str, Any] | None, reply: dict[str, Any] | None) -> dict[str, str]:
        either = user or reply or {}
        return {
            "session": f"{either['conv']}:{either['session']}",
            "person": str(either["conv"]),
            "user": user["text"] if user else "",
            "reply": reply["text"] if reply else "",
        }

    for item in items:
        same = waiting is not None and (waiting["conv"], waiting["session"]) == (item["conv"], item["session"])
        if item["role"] == "assistant" and same:
            yield turn(waiting, item)
            waiting = None
            continue
        if waiting is not None:
            yield turn(waiting, None)
        waiting = None
        if item["role"] == "assistant":
            yield turn(None, item)
        else:
            waiting = item
    if waiting is not None:
        yield turn(waiting, None)


def main() -> int:
    """Write the transcript to standard output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    for turn in pairs(rows(parser.parse_args().file)):
        sys.stdout.write(json.dumps(turn, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
