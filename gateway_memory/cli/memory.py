"""The chat's commands in a shell: `gateway-memory status` and the others that `COMMANDS` gives a `Shell`."""

import argparse
import asyncio
import sys
from functools import partial
from typing import Final

from gateway_memory.cli.places import add_place, named_of, no_folder, whose_of
from gateway_memory.commands.command import Command, Shell, ShellCommand
from gateway_memory.commands.table import COMMANDS as CHAT_COMMANDS
from gateway_memory.commands.table import find

__all__ = ["COMMANDS", "run"]


def _add_arguments(parser: argparse.ArgumentParser, *, command: Command, shell: Shell) -> None:
    add_place(parser)
    if shell.words:
        parser.add_argument("text", nargs=shell.words, metavar=shell.metavar)
    for option in shell.options:
        if option.metavar:
            parser.add_argument(f"--{option.name}", metavar=option.metavar, help=option.help[0])
        else:
            parser.add_argument(f"--{option.name}", action="store_const", const="", help=option.help[0])
    if command.record:
        parser.add_argument("--json", action="store_true", help="for programs: one JSON object")


COMMANDS: Final = tuple(
    ShellCommand(
        name=command.name,
        help=command.help,
        add_arguments=partial(_add_arguments, command=command, shell=command.shell),
        run="gateway_memory.cli.memory:run",
    )
    for command in CHAT_COMMANDS
    if command.shell
)


def run(args: argparse.Namespace) -> int:
    """Carry out one of the chat's commands; returns the exit code."""
    from gateway_memory.commands.command import Answer
    from gateway_memory.commands.dispatch import answer_in_shell, settle
    from gateway_memory.config.load import load_config
    from gateway_memory.edge.shell_socket import ask
    from gateway_memory.memory import GatewayMemory

    if no_folder(args.workspace):
        return 1
    rest, as_json = _as_typed(args), getattr(args, "json", False)
    whose = whose_of(args)

    async def answered() -> Answer | None:
        async with GatewayMemory(load_config(args.config), args.workspace, agent=args.agent) as memory:
            if args.command.name == "search":
                await settle(memory, whose)
            return await answer_in_shell(memory, args.command.name, rest, whose, as_json=as_json)

    told = None
    if args.command.name == "search":  # the encoder of a gateway that runs is loaded
        told = ask(args.workspace, {"agent": args.agent, "rest": rest, "json": as_json, **named_of(args)})
    answer = Answer(text=told["text"], done=told["done"]) if told else asyncio.run(answered())
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
