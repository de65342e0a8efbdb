"""What the attacks of `safety.py` share: whose memory it is, how a try is told, and where a text is looked for."""

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Final

from gateway_memory import OWNER, Config, GatewayMemory, Session, load_config

__all__ = ["PEOPLE", "Attack", "Try", "answer_of", "config", "everything", "opening_of", "shell", "words"]

PEOPLE: Final[dict[str, dict[str, Any]]] = {
    "owner": {"user": OWNER},
    "zoe": {"user": "zoe"},
    "Zoe": {"user": "Zoe"},
    "yan": {"user": "严小雨"},
    "called owner": {"user": "owner"},
    "room": {"room": "discord-5"},
    "room zoe": {"room": "zoe"},
}
"""Whose sessions they are: also names that differ by a letter's case, or that are one person's and one group's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One thing that was tried. name: what; held: whether the promise held; it says nothing of any text."""

    name: str
    held: bool


Attack = Callable[[Path, Random], AsyncIterator[Try]]
"""Attacks of one class: they work in an empty folder, and yield each try."""


def config(**sections: dict[str, Any]) -> Config:
    """Return the built-in settings with others in some sections: no model is called, and groups are read too."""
    defaults = load_config().defaults
    extraction = {"model": "rules", "exclude_session_types": ()}
    sections = {**sections, "auto_extract": extraction | sections.get("auto_extract", {})}
    return Config(
        defaults=replace(
            defaults, **{name: replace(getattr(defaults, name), **values) for name, values in sections.items()}
        )
    )


def words(numbers: Random) -> str:
    """Return a word that nothing else contains."""
    return "".join(numbers.choice("bcdfghjklmnpqrstvwxz") + numbers.choice("aeiou") for _ in range(5))


def everything(folder: Path) -> bytes:
    """Return every byte that lies in a folder.

    Another process reads it: whoever closes a file that SQLite has open in the same process takes its locks away.
    """
    files = [str(path) for path in sorted(folder.rglob("*")) if path.is_file()]
    return subprocess.run(["cat", "--", *files], capture_output=True, check=True).stdout  # noqa: S603, S607


async def opening_of(memory: GatewayMemory, key: str, whose: dict[str, Any]) -> str:
    """Return what a fresh session is told at its start."""
    return (await memory.start_session(key, **whose)).opening


async def answer_of(call: Awaitable[object]) -> str:
    """Return all that a call gives back, as text; of an error its words."""
    try:
        return repr(await call)
    except Exception as error:  # noqa: BLE001 - what an error says is an answer too
        return repr(error)


def shell(*arguments: str, given: bytes = b"", seconds: float = 60.0) -> "subprocess.CompletedProcess[bytes]":
    """Run a command of the installed package."""
    return subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "gateway_memory.cli.entry", *arguments],
        input=given,
        capture_output=True,
        check=False,
        timeout=seconds,
    )


async def said(memory: GatewayMemory, session: Session, text: str) -> None:
    """Let a user say something, and wait until it is read."""
    await memory.before_reply(session, text)
    await memory.after_reply(session, user=text, reply="OK")
    await memory.flush()
