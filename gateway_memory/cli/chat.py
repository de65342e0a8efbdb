"""`gateway-memory chat`: a small gateway in the terminal, with several sessions over one memory."""

import argparse
import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from gateway_memory.cli.agents import Agent, Message, choose_agent
from gateway_memory.cli.places import owner_unless_named
from gateway_memory.config.load import load_config
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import Owner
from gateway_memory.session import Session

__all__ = ["Chat", "run"]

_HELP: Final = """/session NAME   go to another session, or open it     /sessions   which are open
/new            end this session and begin a new one  /memory …   the memory's own commands
/help           this                                  /quit       leave"""
_HISTORY: Final = 40
_SYSTEM: Final = "You are a helpful assistant. Answer in the user's language."


@dataclass(slots=True)
class _Room:
    session: Session
    history: list[Message] = field(default_factory=list)


class Chat:
    """Sessions by name, each with its history, in front of one memory and one agent."""

    def __init__(
        self, memory: GatewayMemory, agent: Agent, *, user: Owner | str, show: Callable[[str], None] = print
    ) -> None:
        self._memory = memory
        self._agent = agent
        self._user = user
        self._show = show
        self._rooms: dict[str, _Room] = {}
        self._current = ""

    async def run(self) -> None:
        """Read lines from the terminal (or a pipe) until /quit or the end, then end all sessions."""
        self._show(f"Agent: {self._agent.name}. Type /help for what you can do.")
        await self._go("main")
        while True:
            line = await asyncio.to_thread(_read, f"{self._current}> ")
            if line is None or line.strip() in ("/quit", "/exit"):
                break
            if line.strip():
                await self.say(line)
        for room in self._rooms.values():
            await self._memory.end_session(room.session, reason="user_close")

    async def say(self, line: str) -> None:
        """Handle one line of the user's input."""
        room = self._rooms[self._current]
        command, _, rest = line.strip().partition(" ")
        if command == "/help":
            self._show(_HELP)
        elif command == "/sessions":
            self._show("\n".join(f"{'*' if name == self._current else ' '} {name}" for name in self._rooms))
        elif command == "/session":
            await self._go(rest.strip() or "main")
        elif command == "/new":
            await self._memory.end_session(room.session, reason="new")
            del self._rooms[self._current]
            await self._go(self._current)
        elif (answer := await self._memory.command(room.session, line)) is not None:
            self._show(answer)
        elif command.startswith("/"):
            self._show(f"There is no {command}.\n{_HELP}")
        else:
            await self._reply(room, line)

    async def _go(self, name: str) -> None:
        if name not in self._rooms:
            self._rooms[name] = _Room(
                await self._memory.start_session(f"agent:{self._memory.agent}:terminal:direct:{name}", user=self._user)
            )
        self._current = name

    async def _reply(self, room: _Room, message: str) -> None:
        context = await self._memory.before_reply(room.session, message)
        room.history.append(("user", message))
        system = "\n\n".join(part for part in (_SYSTEM, room.session.opening, context.text) if part)
        seen = "\n\n".join(part for part in (room.session.opening, context.text) if part)
        try:
            reply = await self._agent.reply(
                seen if self._agent.name.startswith("offline") else system, room.history[-_HISTORY:]
            )
        except Exception as error:  # noqa: BLE001 - whatever an SDK raises is shown, and the chat continues
            room.history.pop()
            self._show(f"The agent failed: {type(error).__name__}: {error}")
            return
        room.history.append(("assistant", reply))
        self._show(reply)
        offline = self._agent.name.startswith("offline")
        await self._memory.after_reply(room.session, user=message, reply="" if offline else reply)


def _read(prompt: str) -> str | None:
    """Return the next line, None at the end. In a terminal it can be edited, and the arrow keys recall earlier lines.

    They are not written to disk, where they would outlive what is forgotten and keep what was said incognito.
    """
    try:
        if sys.stdin.isatty():
            with suppress(ImportError):  # Python without readline: only the terminal's own editing
                import readline  # noqa: F401 - input() uses it once it is imported
            return input(prompt)
        line = sys.stdin.readline()
    except (EOFError, KeyboardInterrupt):
        return None
    return line.rstrip("\n") if line else None


def run(args: argparse.Namespace) -> int:
    """Open a memory and chat in the terminal until the user leaves; returns the exit code."""
    user = owner_unless_named(args)
    if user is None:
        sys.stderr.write("chat is a conversation with one person: use --user, not --room\n")
        return 2
    try:
        agent = choose_agent(args.model)
    except Exception as error:  # noqa: BLE001 - a missing key is the SDK's own error
        sys.stderr.write(f"{error}\n")
        return 2

    async def chat() -> None:
        async with GatewayMemory(load_config(args.config), args.workspace, agent=args.agent) as memory:
            await Chat(memory, agent, user=user).run()

    asyncio.run(chat())
    return 0
