"""`gateway-memory retry` and `gateway-memory distill`."""

import argparse
import asyncio

from gateway_memory.capture.distiller import Distilled
from gateway_memory.cli.places import no_folder, whose_of
from gateway_memory.config.load import load_config
from gateway_memory.memory import GatewayMemory

__all__ = ["run_distill", "run_retry"]


def run_retry(args: argparse.Namespace) -> int:
    """Read the turns again on which the model failed; returns the exit code."""
    if no_folder(args.workspace):
        return 1

    async def retried() -> tuple[int, int]:
        async with GatewayMemory(load_config(args.config), args.workspace, agent=args.agent) as memory:
            return await memory.retry()

    turns, failed = asyncio.run(retried())
    print(f"{turns} turns were read again; the model failed on {failed} of them.")  # noqa: T201
    return 1 if failed else 0


def run_distill(args: argparse.Namespace) -> int:
    """Move facts that have earned it to MEMORY.md, and print them with the reason; returns the exit code."""
    if no_folder(args.workspace):
        return 1

    async def distilled() -> list[Distilled]:
        async with GatewayMemory(load_config(args.config), args.workspace, agent=args.agent) as memory:
            session = await memory.visit(**whose_of(args))
            return await memory.distill(session, dry_run=args.dry_run)

    found = asyncio.run(distilled())
    said = {"moved": "would move" if args.dry_run else "moved", "known": "known there", "full": "no room"}
    for each in found:
        uses = f"recalled {each.uses.recalled}, said again {each.uses.repeated}, on {each.uses.days} days"
        why = f"{each.reason}: {uses}, confidence {each.memory.confidence:g}"
        print(f"{said[each.outcome]:<11} {each.memory.id} · {each.memory.text} ({why})")  # noqa: T201
    moved = sum(each.outcome == "moved" for each in found)
    print(f"{moved} facts {'would move' if args.dry_run else 'moved'} to MEMORY.md.")  # noqa: T201
    return 0
