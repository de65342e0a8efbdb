"""What a command is: an entry of the table in `table.py`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from gateway_memory.commands.option import Option, Text
from gateway_memory.commands.ports import CommandPorts
from gateway_memory.edge.phrases import Language
from gateway_memory.session import Session

__all__ = ["Command", "Shell"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """How a command is called in a shell, as `gateway-memory NAME`.

    words: how many words it takes, as argparse writes it ("" for none); metavar: what help calls them.
    """

    words: Literal["", "*", "+"] = ""
    metavar: str = ""
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of the chat, and of the shell if `shell` is given.

    aliases: other names, the one that help shows in Chinese first. argument: what stands behind the name. run: gets
    the text behind the name and returns the answer. record: returns what the command tells as JSON values. changes:
    whether it changes the memory or the session. waits: whether it waits until the turns said before it are processed.
    """

    name: str
    help: Text
    run: Callable[[CommandPorts, Session, str], Awaitable[str]]
    aliases: tuple[str, ...] = ()
    argument: Text = ("", "")
    record: Callable[[CommandPorts, Session, str], Awaitable[dict[str, Any]]] | None = None
    shell: Shell | None = None
    changes: bool = False
    waits: bool = True

    def usage(self, language: Language) -> str:
        """Return the name with its argument."""
        return f"{self.name} {self.argument[language == 'zh']}".rstrip()
