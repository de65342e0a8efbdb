"""The tables of commands: complete in both languages, without a name given twice, and found by every name."""

import pkgutil
from pathlib import Path

import pytest

from gateway_memory import OWNER, GatewayMemory, load_config
from gateway_memory.cli.main import COMMANDS as SHELL_COMMANDS
from gateway_memory.commands.dispatch import COMMANDS, find, nearest


def test_every_command_speaks_both_languages_and_no_name_is_given_twice() -> None:
    names = [name for command in COMMANDS for name in (command.name, command.chinese)]
    assert len(set(names)) == len(names)
    for command in COMMANDS:
        assert command.chinese
        options = command.shell.options if command.shell else ()
        assert all([*command.help.values(), *(text for option in options for text in option.help.values())])
        assert all(find(name) is command for name in (command.name, command.chinese))
    assert all(all(command.help.values()) for command in SHELL_COMMANDS)


@pytest.mark.parametrize("command", SHELL_COMMANDS, ids=lambda command: command.name)
def test_what_carries_out_a_shell_command_exists(command: object) -> None:
    assert callable(pkgutil.resolve_name(f"gateway_memory.{command.run}"))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("typed", "meant"), [("serch", "search"), ("hisotry", "history"), ("dance", ""), ("x" * 8000, "")]
)
def test_a_mistyped_name_is_near_to_what_was_meant(typed: str, meant: str) -> None:
    assert nearest(typed) == meant


async def test_the_chat_takes_chinese_names_and_answers_in_chinese(tmp_path: Path) -> None:
    async with GatewayMemory(load_config(), tmp_path) as memory:
        session = await memory.start_session("one", user=OWNER)
        assert "Did you mean /memory list?" in str(await memory.command(session, "/memory lits"))
        assert "还没有记忆" in str(await memory.command(session, "/memory 列出"))
        help_line = str(await memory.command(session, "/memory 帮助"))
        assert help_line.startswith("/memory status（状态）· search <关键词>（搜索）· ")
        assert all(f"{command.usage('zh')}（{command.chinese}）" in help_line for command in COMMANDS)


@pytest.mark.parametrize("typed", ["help", "dance", "serch"])
async def test_help_and_the_answer_to_an_unknown_name_show_every_command(typed: str) -> None:
    async with GatewayMemory(load_config()) as memory:
        session = await memory.start_session("one", user=OWNER)
        shown = str(await memory.command(session, f"/memory {typed}")).partition("/memory status")[2].split(" · ")
        assert shown[1:] == [command.usage("en") for command in COMMANDS[1:]]
