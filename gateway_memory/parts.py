"""Every place where a part of the memory can be exchanged. Read this first.

For each kind: what the part does, who chooses it, and its protocol. A package adds a part with an entry point
`kind.name`, and no file of this project changes. The entry point is a class, or a function that makes the part:

    [project.entry-points."gateway_memory.parts"]
    "broker.redis" = "my_package:RedisBroker"

`OWN` lists ours in the same form. Parts are loaded when they are first needed. An encoder, a broker or a reranker that
can't be made stops the start, and the error names its package. A command or a surface that can't be made is left out,
and named in the log. A layout that fails ends the import at its row. docs/extend.md tells how to write one that becomes
part of this project. A host passes its own model, channels, encoder and reranker to `GatewayMemory`.

| kind | chosen by |
|---|---|
| encoder | `autoRecall.embedder.provider`, or `GatewayMemory(…, encoder=make)` |
| reranker | `autoRecall.reranker`, or `GatewayMemory(…, rerank=…)` |
| model | `autoExtract.model`: a provider of `extractor/model/providers.py`; or `GatewayMemory(…, extract=…)` |
| broker | `notify.broker`, where `notify.mqtt.enabled` is true |
| channel | `GatewayMemory(…, channels=[…])` |
| store | `store.backend`: an adapter implements `Store` (`gateway_memory/store/journal/store.py`) |
| layout, history | `gateway-memory import NAME PATH` |
| command | whoever types `/memory NAME` |
| surface | every one that is installed is served by `gateway-memory serve` |
| gateway | `gateway-memory connect NAME`: a row of `gateway_memory/connect/command.py` |
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import tzinfo
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final, Literal, Protocol, TypeAlias

from extractor import Candidate, Turn
from gateway_memory.ground.brought import brought, part_of
from notifier import Channel, Link
from recall import Stored, TextEncoder

__all__ = [
    "OWN",
    "Broker",
    "Channel",
    "ChatCommand",
    "Extract",
    "Kind",
    "Layout",
    "Reranker",
    "Surface",
    "TextEncoder",
    "make",
    "names",
]

Kind: TypeAlias = Literal["encoder", "reranker", "broker", "layout", "command", "surface"]
"""The kinds that a package may bring. `TextEncoder` is declared in `recall`, `Channel` and `Link` in `notifier`."""

OWN: Final[Mapping[Kind, Mapping[str, str]]] = {
    "broker": {"mqtt": "notifier.mqtt:MqttBroker"},
    "surface": {
        "page": "gateway_memory.serving.page.mount:page_routes",
        "mcp": "gateway_memory.serving.mcp:mcp_routes",
        "proxy": "gateway_memory.serving.proxy.mount:proxy_routes",
    },
}
"""Those of our own parts that `make` makes, as entry points: name and `module:function`.

Our encoders stand in `recall/settings.py`, our layouts in `transfer/layouts.py`, our commands in
`commands/dispatch.py`.
"""


class Reranker(Protocol):
    """Puts what was found into a better order.

    It sees only texts that may be told: forgotten ones have been removed. It has three tenths of `timeoutMs` in a
    reply and three seconds in a search, on the event loop (`asyncio.to_thread` is for what blocks). If it is late,
    fails or returns something else, the order stays. It is made without arguments.
    """

    def __call__(self, query: str, texts: Sequence[str], /) -> Awaitable[Sequence[float]]:
        """Return as many numbers as texts, in their order; the highest is the best."""


Extract: TypeAlias = Callable[[Sequence[Turn], Sequence[Stored]], Awaitable[Sequence[Candidate]]]
"""A host's own model: takes a batch of turns and the nearest memories, and returns what is to be kept."""


class Broker(Protocol):
    """Carries messages between processes. It is called with `notifier.MqttSettings` (`host`, `port`, `username_env` …).

    `Link`, a connection, has `post`, `send` and `lost`. Raise `notifier.LinkError`, whose kind gives doctor its advice,
    or `NotifierError`.
    """

    @property
    def name(self) -> str:
        """What status and doctor call it, such as "Redis"."""

    def connect(
        self,
        *,
        client_id: str,
        filters: Sequence[str],
        keep: bool,
        receive: Callable[[str, bytes], None] = ...,
        refused: Callable[[str], None] = ...,
    ) -> AbstractAsyncContextManager[Link]:
        """Open a connection. Raises NotifierError if it can't be opened.

        filters: the topics, in MQTT's form, of which we use one sign: `+` for any name between two slashes. keep: keep
        messages for this client id while it is disconnected, for `expirySeconds`, and deliver them at its next
        connection. receive: is called on the event loop with topic and payload of each message, in order; whether a
        client hears itself does not matter. refused: is called with the reason when the broker refuses a message of
        ours.
        """


class Layout(Protocol):
    """Reads another program's memories or conversations. docs/import.md has the rows."""

    def __call__(self, path: Path, zone: tzinfo | None, /) -> Iterable[Mapping[str, Any]]:
        """Yield the rows at a path. zone: the time zone for times without one."""


class ChatCommand(Protocol):
    """A command of the chat. It is made without arguments."""

    @property
    def help(self) -> Mapping[str, str]:
        """What it does, in "en" and "zh", in one line."""

    @property
    def changes(self) -> bool:
        """Whether it changes the memory or the session."""

    async def run(self, memory: Any, session: Any, rest: str) -> str:
        """Return the answer.

        memory, session: the open `GatewayMemory` and the `Session` (docs/reference.md). rest: the text after the name.
        """


class Surface(Protocol):
    """Serves an open memory by routes of the service."""

    def __call__(self, service: Any, /) -> AbstractAsyncContextManager[Sequence[Any]]:
        """Yield Starlette's routes for as long as the service runs. service: `Service` in `serving/app.py`."""


def names(kind: Kind) -> list[str]:
    """Return the names of a kind: ours, then those of installed packages."""
    ours = OWN.get(kind, {})
    return [*ours, *(name for name in brought(kind) if name not in ours)]


def make(kind: Kind, name: str, *arguments: object) -> Any:
    """Make a part.

    Raises:
        LookupError: no package brings it, several do, or it failed; the text says which.
    """
    if name in OWN.get(kind, {}):
        return resolve_name(OWN[kind][name])(*arguments)
    entry = part_of(kind, name)
    try:
        return entry.load()(*arguments)
    except Exception as error:
        package = entry.dist.name if entry.dist else entry.value
        raise LookupError(f"the {kind} {name!r} of {package} failed: {type(error).__name__}: {error}") from error
