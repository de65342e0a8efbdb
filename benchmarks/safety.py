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

from recall.encoding.encoder import bundled_encoder

CLASSES: dict[str, Attack] = {
    "isolation": isolation,
    "consent": consent,
    "injection": injection,
    "privacy": privacy,
    "forgetting": forgetting,
    "durability": durability,
    "bad input": bad_input,
}


async def attack(name: str, seed: int) -> list[Try]:
    """Return what was tried of a class."""
    with tempfile.TemporaryDirectory() as folder:
        return [each async for each in CLASSES[name](Path(folder), Random(seed))]


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
    if not args.json:
        print(f"{'class':<12}{'tried':>8}{'held':>8}{'seconds':>10}")
    rows: dict[str, dict[str, float]] = {}
    failed: dict[str, list[str]] = {}
    for name in args.only:
        started = time.perf_counter()
        tried = asyncio.run(attack(name, args.seed))
        seconds = time.perf_counter() - started
        failed[name] = [each.name for each in tried if not each.held]
        held = len(tried) - len(failed[name])
        rows[name] = {"tried": len(tried), "held": held, "seconds": round(seconds, 1)}
        if not args.json:
            print(f"{name:<12}{len(tried):>8}{held:>8}{seconds:>10.1f}", flush=True)
            print("".join(f"  {each}\n" for each in failed[name] if args.failures), end="", flush=True)
    encoder.close()
    if args.json:
        print(json.dumps({"seed": args.seed, "classes": rows, "failed": failed}, ensure_ascii=False, indent=2))
    return 1 if any(failed.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
