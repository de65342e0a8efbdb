"""The tables of commands: complete in both languages, and carried out by what exists. Names: `test_guesses.py`."""

import pkgutil

import pytest

from gateway_memory.cli.table import COMMANDS as SHELL_COMMANDS
from gateway_memory.commands.dispatch import COMMANDS


def test_every_command_speaks_both_languages() -> None:
    for command in COMMANDS:
        assert command.chinese
        options = command.shell.options if command.shell else ()
        assert all([*command.help.values(), *(text for option in options for text in option.help.values())])
    assert all(all(command.help.values()) for command in SHELL_COMMANDS)


@pytest.mark.parametrize("command", SHELL_COMMANDS, ids=lambda command: command.name)
def test_what_carries_out_a_shell_command_exists(command: object) -> None:
    assert callable(pkgutil.resolve_name(f"gateway_memory.{command.run}"))  # type: ignore[attr-defined]
