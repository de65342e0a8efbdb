"""Every place where a part of the memory can be exchanged. Read this first.

For each kind: what the part does, who chooses it, and its protocol. A package brings one by an entry point, by whose
name the config chooses it, and changes nothing here:

    [project.entry-points."gateway_memory.parts"]
    "broker.redis" = "my_package:RedisBroker"

`OWN` has ours, by the same line. Parts are loaded when they are first needed. One that fails is named with its package;
nothing is lost then, and the rest goes on. docs/extend.md tells how to write one that belongs to this package.

| kind | chosen by |
|---|---|
| encoder | `autoRecall.embedder.provider`, or `GatewayMemory(…, encoder=make)` |
| reranker | `autoRecall.reranker`, or `GatewayMemory(…, rerank=…)` |
| model | `autoExtract.model` (of `extractor/model/providers.py`), or `GatewayMemory(…, extract=…)` |
| broker | `notify.broker` |
| channel | `GatewayMemory(…, channels=[…])` |
| store | `store.backend`: its adapter opens what `gateway_memory/store/journal/store.py` describes |
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
"""The kinds that a package may bring. `TextEncoder` (recall) and `Channel` (notifier) are the protocols of leaves."""

OWN: Final[Mapping[Kind, Mapping[str, str]]] = {
    "encoder": {
        "bundled": "recall.encoding.encoder:bundled_encoder",
        "openai": "recall.encoding.server:ServerEncoder",
    },
    "reranker": {},
    "broker": {"mqtt": "notifier.mqtt:MqttBroker"},
    "layout": dict.fromkeys(("cursor-memory", "openclaw", "jsonl"), "gateway_memory.transfer.layouts:read_layout"),
    "command": {},
    "surface": {
        "page": "gateway_memory.serving.page.mount:page_routes",
        "mcp": "gateway_memory.serving.mcp:mcp_routes",
        "proxy": "gateway_memory.serving.proxy.mount:proxy_routes",
    },
}
"""Our own parts, by the line with which a package would bring them."""


class Reranker(Protocol):
    """Puts what was found into a better order.

    It is asked after what was forgotten has been cut, and has a share of the deadline. Late, or failing, it changes
    nothing. It is made of no arguments: `make()`.
    """

    def __call__(self, query: str, texts: Sequence[str], /) -> Awaitable[Sequence[float]]:
        """Return a number for each text, the highest for what answers the query best."""


Extract: TypeAlias = Callable[[Sequence[Turn], Sequence[Stored]], Awaitable[Sequence[Candidate]]]
"""A host's own model: takes a batch of turns and the nearest memories, and returns what is to be kept."""


class Broker(Protocol):
    """Carries messages between processes. It is made of the settings below `notify.mqtt`, which hold for each."""

    @property
    def name(self) -> str:
        """What status and doctor call it: "MQTT"."""

    def connect(
        self,
        *,
        client_id: str,
        filters: Sequence[str],
        keep: bool,
        receive: Callable[[str, bytes], None] = ...,
        refused: Callable[[str], None] = ...,
    ) -> AbstractAsyncContextManager[Link]:
        """Open a connection, and raise NotifierError where it does not come about.

        filters: the topics, in MQTT's form. keep: what comes while this client is away is delivered when it is back.
        receive: takes topic and payload of each message, in order. refused: takes the reason of what was dropped.
        """


class Layout(Protocol):
    """Reads another program's memories or conversations. docs/import.md has the rows."""

    def __call__(self, path: Path, zone: tzinfo | None, /) -> Iterable[Mapping[str, Any]]:
        """Yield the rows at a path. zone: of times that name none."""


class ChatCommand(Protocol):
    """A command of the chat. It is made of no arguments."""

    @property
    def help(self) -> Mapping[str, str]:
        """What it does, in "en" and "zh", in one line."""

    @property
    def changes(self) -> bool:
        """Whether it changes the memory or the session."""

    async def run(self, memory: Any, session: Any, rest: str) -> str:
        """Return the answer. memory: the open GatewayMemory. session: where it is typed. rest: what stands behind."""


class Surface(Protocol):
    """Serves an open memory by routes of the service."""

    def __call__(self, service: Any, /) -> AbstractAsyncContextManager[Sequence[Any]]:
        """Yield Starlette's routes for as long as the service runs. service: `Service` in `serving/app.py`."""


def names(kind: Kind) -> list[str]:
    """Return the names of a kind: ours, then those of installed packages."""
    return [*OWN[kind], *(name for name in brought(kind) if name not in OWN[kind])]


def make(kind: Kind, name: str, *arguments: object) -> Any:
    """Make a part.

    Raises:
        LookupError: no package brings it, several do, or it failed; the text says which.
    """
    if name in OWN[kind]:
        return resolve_name(OWN[kind][name])(*arguments)
    entry = part_of(kind, name)
    try:
        return entry.load()(*arguments)
    except Exception as error:
        package = entry.dist.name if entry.dist else entry.value
        raise LookupError(f"the {kind} {name!r} of {package} failed: {type(error).__name__}: {error}") from error
