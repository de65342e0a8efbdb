"""`gateway-memory chat`: a small gateway in the terminal, with several sessions over one memory."""

import argparse
import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from gateway_memory.cli.chat_agent import Agent, ChatLine, choose_agent
from gateway_memory.cli.memory import in_memory
from gateway_memory.cli.options import tell, whose_of
from gateway_memory.config.load import load_config
from gateway_memory.edge.phrases import SHELL_LANGUAGE, fill, say
from gateway_memory.memory import GatewayMemory
from gateway_memory.scope import Whose
from gateway_memory.sessions.session import Session
from notifier import Subscription

_text: Final = partial(fill, "phrases")
_HISTORY: Final = 40
_SYSTEM: Final = "You are a helpful assistant. Answer in the user's language."
_PHRASES: Final = {"add": "chat_kept", "update": "chat_kept", "supersede": "chat_kept", "waits": "chat_waits"}
"""The phrase that shows an outcome, by its action."""
_RECEIPTS: Final = 20


@dataclass(slots=True)
class _Room:
    """A session of the chat. opened: its opening was shown."""

    session: Session
    history: list[ChatLine] = field(default_factory=list)
    opened: bool = False


class Chat:
    """Sessions by name, each with its history, in front of one memory and one agent, if there is one."""

    def __init__(
        self, memory: GatewayMemory, agent: Agent | None, whose: Whose, *, show: Callable[[str], None] = print
    ) -> None:
        self._memory = memory
        self._agent = agent
        self._whose = whose
        self._show = show
        self._rooms: dict[str, _Room] = {}
        self._current = ""
        self._prompt = ""
        self._newest = 0
        self._shown: set[str] = set()

    async def run(self) -> None:
        """Read lines from the terminal (or a pipe) until /quit or the end, then end all sessions."""
        self._show(_text("chat_agent", name=self._agent.name) if self._agent else _text("chat_no_agent"))
        self._show(_text("chat_begin"))
        await self._go("main")
        changes = self._memory.changes(**self._whose)
        showing = asyncio.create_task(self._show_changes(changes), name="gateway-memory-chat-news")
        try:
            await self._talk()
        finally:
            changes.close()
            await showing
        for room in self._rooms.values():
            await self._memory.end_session(room.session, reason="user_close")

    async def _talk(self) -> None:
        while True:
            self._prompt = f"{self._current}> "
            line = await asyncio.to_thread(_read, self._prompt)
            self._prompt = ""
            if line is None or line.strip() in ("/quit", "/exit"):
                return
            if line.strip():
                await self.say(line)

    async def say(self, line: str) -> None:
        """Handle one line of the user's input."""
        room = self._rooms[self._current]
        command, _, rest = line.strip().partition(" ")
        if command == "/help":
            self._show(_text("chat_help"))
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
            self._show(f"{_text('chat_unknown', command=command)}\n{_text('chat_help')}")
        else:
            await self._reply(room, line)

    async def _go(self, name: str) -> None:
        if name not in self._rooms:
            if not self._rooms:
                self._newest = max((each.number for each in await self._memory.receipts(limit=1)), default=0)
            key = f"agent:{self._memory.agent}:terminal:direct:{name}"
            self._rooms[name] = _Room(await self._memory.start_session(key, **self._whose))
            self._rooms[name].session.language = SHELL_LANGUAGE.get()  # until the person writes
        self._current = name

    async def _reply(self, room: _Room, message: str) -> None:
        session = room.session
        context = await self._memory.before_reply(session, message)
        if self._agent is None:
            reply = ""
            self._show(_shown(room, context.text))
        else:
            room.history.append(("user", message))
            system = "\n\n".join(part for part in (_SYSTEM, session.opening, context.text) if part)
            try:
                reply = await self._agent.reply(system, room.history[-_HISTORY:])
            except Exception as error:  # noqa: BLE001 - whatever an SDK raises is shown, and the chat continues
                room.history.pop()
                self._show(_text("chat_agent_failed", kind=type(error).__name__, mistake=error))
                return
            room.history.append(("assistant", reply))
            self._show(reply)
        await self._memory.after_reply(session, user=message, reply=reply)
        await self._show_outcomes(session)

    async def _show_changes(self, changes: Subscription) -> None:
        """Show each memory when it is kept, also by a later batch or in another process."""
        async for change in changes:
            if change.action == "added":
                self._show_once("chat_kept", change.id, change.text)

    async def _show_outcomes(self, session: Session) -> None:
        """Show the outcomes of the last turn, once the rules have read it: what was kept, and what is pending."""
        for receipt in reversed((await self._memory.record(session, "receipts", str(_RECEIPTS)))["receipts"]):
            if receipt["number"] > self._newest and receipt["stage"] in ("rules", "batch"):
                self._newest = receipt["number"]
                for outcome in receipt["outcomes"]:
                    if outcome["action"] in _PHRASES:
                        self._show_once(_PHRASES[outcome["action"]], outcome["id"], outcome["text"])

    def _show_once(self, phrase: str, identity: str, text: str) -> None:
        """Show a line once, in the language that the person writes; above the prompt, if one waits."""
        if identity in self._shown:
            return
        self._shown.add(identity)
        line = say(self._rooms[self._current].session.language, phrase, id=identity, text=text)
        self._show(f"\r{line}" if self._prompt else line)
        if self._prompt:
            sys.stdout.write(self._prompt)
            sys.stdout.flush()


def _shown(room: _Room, context: str) -> str:
    """Return what a model would be given; the opening once."""
    opening = "" if room.opened else room.session.opening
    room.opened = True
    injected = "\n\n".join(part for part in (opening, context) if part)
    return say(room.session.language, "chat_no_model" if injected else "chat_no_model_nothing", context=injected)


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
    whose = whose_of(args)
    settings = load_config(args.config).for_agent(args.agent).auto_extract
    try:
        agent = choose_agent(args.model, settings)
    except Exception as error:  # noqa: BLE001 - a missing key is the SDK's own error
        tell(str(error), beside=True)
        return 2

    async def chat(memory: GatewayMemory) -> None:
        try:
            await Chat(memory, agent, whose).run()
        finally:
            if agent:
                await agent.close()

    in_memory(args, chat)
    return 0
