"""Another tool that writes memory files itself: `python appending.py FILE NUMBER SECONDS MODE`, a line each so often.

MODE: "open" (opens the file for each line), "hold" (keeps it open), "slow" (writes each line in two halves).
"""

import sys
import time
from pathlib import Path


def main(file: str, number: int, seconds: float, mode: str) -> None:
    path = Path(file)
    jsonl = path.suffix == ".jsonl"
    held = path.open("ab", buffering=0) if mode == "hold" else None
    for count in range(number):
        line = f'{{"session_id": "other-{count}"}}\n' if jsonl else f"- another tool's line {count}.\n"
        target = held or path.open("ab", buffering=0)
        if mode == "slow":
            target.write(line.encode()[:7])
            time.sleep(seconds / 4)
        target.write(line.encode()[7 if mode == "slow" else 0 :])
        if not held:
            target.close()
        time.sleep(seconds)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
