"""What tests see of an open memory's inside: the only place that reaches for it."""

from collections.abc import Sequence
from typing import Any

from gateway_memory import GatewayMemory
from gateway_memory.store.journal.connection import Connection
from gateway_memory.store.journal.turns import Turns
from gateway_memory.wiring import OpenMemory
from notifier import NotifierStatus

__all__ = ["connection", "encoder_loaded", "journal_rows", "mqtt_status", "parts"]


def parts(memory: GatewayMemory) -> OpenMemory:
    """Return the parts of an open memory."""
    return memory._opened()


def connection(memory: GatewayMemory) -> Connection:
    """Return the connection on which an open memory's journal works."""
    turns = parts(memory).storage.turns
    assert isinstance(turns, Turns)
    assert isinstance(turns._connection, Connection)
    return turns._connection


def encoder_loaded(memory: GatewayMemory) -> bool:
    """Return whether the encoder of queries is loaded in this process."""
    embedder = parts(memory).storage.recaller._embedder
    return embedder is not None and embedder.encoder is not None


async def journal_rows(memory: GatewayMemory, query: str, values: Sequence[object] = ()) -> list[Any]:
    """Return all rows of a query of an open memory's journal."""
    return await connection(memory).rows(query, values, scopes="*")


def mqtt_status(memory: GatewayMemory) -> NotifierStatus | None:
    """Return how an open memory's connection to its broker stands, None without one."""
    notifier = parts(memory).notifier
    return notifier.status() if notifier else None
