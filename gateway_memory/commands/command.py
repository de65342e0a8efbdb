"""A command's entry in a table, in the chat and in the shell, and what it gets."""

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Literal, Protocol

from gateway_memory.capture.changes import MemoryChanges
from gateway_memory.commands.answers import NotDone, phrase
from gateway_memory.config.settings import MemorySync
from gateway_memory.context.finder import Found
from gateway_memory.edge.phrases import Language, texts
from gateway_memory.scope import Scope
from gateway_memory.sessions.session import Session
from gateway_memory.store.journal.speakers import NOBODY, Sender
from gateway_memory.store.plan import ReceiptLine
from gateway_memory.store.validity import Today, Validity
from gateway_memory.sync.health import HealthKeeper
from gateway_memory.sync.storage import Storage

Text = Mapping[Language, str]
"""A text in English and in Chinese."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of a command, which a shell writes `--name VALUE`.

    metavar: what its value is called in help; "" for an option without a value. in_chat: how its value is written in
    the chat; "" for `--name=VALUE`. values: what it takes, for its help; without them, that is in
    `texts/commands.json`.
    """

    command: str
    name: str
    metavar: str = ""
    in_chat: str = ""
    values: tuple[str, ...] = ()

    @property
    def help(self) -> Text:
        """What it does."""
        if self.values:
            return {"en": ", ".join(self.values), "zh": "、".join(self.values)}
        text: Text = texts("commands")[self.command]["options"][self.name]
        return text

    def as_typed(self, value: str) -> str:
        """Return the option as a person types it in the chat."""
        return (self.in_chat or (f"--{self.name}={{}}" if self.metavar else f"--{self.name}")).format(value)


class Commanded(Protocol):
    """The open memory."""

    zone: tzinfo | None
    settings: MemorySync

    def now(self) -> datetime:
        """Return the current time, aware."""

    async def search(
        self,
        session: Session,
        query: str,
        *,
        limit: int = 5,
        kinds: Collection[str] | None = None,
        explain: bool = False,
    ) -> Found:
        """Return the hits of a search, best first; it takes the filters of `as_filter` too."""

    async def get(self, session: Session, id: str, *, around: int = 2) -> Found:  # noqa: A002 - as in a hit
        """Return a hit again, with what was said around it."""

    async def session_counts(self) -> dict[str, int]:
        """Return how many sessions are open, ended, saved, unsaved or failed."""


class Linking(Protocol):
    """The links between the identities of one person."""

    def refused(self, session: Session) -> str | None:
        """Return why the identity of a session can't be linked, or None if it can."""

    async def offer(self, session: Session) -> str:
        """Return a new code."""

    async def link_by_code(self, session: Session, code: str) -> tuple[str, str]:
        """Link the session's identity to the one to which a code was given; return the result, and that one's name."""

    async def link(self, scope: str, other: str) -> tuple[str, str]:
        """Link two people's scopes; return the result, and the other one's name."""

    async def unlink(self, identity: str) -> str | None:
        """End a link of an identity's scope; return the name that is apart again, or None if there is no link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPorts:
    """Everything that a command may use.

    memory: the open memory. storage: what it keeps. changes: forgets and undoes. links: joins identities. caught_up:
    waits until a session's turns are processed, at most so many seconds. remember: keeps what a person asks to
    remember in a session, and who asks; None if nothing of it may be kept. records_anew: makes records of sessions
    anew, and returns how many. switched: makes a session's switches hold for every process. health: how the workspace
    is. sender: who has typed the command in a room.
    """

    memory: Commanded
    storage: Storage
    changes: MemoryChanges
    links: Linking
    caught_up: Callable[[str, float], Awaitable[None]]
    remember: Callable[[Session, str, Sender], Awaitable[ReceiptLine | None]]
    records_anew: Callable[[Scope, Sequence[str]], Awaitable[int]]
    switched: Callable[[Session], Awaitable[None]]
    health: HealthKeeper
    sender: Sender = NOBODY

    async def not_theirs(self, scope: Scope, ids: Iterable[str]) -> frozenset[str]:
        """Return which of some memories of a scope the sender may not change: what others have said in a room."""
        if self.sender.is_host or not scope.kind.is_shared:
            return frozenset()
        known = await self.storage.ledger.memories(scope.key, sorted(ids))
        return frozenset(each.id for each in known.values() if not self.sender.may_change(each.speaker))

    async def check_theirs(self, session: Session, scope: Scope, identity: str) -> None:
        """Raise NotDone for a memory that somebody else has said in a room."""
        if await self.not_theirs(scope, [identity]):
            raise NotDone(phrase(session, "not_said_by_you"))

    def check_host(self, session: Session) -> None:
        """Raise NotDone for what only the owner does in a room."""
        if session.scope.kind.is_shared and not self.sender.is_host:
            raise NotDone(phrase(session, "of_host"))

    async def validity(self, scope: Scope) -> Validity:
        """Return what holds in a scope today."""
        today = Today(self.memory.now().timestamp(), self.memory.zone)
        return await self.storage.ledger.validity(scope.key, today)


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

    run: gets the text behind the name and returns the answer. record: returns the answer as JSON values. takes: what
    may stand behind the name: nothing, arguments such as ids, or any words. changes: whether it changes the memory or
    the session. waits: whether it waits until the turns said before it are processed. own: its other names and its
    texts, of a command that another package brings; those of ours are in `texts/commands.json`.
    """

    name: str
    run: Callable[[CommandPorts, Session, str], Awaitable[str]]
    record: Callable[[CommandPorts, Session, str], Awaitable[dict[str, Any]]] | None = None
    shell: Shell | None = None
    takes: Literal["", "arguments", "words"] = ""
    changes: bool = False
    waits: bool = True
    own: Mapping[str, Any] | None = None

    @property
    def _texts(self) -> Mapping[str, Any]:
        of_name: Mapping[str, Any] = texts("commands")[self.name] if self.own is None else self.own
        return of_name

    @property
    def chinese(self) -> str:
        """Its Chinese name."""
        return str(self._texts["chinese"])

    def called(self, language: Language) -> str:
        """Return its name in a language."""
        return self.chinese if language == "zh" else self.name

    def also(self, language: Language) -> tuple[str, ...]:
        """Return the other words for it in a language, as a person may guess them."""
        return tuple(filter(None, re.split(", |、", self._texts["also"][language])))

    @property
    def names(self) -> tuple[str, ...]:
        """All its names."""
        return (self.name, self.chinese, *self.also("en"), *self.also("zh"))

    @property
    def help(self) -> Text:
        """What it does."""
        text: Text = self._texts["help"]
        return text

    def usage(self, language: Language) -> str:
        """Return its name in a language, with its argument."""
        argument = self._texts.get("argument", {}).get(language, "")
        return f"{self.called(language)} {argument}".rstrip()
