"""The chat's commands in a shell, `gateway-memory status` and the others; and the memory that a command opens."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

from gateway_memory.calls.shell import answer_in_shell, settle
from gateway_memory.capture.distiller import Distilled
from gateway_memory.cli.options import named_of, whose_of
from gateway_memory.commands.command import Answer
from gateway_memory.commands.dispatch import find
from gateway_memory.config.load import load_config
from gateway_memory.edge.shell_socket import ask
from gateway_memory.memory import GatewayMemory

T = TypeVar("T")


def in_memory(args: argparse.Namespace, work: Callable[[GatewayMemory], Awaitable[T]]) -> T:
    """Open the memory that a command's arguments name, and return what `work` returns."""

    async def opened() -> T:
        config = load_config(args.config)
        async with GatewayMemory(config, args.workspace, agent=getattr(args, "agent", "main")) as memory:
            return await work(memory)

    return asyncio.run(opened())


def run(args: argparse.Namespace) -> int:
    """Carry out one of the chat's commands; returns the exit code."""
    name, rest, as_json = args.command.name, _as_typed(args), getattr(args, "json", False)

    async def answered(memory: GatewayMemory) -> Answer | None:
        if name == "search":
            await settle(memory, whose_of(args))
        return await answer_in_shell(memory, name, rest, whose_of(args), as_json=as_json)

    response = None
    if name == "search":  # the encoder of a gateway that runs is loaded
        response = ask(args.workspace, {"agent": args.agent, "rest": rest, "json": as_json, **named_of(args)})
    answer = Answer(text=response["text"], done=response["done"]) if response else in_memory(args, answered)
    if answer is None:
        sys.stderr.write("commands are off: commands.enabled is false in the config\n")
        return 1
    (sys.stdout if answer.done else sys.stderr).write(f"{answer.text}\n")
    return 0 if answer.done else 1


def _as_typed(args: argparse.Namespace) -> str:
    """Return the options and words as they would stand behind the command's name in the chat."""
    command = find(args.command.name)
    assert command
    assert command.shell
    given = [(option, getattr(args, option.name)) for option in command.shell.options]
    options = [option.as_typed(value) for option, value in given if value is not None]
    return " ".join([*options, *getattr(args, "text", [])])


def run_retry(args: argparse.Namespace) -> int:
    """Read the turns again on which the model failed; returns the exit code."""
    turns, failed = in_memory(args, lambda memory: memory.retry())
    print(f"{turns} turns were read again; the model failed on {failed} of them.")  # noqa: T201
    return 1 if failed else 0


def run_distill(args: argparse.Namespace) -> int:
    """Move facts that have earned it to MEMORY.md, and print them with the reason; returns the exit code."""

    async def distilled(memory: GatewayMemory) -> list[Distilled]:
        return await memory.distill(await memory.visit(**whose_of(args)), dry_run=args.dry_run)

    facts = in_memory(args, distilled)
    outcomes = {"moved": "would move" if args.dry_run else "moved", "known": "known there", "full": "no room"}
    for each in facts:
        uses = f"recalled {each.uses.recalled}, said again {each.uses.repeated}, on {each.uses.days} days"
        why = f"{each.reason}: {uses}, confidence {each.memory.confidence:g}"
        print(f"{outcomes[each.outcome]:<11} {each.memory.id} · {each.memory.text} ({why})")  # noqa: T201
    moved = sum(each.outcome == "moved" for each in facts)
    print(f"{moved} facts {outcomes['moved']} to MEMORY.md.")  # noqa: T201
    return 0
