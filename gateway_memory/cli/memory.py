"""Commands on an open memory: the chat's own, as `gateway-memory status`, and those that end what was left."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

from gateway_memory.calls.shell import answer_in_shell, settle
from gateway_memory.capture.distiller import Distilled
from gateway_memory.cli.options import named_of, tell, whose_of
from gateway_memory.commands.answers import Answer
from gateway_memory.commands.dispatch import find
from gateway_memory.config.load import load_config
from gateway_memory.edge.phrases import SHELL_LANGUAGE, shown
from gateway_memory.edge.shell_socket import ask
from gateway_memory.memory import GatewayMemory
from gateway_memory.store.disk.workspace import own_config

T = TypeVar("T")


def in_memory(args: argparse.Namespace, work: Callable[[GatewayMemory], Awaitable[T]]) -> T:
    """Open the memory that a command's arguments name, and return what `work` returns."""

    async def opened() -> T:
        config = load_config(args.config, own=own_config(args.workspace))
        async with GatewayMemory(config, args.workspace, agent=getattr(args, "agent", "main")) as memory:
            return await work(memory)

    return asyncio.run(opened())


def run(args: argparse.Namespace) -> int:
    """Carry out one of the chat's commands; returns the exit code."""
    name, rest, as_json = args.command.name, _as_typed(args), getattr(args, "json", False)
    language = SHELL_LANGUAGE.get()

    async def answered(memory: GatewayMemory) -> Answer | None:
        if name == "search":
            await settle(memory, whose_of(args))
        return await answer_in_shell(memory, name, rest, whose_of(args), language=language, as_json=as_json)

    response = None
    if name == "search":  # the encoder of a gateway that runs is loaded
        request = {"agent": args.agent, "rest": rest, "json": as_json, "language": language}
        response = ask(args.workspace, {**request, **named_of(args)})
    answer = Answer(text=response["text"], done=response["done"]) if response else in_memory(args, answered)
    if answer is None:
        tell("commands are off: commands.enabled is false in the config", beside=True)
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
    tell(f"{turns} turns were read again; the model failed on {failed} of them.")
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
        sys.stdout.write(f"{shown(outcomes[each.outcome]):<11} {each.memory.id} · {each.memory.text} ({shown(why)})\n")
    moved = sum(each.outcome == "moved" for each in facts)
    tell(f"{moved} facts {outcomes['moved']} to MEMORY.md.")
    return 0


# `gateway-memory save-fact` and `save-summary`: called by an agent in its own turn, answered in JSON.
