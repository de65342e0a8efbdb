"""A round of faults over PostgreSQL: hosts as processes, sessions that talk with them, and what went wrong for these.

It stands where gateways and their users do: what they were answered is all it knows.
"""

import asyncio
import json
import os
import signal
import sqlite3
import sys
import zlib
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import postgres_host
from patience import seconds

__all__ = ["BARRED", "GoneError", "HostProcess", "Talk", "Turn"]

BARRED = "unacceptable"
"""The word for which the database of a round refuses a turn."""
_OPEN_SECONDS = 60
_ANSWER_SECONDS = 60


class GoneError(Exception):
    """The process died before it answered."""


class HostProcess:
    """A host with its folder. Each start of it is a process of its own, with a number.

    ahead_seconds: how much later than others it thinks it is. ready: it answers, or is frozen and will.
    """

    def __init__(self, folder: Path, name: str, schema: str, *, looks: bool, ahead_seconds: int = 0) -> None:
        self.name = name
        self.folder = folder / name
        self.generation = 0
        self.ready = asyncio.Event()
        self._arguments = (str(self.folder), schema, "1" if looks else "0", str(ahead_seconds))
        self._process: asyncio.subprocess.Process | None = None
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reading: list[asyncio.Task[None]] = []
        self._number = 0
        self.errors: deque[str] = deque(maxlen=30)

    @property
    def running(self) -> tuple[str, int]:
        """The name of the process that answers now."""
        return self.name, self.generation

    async def start(self) -> None:
        """Start a process, again while the server lets it not open."""
        async with asyncio.timeout(seconds(_OPEN_SECONDS)):
            while not await self._started():
                await asyncio.sleep(0.2)
        self.ready.set()

    async def _started(self) -> bool:
        self.generation += 1
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(postgres_host.__file__),
            *self._arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,  # no file: its disk is full at times
            env=os.environ,
        )
        opened = self._asked[0] = asyncio.get_running_loop().create_future()
        self._reading = [asyncio.create_task(self._read_answers()), asyncio.create_task(self._read_errors())]
        try:
            await opened
        except GoneError:
            await self._process.wait()
            self._close()
            return False
        return True

    async def _read_answers(self) -> None:
        assert self._process
        assert self._process.stdout
        async for line in self._process.stdout:
            answer = json.loads(line)
            asked = self._asked.pop(answer.pop("id"), None)
            if asked and not asked.done():
                asked.set_result(answer)
        for asked in self._asked.values():
            if not asked.done():
                asked.set_exception(GoneError(self.name))
        self._asked.clear()

    async def _read_errors(self) -> None:
        assert self._process
        assert self._process.stderr
        async for line in self._process.stderr:
            self.errors.append(line.decode().rstrip())

    async def ask(self, op: str, **values: object) -> dict[str, Any]:
        """Return the answer of the process that runs now or next. Raises GoneError."""
        await self.ready.wait()
        assert self._process
        assert self._process.stdin
        self._number += 1
        answer = self._asked[self._number] = asyncio.get_running_loop().create_future()
        self._process.stdin.write((json.dumps({"op": op, "id": self._number, **values}) + "\n").encode())
        try:
            async with asyncio.timeout(seconds(_ANSWER_SECONDS)):
                found: dict[str, Any] = await answer
                return found
        except TimeoutError:
            raise AssertionError("\n".join([f"{self.running} does not answer {op}", *self.errors])) from None

    async def kill(self) -> None:
        """End the process at once."""
        self.ready.clear()
        if self._process and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
            await asyncio.gather(*self._reading)
        self._close()

    async def stop(self) -> None:
        """Let the process close its memory, and end."""
        assert self._process
        assert self._process.stdin
        self.ready.clear()
        self._process.stdin.write(b'{"op": "stop"}\n')
        async with asyncio.timeout(seconds(_ANSWER_SECONDS)):
            assert await self._process.wait() == 0, "\n".join(self.errors)
            await asyncio.gather(*self._reading)
        self._close()

    def _close(self) -> None:
        if self._process:
            self._process._transport.close()  # type: ignore[attr-defined]
            self._process = None

    def freeze(self) -> None:
        """Let the process not run, while its connections stay open."""
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it run again."""
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(number)

    def waiting(self) -> int:
        """Return how many turns wait in the folder for the database."""
        ((number,),) = self._spooled("SELECT count(*) FROM waiting")
        return int(number)

    def set_aside(self) -> set[str]:
        """Return what was said in the turns that the database refused."""
        return {json.loads(body)["user"] for (body,) in self._spooled("SELECT body FROM refused")}

    def _spooled(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self.folder / ".gateway-memory" / "spool.sqlite")) as database:
            return database.execute(query).fetchall()


@dataclass(slots=True, kw_only=True)
class Turn:
    """A turn that a session said. name: a word of its text that no other turn has.

    barred: the database refuses it for what it says. number: what the host answered, None where it gave no answer, or
    refused it. hosts: where it was tried.
    """

    name: str
    memory: bool
    identified: bool
    barred: bool = False
    number: int | None = None
    refused: bool = False
    hosts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What the user said."""
        if self.memory:
            return f"Remember that locker {self.name} opens with {1000 + zlib.crc32(self.name.encode()) % 9000}."
        return f"Please look at ticket {self.name}, the {BARRED if self.barred else 'one'} about the door."


@dataclass(slots=True, kw_only=True)
class _Life:
    """What a session was told under one id.

    opened: it has had an opening, from the process `first`. opening: what it was told in one.
    told: by memory, the processes that told it, how, and whether they noted it for the next process.
    """

    opened: bool = False
    first: tuple[str, int] = "", 0
    opening: set[str] = field(default_factory=set)
    told: defaultdict[str, list[tuple[tuple[str, int], str, bool]]] = field(default_factory=lambda: defaultdict(list))


class Talk:
    """A session, as its user sees it. heard: the memories of which any session has heard; all sessions share it."""

    def __init__(self, key: str, user: str, home: HostProcess, heard: set[str]) -> None:
        self._heard = heard
        self.key = key
        self.user = user
        self.home = home
        self.turns: list[Turn] = []
        self.been: dict[tuple[str, int], frozenset[str]] = {}
        """What somebody had heard of before a process knew of the session: its opening is no place to tell that."""
        self.moves = 0
        self.maybe: set[str] = set()
        """What it may have been told: its host died before it answered."""
        self._lives: dict[str, _Life] = {}
        self._newest = ""

    @property
    def lives(self) -> int:
        """How many sessions there were, one after the other: one is over when its host was dead for too long."""
        return len(self._lives)

    def may_move_to(self, host: HostProcess) -> bool:
        """Return whether the host's process knows nothing of the session yet: one that does is behind."""
        return host is not self.home and host.running not in self.been

    def move_to(self, host: HostProcess) -> None:
        """Let the next message go to another host."""
        self.home = host
        self.moves += 1

    async def hear(self, said: "set[str]") -> bool:
        """Begin a reply. Return whether there was an answer. said: all memories so far."""
        host = self.home
        await host.ready.wait()
        running = host.running
        self.been.setdefault(running, frozenset(self._heard))
        try:
            answer = await host.ask("hear", key=self.key, user=self.user)
        except GoneError:
            self.maybe |= said
            return False
        if "error" in answer:
            return False
        self._newest = answer["session"]
        life = self._lives.setdefault(self._newest, _Life())
        if answer["opened"]:
            again = life.opened and running != life.first and not answer["asked"]
            life.opening |= set(answer["opening"]) - (self.been[running] if again else set())
            if not life.opened:
                life.opened, life.first = True, running
        for kind in ("updates", "lines"):
            for name, how in answer[kind]:
                life.told[name].append((running, how, answer["noted"]))
                self._heard.add(name)
        return True

    async def say(self, turn: Turn) -> bool:
        """End a reply. Return whether the turn is settled: accepted, refused, or not to be sent again."""
        host = self.home
        await host.ready.wait()
        self.been.setdefault(host.running, frozenset(self._heard))
        turn.hosts.append(host.name)
        identity = turn.name if turn.identified else ""
        try:
            answer = await host.ask("say", key=self.key, user=self.user, text=turn.text, turn=identity)
        except GoneError:
            return not turn.identified
        if "error" in answer:
            turn.refused = not turn.identified
            return turn.refused
        turn.number = answer["number"]
        return True

    def missing(self, memories: "set[str]") -> "set[str]":
        """Return those of these memories, which others said, of which the session should have been told."""
        life = self._lives.get(self._newest)
        if life is None:
            return memories
        return memories - life.opening - life.told.keys() - self.maybe if life.opened else set()

    def wrong(self, memories: "set[str]") -> Iterator[str]:
        """Yield what the session should not have been told. memories: of others in its scope."""
        for number, (session_id, life) in enumerate(self._lives.items(), 1):
            for name, told in life.told.items():
                if name not in memories:
                    yield f"{self.key} ({number}, {session_id}) was told of {name}, which it should not be: {told}"
                for before, after in pairwise(told):
                    (there, kind, noted), (here, *_) = before, after
                    if there == here or (kind != "line" and noted):
                        yield f"{self.key} ({number}, {session_id}) was told of {name} twice: {told}"
