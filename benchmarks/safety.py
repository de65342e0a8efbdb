"""The safety evaluation: attacks of our own on the installed package, by class, with how many were tried and held.

    python benchmarks/safety.py [--only CLASS …] [--seed N] [--json] [--failures]

isolation: one person's memory in another's session. consent: `/memory off`. injection: text that commands the machine.
privacy: private spans and secrets in every encoding. forgetting: what was forgotten. durability: kills, full disks,
damaged files, other tools that write. bad input: what no caller should send. docs/security.md says what is promised.

It works in a temporary folder, calls no model and leaves this machine alone. It ends with 1 if anything did not hold.
"""

import argparse
import asyncio
import json
import logging
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from random import Random

import structlog
from attack_consent import consent
from attack_durability import durability
from attack_forgetting import forgetting
from attack_injection import injection
from attack_input import bad_input
from attack_isolation import isolation
from attack_privacy import privacy
from attacks import Attack, Try

from recall.encoder import bundled_encoder

CLASSES: dict[str, Attack] = {
    "isolation": isolation,
    "consent": consent,
    "injection": injection,
    "privacy": privacy,
    "forgetting": forgetting,
    "durability": durability,
    "bad input": bad_input,
}


async def run(only: list[str], seed: int) -> tuple[dict[str, list[Try]], dict[str, float]]:
    """Return what was tried, and the seconds that it took, by class."""
    tried: dict[str, list[Try]] = defaultdict(list)
    seconds: dict[str, float] = {}
    for name in only:
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            async for each in CLASSES[name](Path(folder), Random(seed)):
                tried[name].append(each)
        seconds[name] = time.perf_counter() - started
    return tried, seconds


def main() -> int:
    """Run the attacks and print the table; returns the exit code."""
    parser = argparse.ArgumentParser(description="Attacks on the installed package, and how many held.")
    parser.add_argument("--only", nargs="+", choices=list(CLASSES), default=list(CLASSES), metavar="CLASS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--failures", action="store_true", help="name each try that did not hold")
    args = parser.parse_args()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    encoder = bundled_encoder()  # memories share it while one of them is open; here it stays for all
    tried, seconds = asyncio.run(run(args.only, args.seed))
    encoder.close()
    failed = {name: [each.name for each in tries if not each.held] for name, tries in tried.items()}
    if args.json:
        rows = {
            name: {"tried": len(tries), "held": len(tries) - len(failed[name]), "seconds": round(seconds[name], 1)}
            for name, tries in tried.items()
        }
        print(json.dumps({"seed": args.seed, "classes": rows, "failed": failed}, ensure_ascii=False, indent=2))
    else:
        print(f"{'class':<12}{'tried':>8}{'held':>8}{'seconds':>10}")
        for name, tries in tried.items():
            print(f"{name:<12}{len(tries):>8}{len(tries) - len(failed[name]):>8}{seconds[name]:>10.1f}")
        for name, names in failed.items() if args.failures else ():
            print("\n".join(f"{name}: {each}" for each in names))
    return 1 if any(failed.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
